//! `prune`: recordings of sessions that have ended, and copies of conversations of agents that were cleaned, are listed or
//! removed; and when a recording was.
//!
//! A dry run takes the same way up to the decision, and records nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perennial_api::agent as wire;
use perennial_api::answer::{Pruned, PrunedAgent, PrunedRecording};
use perennial_api::cleaning::ConversationCopy;
use perennial_api::{Home, request};
use perennial_core::authority::Caller;
use perennial_core::cleaning::{self, Artefacts};
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::event::{NodeEvent, What};
use perennial_core::id::{AgentId, NodeId, SessionNumber};
use perennial_core::reason::{Verb, Witness};
use perennial_core::retention::{self, Recording, Recordings};
use perennial_core::time::Time;
use perennial_engine::harness::copies;
use perennial_engine::host::recording::removal;
use perennial_engine::timestamp::rfc3339;
use perennial_store::journal::{ReadError, Version};
use perennial_store::record::Record;
use perennial_store::{RosterQuery, Store};

use super::Surface;
use super::agents::gone;
use super::answer::ProblemResponse;
use super::namesakes::Namesakes;
use crate::daemon::driving::driver::Closing;
use crate::daemon::housekeeper;
use crate::daemon::showing::problems;
use crate::daemon::surface::checks;

/// Records are read in parts of at most this many.
const PAGE: usize = 500;
/// No fleet has more.
const NODES: usize = 10_000;

impl Surface {
    pub async fn prune(
        &self,
        caller: Caller,
        prune: request::Prune,
    ) -> Result<Pruned, ProblemResponse> {
        self.authorise(caller, Verb::Prune, None).await?;
        let (terms, is_dry_run) = (checks::prune(&prune)?, prune.dry_run);
        let (found, named) = self.found(caller, prune.targets).await?;
        let cleaned = self.left_of_cleaned(named).await?;
        let decided = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let copies = cleaning::chosen_by_age(fleet, &cleaned, terms.printed_before);
            (retention::chosen(fleet, &found, terms), copies, Namesakes::of(fleet))
        });
        let (chosen, cleaned, namesakes) = decided.await?;
        let is_nothing = chosen.is_empty() && cleaned.is_empty();
        if !is_dry_run && !is_nothing {
            let (found, cleaned) = (chosen.clone(), cleaned.clone());
            self.command(caller, Command::Prune { found, cleaned, terms }).await?;
            self.house.settled().await?;
        }
        let home = self.home.clone();
        self.read(move |journal| {
            let ids = chosen.iter().map(|one| one.agent);
            let ids: BTreeSet<AgentId> =
                ids.chain(cleaned.iter().map(|one| one.recordings.agent)).collect();
            let targets = targets(journal, &ids, namesakes)?;
            let of = |id: &AgentId| shown(*id, &chosen, &cleaned, &targets);
            let mut agents: Vec<PrunedAgent> = ids.iter().map(of).collect();
            if !is_dry_run {
                for agent in &mut agents {
                    let is_it = |one: &&Artefacts| one.recordings.agent.to_string() == agent.id;
                    let harness = cleaned.iter().find(is_it).map(|one| one.harness.as_str());
                    note_left(&home, agent, harness.unwrap_or_default());
                }
            }
            let recordings = agents.iter().map(|agent| agent.recordings.len() as u64).sum();
            let conversations = agents.iter().map(|agent| agent.conversations.len() as u64).sum();
            let bytes = agents.iter().map(|agent| agent.bytes).sum();
            Ok(Pruned { is_dry_run, agents, recordings, conversations, bytes })
        })
        .await
    }

    /// What lies on the disk of these agents; of all, if none is named. And who was named.
    async fn found(
        &self,
        caller: Caller,
        targets: Vec<String>,
    ) -> Result<(Vec<Recordings>, BTreeSet<AgentId>), ProblemResponse> {
        let holders = self.home.holders();
        let mut agents = BTreeSet::new();
        for target in &targets {
            let id = self.authorise(caller, Verb::Prune, Some(target.clone())).await?;
            agents.insert(id.ok_or_else(gone)?);
        }
        let named = agents.clone();
        if targets.is_empty() {
            let holders = holders.clone();
            let all = tokio::task::spawn_blocking(move || removal::agents(&holders)).await;
            let all = all.map_err(|_| Closing)?;
            agents.extend(all.map_err(|error| problems::recording_unread(&error.to_string()))?);
        }
        let in_memory = self.driver.look(housekeeper::in_memory).await?;
        let read = move |journal: &dyn Store| {
            housekeeper::recordings(&holders, journal, &agents, &in_memory)
        };
        Ok((self.read(read).await?, named))
    }
}

/// The words that mean these agents.
pub fn targets(
    journal: &dyn Store,
    agents: &BTreeSet<AgentId>,
    mut namesakes: Namesakes,
) -> Result<BTreeMap<AgentId, String>, ReadError> {
    let ids: Vec<AgentId> = agents.iter().copied().collect();
    let mut targets = BTreeMap::new();
    for row in journal.roster(RosterQuery::Of(&ids))? {
        let Some(name) = row.name else { continue };
        let mut agent = wire::Agent {
            id: row.agent.to_string(),
            target: name.clone(),
            name,
            roster: row.state.roster().word().to_owned(),
            ..wire::Agent::default()
        };
        namesakes.tell_apart(journal, &mut agent)?;
        targets.insert(row.agent, agent.target);
    }
    Ok(targets)
}

fn shown(
    agent: AgentId,
    chosen: &[Recordings],
    cleaned: &[Artefacts],
    targets: &BTreeMap<AgentId, String>,
) -> PrunedAgent {
    let id = agent.to_string();
    let own = chosen.iter().filter(|one| one.agent == agent);
    let recordings: Vec<PrunedRecording> =
        own.flat_map(|one| &one.recordings).map(shown_recording).collect();
    let own = cleaned.iter().filter(|one| one.recordings.agent == agent);
    let conversations: Vec<ConversationCopy> =
        own.flat_map(|one| &one.copies).map(shown_copy).collect();
    let bytes = recordings.iter().map(|recording| recording.bytes).sum::<u64>()
        + conversations.iter().map(|copy| copy.bytes).sum::<u64>();
    let target = targets.get(&agent).unwrap_or(&id).clone();
    PrunedAgent { id, target, recordings, conversations, bytes }
}

pub fn shown_recording(recording: &Recording) -> PrunedRecording {
    PrunedRecording {
        session: u64::from(recording.number.0),
        bytes: recording.bytes,
        printed_at: rfc3339(recording.printed_at),
        is_left: false,
    }
}

pub fn shown_copy(copy: &cleaning::ConversationCopy) -> ConversationCopy {
    let conversation = copy.conversation.to_string();
    ConversationCopy { conversation, bytes: copy.bytes, is_left: false }
}

/// Says of each recording and each copy whether something of it is still there.
fn note_left(home: &Home, agent: &mut PrunedAgent, harness: &str) {
    let Ok(id) = agent.id.parse::<AgentId>() else { return };
    note_left_recordings(&home.holders(), id, &mut agent.recordings);
    note_left_copies(&home.conversations(), harness, &mut agent.conversations);
}

pub fn note_left_recordings(holders: &Path, agent: AgentId, recordings: &mut [PrunedRecording]) {
    let left = removal::find(holders, agent).unwrap_or_default();
    for recording in recordings {
        recording.is_left = left.iter().any(|left| u64::from(left.number.0) == recording.session);
    }
}

pub fn note_left_copies(copies: &Path, harness: &str, conversations: &mut [ConversationCopy]) {
    for copy in conversations {
        let found = copy.conversation.parse().map(|id| copies::find(copies, harness, &id));
        copy.is_left = matches!(found, Ok(Ok(Some(_)) | Err(_)));
    }
}

/// When the recording of a session was removed, and by whom.
pub fn removed_at(
    journal: &dyn Store,
    agent: AgentId,
    number: SessionNumber,
) -> Result<Option<(Time, Witness)>, ReadError> {
    let nodes = journal.streams_before(&Entity::Node(NodeId(u128::MAX)), NODES)?;
    for node in nodes.into_iter().filter_map(|first| first.stream) {
        let mut before = Version::END;
        loop {
            let page = journal.read_stream_back(&node, before, PAGE)?;
            let Some(first) = page.last() else { break };
            before = first.version;
            let by = |record: &Record| Some((record.at, pruner(record, agent, number)?));
            if let Some(removed) = page.iter().find_map(by) {
                return Ok(Some(removed));
            }
        }
    }
    Ok(None)
}

/// Who removed the recording of this session, if this record says so.
fn pruner(record: &Record, agent: AgentId, number: SessionNumber) -> Option<Witness> {
    match &record.event.as_ref().ok()?.what {
        What::Node(_, NodeEvent::RecordingsPruned { agent: of, sessions, by, .. }) => {
            (*of == agent && sessions.contains(&number)).then_some(*by)
        }
        What::Node(
            _,
            NodeEvent::DaemonStarted { .. }
            | NodeEvent::DaemonStopped { .. }
            | NodeEvent::JournalRestored { .. }
            | NodeEvent::RecordsLost { .. }
            | NodeEvent::AgentCleaned { .. },
        )
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Role(..)
        | What::Job(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    }
}
