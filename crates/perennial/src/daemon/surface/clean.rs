//! `clean`: what takes up room of a dead agent is listed or removed; and what was removed of one so far.
//!
//! A dry run takes the same way up to the decision, and records nothing. Decides nothing: what lies on the disk, and who
//! else had a conversation, is looked up here; what goes is the core's to say.

use std::collections::{BTreeMap, BTreeSet};

use perennial_api::cleaning::{Clean, Cleaned, CleanedAgent, KeptCopy};
use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::cleaning::{self, Artefacts, Choice, ConversationCopy, KeptFor};
use perennial_core::command::Command;
use perennial_core::conversation::ConversationId;
use perennial_core::entity::Entity;
use perennial_core::event::{ClaimEvent, NodeEvent, What};
use perennial_core::id::{AgentId, NodeId};
use perennial_core::reason::Verb;
use perennial_core::retention::{Recordings, SessionsKnown};
use perennial_core::state::Roster;
use perennial_core::time::Time;
use perennial_engine::harness::copies;
use perennial_engine::timestamp::rfc3339;
use perennial_store::journal::{ReadError, Version};
use perennial_store::record::{Record, Unreadable};
use perennial_store::{RosterQuery, Store, recall};

use super::Surface;
use super::agents::gone;
use super::answer::ProblemResponse;
use super::namesakes::Namesakes;
use super::prune::{note_left_copies, note_left_recordings, shown_copy, shown_recording, targets};
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::housekeeper;
use crate::daemon::showing::problems;

/// Records are read in parts of at most this many.
const PAGE: usize = 500;
/// No fleet has more.
const NODES: usize = 10_000;

/// Whose conversations may be resumed.
struct Writer {
    agent: AgentId,
    harness: String,
    conversations: Vec<ConversationId>,
}

impl Surface {
    pub async fn clean(
        &self,
        caller: Caller,
        target: String,
        clean: Clean,
    ) -> Result<Cleaned, ProblemResponse> {
        let id = self.authorise(caller, Verb::Clean, Some(target)).await?.ok_or_else(gone)?;
        let found = self.artefacts([id].into()).await?.pop().ok_or_else(gone)?;
        let (asked, is_dry_run) = (found.clone(), clean.dry_run);
        let decided = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            cleaning::may_be_cleaned(fleet, &asked)
                .map(|()| (cleaning::chosen(fleet, &asked), Namesakes::of(fleet)))
                .map_err(|refusal| ProblemResponse(problems::refusal(&refusal, fleet)))
        });
        let (choice, namesakes) = decided.await??;
        let harness = found.harness.clone();
        if !is_dry_run {
            self.command(caller, Command::Clean { found: Box::new(found) }).await?;
            self.house.settled().await?;
        }
        let home = self.home.clone();
        self.read(move |journal| {
            let mut cleaned = shown(journal, id, &choice, namesakes)?;
            cleaned.is_dry_run = is_dry_run;
            if !is_dry_run {
                note_left_recordings(&home.holders(), id, &mut cleaned.recordings);
                note_left_copies(&home.conversations(), &harness, &mut cleaned.conversations);
            }
            Ok(cleaned)
        })
        .await
    }

    /// What is left of agents that were cleaned: of these, or of all if none is named.
    pub async fn left_of_cleaned(
        &self,
        named: BTreeSet<AgentId>,
    ) -> Result<Vec<Artefacts>, ProblemResponse> {
        let cleaned = self.read(|journal| cleanings(journal, None, Time(0))).await?;
        let agents = cleaned.into_keys().filter(|id| named.is_empty() || named.contains(id));
        let mut left = self.artefacts(agents.collect()).await?;
        left.retain(|one| !one.copies.is_empty());
        Ok(left)
    }

    /// What lies on the disk of these agents.
    async fn artefacts(
        &self,
        agents: BTreeSet<AgentId>,
    ) -> Result<Vec<Artefacts>, ProblemResponse> {
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = agents.clone();
        let looked = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let known = wanted.iter().filter_map(|id| fleet.agent(*id).cloned());
            let known: BTreeMap<AgentId, Agent> = known.map(|agent| (agent.id, agent)).collect();
            let outside = fleet.agents().filter(|one| one.state.roster() != Roster::Cemetery);
            (known, outside.map(writer).collect::<Vec<_>>(), housekeeper::in_memory(view))
        });
        let (known, writers, in_memory) = looked.await?;
        let (home, harnesses) = (self.home.clone(), self.harnesses.clone());
        self.read(move |journal| {
            let holders = home.holders();
            let cleaned = cleanings(journal, None, Time(0))?.into_keys().collect();
            let mut found = Vec::new();
            for id in agents {
                let recalled = if known.contains_key(&id) { None } else { recall(journal, id)? };
                let Some(agent) = known.get(&id).or(recalled.as_ref()) else { continue };
                let recordings =
                    housekeeper::recordings(&holders, journal, &[id].into(), &in_memory)?;
                let nothing = || Recordings {
                    agent: id,
                    recalled: recalled.as_ref().and_then(SessionsKnown::of),
                    recordings: Vec::new(),
                };
                let recordings = recordings.into_iter().next().unwrap_or_else(nothing);
                let copies = Found { journal, harnesses: &harnesses, writers: &writers };
                let copies = copies.copies(&home.conversations(), agent, &cleaned)?;
                let harness = agent.launch.harness.clone();
                found.push(Artefacts { recordings, harness, copies });
            }
            Ok(found)
        })
        .await
    }
}

fn writer(agent: &Agent) -> Writer {
    let own = agent.to_read();
    let own = own.iter().flat_map(|own| own.newest_first().cloned());
    let harness = agent.launch.harness.clone();
    Writer { agent: agent.id, harness, conversations: own.collect() }
}

/// What is looked up for the copies of an agent's conversations.
struct Found<'a> {
    journal: &'a dyn Store,
    harnesses: &'a Harnesses,
    writers: &'a [Writer],
}

impl Found<'_> {
    fn copies(
        &self,
        directory: &std::path::Path,
        agent: &Agent,
        cleaned: &BTreeSet<AgentId>,
    ) -> Result<Vec<ConversationCopy>, ReadError> {
        let own = agent.to_read();
        let mut found = Vec::new();
        for conversation in own.iter().flat_map(|own| own.newest_first()) {
            match copies::find(directory, &agent.launch.harness, conversation) {
                Ok(Some(size)) => found.push((conversation, size)),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%conversation, %error, "a copy of a conversation can't be read");
                }
            }
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let origins = self.origins(&agent.launch.harness);
        let copy = |(conversation, size): (&ConversationId, copies::CopySize)| {
            Ok(ConversationCopy {
                conversation: conversation.clone(),
                bytes: size.bytes,
                written_at: size.written_at,
                also_of: self.also_of((conversation, size.earlier), agent.id, cleaned)?,
                is_certain: !self.is_damaged(conversation),
                origin_for: origins.get(conversation).copied(),
            })
        };
        found.into_iter().map(copy).collect()
    }

    /// Another agent that had this conversation, or one whose file would go with it, and was not cleaned.
    fn also_of(
        &self,
        (conversation, earlier): (&ConversationId, u32),
        own: AgentId,
        cleaned: &BTreeSet<AgentId>,
    ) -> Result<Option<AgentId>, ReadError> {
        for id in copies::namesakes(conversation, earlier).iter().chain([conversation]) {
            let (stream, mut after) = (Entity::Conversation(id.clone()), Version(0));
            loop {
                let page = self.journal.read_stream(&stream, after, PAGE)?;
                let Some(last) = page.last() else { break };
                after = last.version;
                let other = |taker: &AgentId| *taker != own && !cleaned.contains(taker);
                if let Some(taker) = page.iter().filter_map(taker).find(other) {
                    return Ok(Some(taker));
                }
            }
        }
        Ok(None)
    }

    /// Whether a record can't be read that may say who had the conversation.
    fn is_damaged(&self, conversation: &ConversationId) -> bool {
        let own = Entity::Conversation(conversation.clone());
        // Where it is not known whose the record is, it may be anybody's.
        let may_say =
            |unreadable: &Unreadable| unreadable.stream.as_ref().is_none_or(|it| *it == own);
        self.journal.quarantine().iter().any(may_say)
    }

    /// The conversations of a harness that others refer to which may be resumed, and by whom.
    fn origins(&self, harness: &str) -> BTreeMap<ConversationId, AgentId> {
        let mut origins = BTreeMap::new();
        for writer in self.writers.iter().filter(|writer| writer.harness == harness) {
            for conversation in &writer.conversations {
                let parents = self.harnesses.parents(writer.agent, harness, conversation);
                origins.extend(parents.into_iter().map(|parent| (parent, writer.agent)));
            }
        }
        origins
    }
}

/// Who took a conversation, if that is what the record says.
fn taker(record: &Record) -> Option<AgentId> {
    match &record.event.as_ref().ok()?.what {
        What::Conversation(_, ClaimEvent::Taken { by } | ClaimEvent::Left { by }) => Some(*by),
        What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Message(..)
        | What::Post(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..)
        | What::Job(..) => None,
    }
}

/// Which agents were cleaned, and what of them went since that time; of one, or of all.
pub fn cleanings(
    journal: &dyn Store,
    of: Option<AgentId>,
    since: Time,
) -> Result<BTreeMap<AgentId, CleanedAgent>, ReadError> {
    let mut told: BTreeMap<AgentId, (bool, CleanedAgent)> = BTreeMap::new();
    let nodes = journal.streams_before(&Entity::Node(NodeId(u128::MAX)), NODES)?;
    for node in nodes.into_iter().filter_map(|first| first.stream) {
        let mut before = Version::END;
        loop {
            let page = journal.read_stream_back(&node, before, PAGE)?;
            let Some(first) = page.last() else { break };
            before = first.version;
            let is_passed = first.at < since;
            for record in page.iter().filter(|record| record.at >= since) {
                let Some(removed) = removed(record) else { continue };
                if of.is_some_and(|of| of != removed.agent) {
                    continue;
                }
                let (is_cleaned, sum) = told.entry(removed.agent).or_default();
                *is_cleaned |= removed.is_cleaning;
                sum.at = sum.at.clone().max(rfc3339(record.at));
                sum.recordings += removed.recordings;
                sum.conversations += removed.conversations;
                sum.bytes += removed.bytes;
            }
            if is_passed {
                break;
            }
        }
    }
    let cleaned = told.into_iter().filter(|(_, (is_cleaned, _))| *is_cleaned);
    Ok(cleaned.map(|(agent, (_, sum))| (agent, sum)).collect())
}

/// What one record says was removed.
struct Removed {
    agent: AgentId,
    is_cleaning: bool,
    recordings: u64,
    conversations: u64,
    bytes: u64,
}

fn removed(record: &Record) -> Option<Removed> {
    match &record.event.as_ref().ok()?.what {
        What::Node(_, NodeEvent::AgentCleaned { agent, conversations, bytes, .. }) => {
            Some(Removed {
                agent: *agent,
                is_cleaning: true,
                recordings: 0,
                conversations: conversations.len() as u64,
                bytes: *bytes,
            })
        }
        What::Node(_, NodeEvent::RecordingsPruned { agent, sessions, bytes, .. }) => {
            Some(Removed {
                agent: *agent,
                is_cleaning: false,
                recordings: sessions.len() as u64,
                conversations: 0,
                bytes: *bytes,
            })
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
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..)
        | What::Job(..) => None,
    }
}

fn shown(
    journal: &dyn Store,
    agent: AgentId,
    choice: &Choice,
    namesakes: Namesakes,
) -> Result<Cleaned, ReadError> {
    let mut targets = targets(journal, &[agent].into(), namesakes)?;
    let mut kept = Vec::new();
    for (copy, why) in &choice.kept {
        let (why, whom) = match why {
            KeptFor::Resumption(whom) => ("resumption", Some(*whom)),
            KeptFor::Record(whom) => ("record", Some(*whom)),
            KeptFor::Uncertainty(whom) => ("uncertainty", Some(*whom)),
            KeptFor::Damage => ("damage", None),
        };
        let row = journal.roster(RosterQuery::Of(whom.as_slice()))?.into_iter().next();
        let name = row.and_then(|row| row.name).or_else(|| whom.map(|whom| whom.to_string()));
        kept.push(KeptCopy {
            conversation: copy.conversation.to_string(),
            bytes: copy.bytes,
            why: why.to_owned(),
            agent: name,
        });
    }
    let bytes = choice.recordings.iter().map(|one| one.bytes).sum::<u64>()
        + choice.copies.iter().map(|one| one.bytes).sum::<u64>();
    Ok(Cleaned {
        is_dry_run: false,
        id: agent.to_string(),
        target: targets.remove(&agent).unwrap_or_else(|| agent.to_string()),
        recordings: choice.recordings.iter().map(shown_recording).collect(),
        conversations: choice.copies.iter().map(shown_copy).collect(),
        kept,
        bytes,
    })
}
