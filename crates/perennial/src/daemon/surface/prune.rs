//! `prune`: recordings of sessions that have ended are listed or removed; and when one was.
//!
//! A dry run takes the same way up to the decision, and records nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perennial_api::agent as wire;
use perennial_api::answer::{Pruned, PrunedAgent, PrunedRecording};
use perennial_api::request;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::event::{NodeEvent, What};
use perennial_core::id::{AgentId, NodeId, SessionNumber};
use perennial_core::reason::{Verb, Witness};
use perennial_core::retention::{self, Recordings};
use perennial_core::time::Time;
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

/// So many records are read at a time.
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
        let found = self.found(caller, prune.targets).await?;
        let decided = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            (retention::chosen(fleet, &found, terms), Namesakes::of(fleet))
        });
        let (chosen, namesakes) = decided.await?;
        if !is_dry_run && !chosen.is_empty() {
            let found = chosen.clone();
            self.command(caller, Command::Prune { found, terms }).await?;
            self.house.settled().await?;
        }
        let holders = self.home.holders();
        self.read(move |journal| {
            let targets = targets(journal, &chosen, namesakes)?;
            let mut agents: Vec<_> = chosen.iter().map(|one| shown(one, &targets)).collect();
            if !is_dry_run {
                agents.iter_mut().for_each(|agent| note_left(&holders, agent));
            }
            let recordings = agents.iter().map(|agent| agent.recordings.len() as u64).sum();
            let bytes = agents.iter().map(|agent| agent.bytes).sum();
            Ok(Pruned { is_dry_run, agents, recordings, bytes })
        })
        .await
    }

    /// What lies on the disk of these agents; of all, if none is named.
    async fn found(
        &self,
        caller: Caller,
        targets: Vec<String>,
    ) -> Result<Vec<Recordings>, ProblemResponse> {
        let holders = self.home.holders();
        let mut agents = BTreeSet::new();
        for target in &targets {
            let id = self.authorise(caller, Verb::Prune, Some(target.clone())).await?;
            agents.insert(id.ok_or_else(gone)?);
        }
        if targets.is_empty() {
            let holders = holders.clone();
            let all = tokio::task::spawn_blocking(move || removal::agents(&holders)).await;
            let all = all.map_err(|_| Closing)?;
            agents.extend(all.map_err(|error| problems::recording_unread(&error.to_string()))?);
        }
        let in_memory = self.driver.look(housekeeper::in_memory).await?;
        self.read(move |journal| housekeeper::recordings(&holders, journal, &agents, &in_memory))
            .await
    }
}

/// The words that mean these agents.
fn targets(
    journal: &dyn Store,
    chosen: &[Recordings],
    mut namesakes: Namesakes,
) -> Result<BTreeMap<AgentId, String>, ReadError> {
    let ids: Vec<AgentId> = chosen.iter().map(|one| one.agent).collect();
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

fn shown(one: &Recordings, targets: &BTreeMap<AgentId, String>) -> PrunedAgent {
    let id = one.agent.to_string();
    let recordings: Vec<PrunedRecording> = one
        .recordings
        .iter()
        .map(|recording| PrunedRecording {
            session: u64::from(recording.number.0),
            bytes: recording.bytes,
            printed_at: rfc3339(recording.printed_at),
            is_left: false,
        })
        .collect();
    let bytes = recordings.iter().map(|recording| recording.bytes).sum();
    let target = targets.get(&one.agent).unwrap_or(&id).clone();
    PrunedAgent { id, target, recordings, bytes }
}

/// Says of each recording whether something of it is still there.
fn note_left(holders: &Path, agent: &mut PrunedAgent) {
    let Ok(id) = agent.id.parse::<AgentId>() else { return };
    let left = removal::find(holders, id).unwrap_or_default();
    for recording in &mut agent.recordings {
        recording.is_left = left.iter().any(|left| u64::from(left.number.0) == recording.session);
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
            | NodeEvent::RecordsLost { .. },
        )
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Role(..)
        | What::Task(..)
        | What::Job(..) => None,
    }
}
