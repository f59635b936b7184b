//! Which records are about an agent: its own, those of its messages and of the jobs that told the
//! operator of it, and those of the names and conversations that it took or left.
//!
//! `agent` is the rule, for one record; `page` finds the same records by their streams. Never reads all
//! of the journal.

use std::collections::BTreeSet;

use perennial_core::conversation::Opening;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, ClaimEvent, What};
use perennial_core::id::AgentId;
use perennial_core::job::{self, JobEvent, Purpose};
use perennial_store::Store;
use perennial_store::journal::{ReadError, Seq, Version};
use perennial_store::record::Record;

/// A stream is read so many records at a time.
const PART: usize = 1000;

/// Whether only the journal knows whom a record is about.
pub fn is_indirect(record: &Record) -> bool {
    match &record.stream {
        Some(Entity::Message(_) | Entity::Job(_)) => true,
        Some(Entity::Agent(_) | Entity::Node(_) | Entity::Name(_) | Entity::Conversation(_))
        | Some(Entity::Post(_))
        | None => false,
    }
}

/// The agent that a record is about; of a message whom it is for, of a job whom it tells of.
pub fn agent(journal: &dyn Store, record: &Record) -> Result<Option<AgentId>, ReadError> {
    match &record.stream {
        Some(Entity::Agent(id)) => Ok(Some(*id)),
        Some(Entity::Message(id)) => Ok(journal.message(*id)?.map(|row| row.agent)),
        Some(stream @ Entity::Job(_)) => {
            let first = journal.read_stream(stream, Version(0), 1)?;
            Ok(first.first().and_then(told_of))
        }
        Some(Entity::Name(_) | Entity::Conversation(_)) => Ok(claimed_by(record)),
        Some(Entity::Node(_) | Entity::Post(_)) | None => Ok(None),
    }
}

fn told_of(record: &Record) -> Option<AgentId> {
    match &record.event.as_ref().ok()?.what {
        What::Job(_, JobEvent::Wanted { purpose: Purpose::Notify { agent, .. }, .. }) => {
            Some(*agent)
        }
        What::Job(..)
        | What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..) => None,
    }
}

fn claimed_by(record: &Record) -> Option<AgentId> {
    match &record.event.as_ref().ok()?.what {
        What::Name(_, claim) | What::Conversation(_, claim) => match claim {
            ClaimEvent::Taken { by } | ClaimEvent::Left { by } => Some(*by),
        },
        What::Node(..) | What::Agent(..) | What::Message(..) | What::Post(..) | What::Job(..) => {
            None
        }
    }
}

/// The first records after a place that are about an agent, in their order.
pub fn page(
    journal: &dyn Store,
    agent: AgentId,
    since: Seq,
    limit: usize,
) -> Result<Vec<Record>, ReadError> {
    let mut found = RecordPage { since, limit, records: Vec::new() };
    // A job's first record follows that of the move that it tells of: one before the place may have
    // a job whose end comes after it.
    let mut jobs = Vec::new();
    let mut claims = BTreeSet::new();
    let mut after = Version(0);
    while !found.is_full() {
        let part = journal.read_stream(&Entity::Agent(agent), after, PART)?;
        let Some(last) = part.last() else { break };
        after = last.version;
        jobs.extend(part.iter().filter_map(|record| notification(agent, record)));
        claims.extend(part.iter().filter_map(claim));
        found.take(part);
    }
    for job in jobs {
        found.read(journal, &job)?;
    }
    for claim in claims {
        found.read_claims(journal, &claim, agent)?;
    }
    // Nothing happened since to a message that was last changed before the record at that place.
    let place = journal.read(Seq(since.0.saturating_sub(1)), 1)?;
    let passed = place.first().filter(|record| record.seq == since).map(|record| record.at);
    let mut messages = journal.messages(agent, usize::MAX)?.rows;
    messages.retain(|row| passed.is_none_or(|passed| row.changed_at >= passed));
    messages.sort_by_key(|row| row.recorded_at);
    for row in messages {
        // Those that were recorded later come after all that there is room for.
        let is_later = |last: &Record| last.at < row.recorded_at;
        if found.is_full() && found.last().is_some_and(is_later) {
            break;
        }
        found.read(journal, &Entity::Message(row.message))?;
    }
    Ok(found.records)
}

/// The name or the conversation that an agent takes by what this record says.
fn claim(record: &Record) -> Option<Entity> {
    match record.event.as_ref().ok()?.of_agent()?.1 {
        AgentEvent::Hatched(birth) => Some(Entity::Name(birth.name.as_ref()?.key())),
        AgentEvent::Renamed { name } => Some(Entity::Name(name.key())),
        AgentEvent::SessionWanted { opening, .. } => match opening {
            Opening::Bare => None,
            Opening::Fresh(id) | Opening::Resume { conversation: id, .. } => {
                Some(Entity::Conversation(id.clone()))
            }
        },
        AgentEvent::ConversationFollowed { conversation, .. } => {
            Some(Entity::Conversation(conversation.clone()))
        }
        AgentEvent::Moved(_)
        | AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionEnded { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::WindowBegan { .. }
        | AgentEvent::ClockPassed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Rehomed { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::PutOff { .. } => None,
    }
}

/// The job that may tell the operator of what this record says.
fn notification(agent: AgentId, record: &Record) -> Option<Entity> {
    let AgentEvent::Moved(moved) = record.event.as_ref().ok()?.of_agent()?.1 else { return None };
    moved.reason.is_dialog().then(|| Entity::Job(job::notification(agent, record.at)))
}

/// The first records after a place, in their order, up to a limit.
struct RecordPage {
    since: Seq,
    limit: usize,
    records: Vec<Record>,
}

impl RecordPage {
    fn is_full(&self) -> bool {
        self.records.len() >= self.limit
    }

    fn last(&self) -> Option<&Record> {
        self.records.last()
    }

    fn read(&mut self, journal: &dyn Store, stream: &Entity) -> Result<(), ReadError> {
        self.take(journal.read_stream(stream, Version(0), PART)?);
        Ok(())
    }

    /// What the stream of a name or a conversation says of one agent: others may have had it too.
    fn read_claims(
        &mut self,
        journal: &dyn Store,
        stream: &Entity,
        agent: AgentId,
    ) -> Result<(), ReadError> {
        let mut after = Version(0);
        loop {
            let mut part = journal.read_stream(stream, after, PART)?;
            let Some(last) = part.last() else { return Ok(()) };
            after = last.version;
            part.retain(|record| claimed_by(record) == Some(agent));
            self.take(part);
        }
    }

    fn take(&mut self, records: Vec<Record>) {
        let since = self.since;
        self.records.extend(records.into_iter().filter(|record| record.seq > since));
        self.records.sort_by_key(|record| record.seq);
        self.records.truncate(self.limit);
    }
}
