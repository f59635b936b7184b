//! Which records are about an agent: its own, those of its messages and of the jobs that told the
//! operator of it, and those of the names and conversations that it took or left.
//!
//! `agent` is the rule, for one record; `page` finds the same records by their streams. Never reads all
//! of the journal. What an agent did to tasks, and what happened to its own, is found by `page` while the task is still
//! its own, or was so last.

use std::time::Duration;

use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, ClaimEvent, Event, What};
use perennial_core::id::{AgentId, JobId, MessageId};
use perennial_core::job::{self, JobEvent, Purpose};
use perennial_core::task::TaskEvent;
use perennial_core::time::Time;
use perennial_store::journal::{ReadError, Seq, Version};
use perennial_store::record::Record;
use perennial_store::{MessageRow, MessagesOf, Store, TaskQuery};

/// A stream is read in parts of at most this many records.
const PART: usize = 1000;
/// A job that tells of an agent is over before the agent has this many more records.
const LOOK_BEHIND: u64 = 500;
/// … and one that tells of a mail is over this long after it.
const NOTIFIED_WITHIN: Duration = Duration::from_secs(3600);
/// The records of at most this many tasks of an agent are part of its history.
const TASKS: usize = 100;
/// By one record an agent takes and leaves a name and a conversation, rarely more.
const CLAIMS: usize = 4;

/// Whether only the journal knows whom a record is about.
pub fn is_indirect(record: &Record) -> bool {
    match &record.stream {
        Some(Entity::Message(_) | Entity::Job(_)) => true,
        Some(Entity::Agent(_) | Entity::Node(_) | Entity::Name(_) | Entity::Conversation(_))
        | Some(
            Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Escalation(_)
            | Entity::Task(_),
        )
        | None => false,
    }
}

/// The agent that a record is about; of a message whom it is for, of a job whom it tells of.
pub fn agent(journal: &dyn Store, record: &Record) -> Result<Option<AgentId>, ReadError> {
    match &record.stream {
        Some(Entity::Agent(id)) => Ok(Some(*id)),
        Some(Entity::Message(id)) => Ok(journal.message(*id)?.and_then(|row| row.mailbox.agent())),
        Some(stream @ Entity::Job(_)) => {
            let first = journal.read_stream(stream, Version(0), 1)?;
            Ok(first.first().and_then(told_of))
        }
        Some(Entity::Name(_) | Entity::Conversation(_)) => Ok(claimed_by(record)),
        Some(Entity::Node(_) | Entity::Post(_) | Entity::Role(_)) | None => Ok(None),
        Some(Entity::Task(_)) => Ok(of_task(record)),
        Some(Entity::Signal(_) | Entity::Escalation(_)) => Ok(None),
    }
}

fn told_of(record: &Record) -> Option<AgentId> {
    match &record.event.as_ref().ok()?.what {
        What::Job(_, JobEvent::Wanted { purpose, .. }) => match purpose {
            Purpose::Notify { agent, .. } | Purpose::Mail { agent, .. } => Some(*agent),
            // It tells of a task.
            Purpose::Check { .. } => None,
        },
        What::Job(..)
        | What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Role(..)
        | What::Post(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    }
}

/// The agent that an event of a task is about: who has it by that, or who did it.
fn of_task(record: &Record) -> Option<AgentId> {
    let What::Task(_, event) = &record.event.as_ref().ok()?.what else { return None };
    match event {
        TaskEvent::Taken { agent, .. }
        | TaskEvent::Continued { agent, .. }
        | TaskEvent::Counted { agent, .. }
        | TaskEvent::Returned { agent, .. }
        | TaskEvent::Left { agent, .. } => Some(*agent),
        TaskEvent::CheckEnded { agent, .. } | TaskEvent::Verified { agent, .. } => *agent,
        TaskEvent::Queued { queue, .. } | TaskEvent::Reopened { queue, .. } => queue.agent(),
        TaskEvent::Added { by, .. }
        | TaskEvent::Noted { by, .. }
        | TaskEvent::Stepped { by, .. }
        | TaskEvent::Blocked { by, .. }
        | TaskEvent::Claimed { by, .. }
        | TaskEvent::Split { by, .. }
        | TaskEvent::Dropped { by, .. } => by.agent(),
        TaskEvent::CheckWanted { .. } | TaskEvent::PartAdded { .. } | TaskEvent::Raised { .. } => {
            None
        }
    }
}

/// What the records of an agent's newest tasks say of it, from behind a place on.
pub fn of_tasks(journal: &dyn Store, agent: AgentId, since: Seq) -> Result<Vec<Record>, ReadError> {
    let query = TaskQuery { agent: Some(agent), limit: TASKS, ..TaskQuery::default() };
    let mut found = Vec::new();
    for row in journal.tasks(&query)? {
        let mut records = journal.read_stream(&Entity::Task(row.task), Version(0), PART)?;
        records.retain(|record| record.seq > since && of_task(record) == Some(agent));
        found.extend(records);
    }
    Ok(found)
}

fn claimed_by(record: &Record) -> Option<AgentId> {
    match &record.event.as_ref().ok()?.what {
        What::Name(_, claim) | What::Conversation(_, claim) => match claim {
            ClaimEvent::Taken { by } | ClaimEvent::Left { by } => Some(*by),
        },
        What::Node(..)
        | What::Agent(..)
        | What::Message(..)
        | What::Post(..)
        | What::Role(..)
        | What::Job(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    }
}

/// The first records after a place that are about an agent, in their order. Costs what it gives, wherever
/// the place is: what is before it is not read, but for the last few of the agent's own records.
pub fn page(
    journal: &dyn Store,
    agent: AgentId,
    since: Seq,
    limit: usize,
) -> Result<Vec<Record>, ReadError> {
    let mut found = RecordPage { since, limit, records: Vec::new() };
    let own = Entity::Agent(agent);
    let mut after = version_at(journal, &own, since)?;
    // A job's first record follows that of the move that it tells of: one before the place may have
    // a job whose end comes after it.
    let mut jobs = Vec::new();
    let behind = Version(after.0.saturating_sub(LOOK_BEHIND));
    let mut before = journal.read_stream(&own, behind, LOOK_BEHIND as usize)?;
    before.retain(|record| record.seq <= since);
    jobs.extend(before.iter().filter_map(|record| notification(agent, record)));
    if let Some(last) = before.last() {
        found.read_claims(journal, last, agent)?;
    }
    while !found.is_full() {
        let part = journal.read_stream(&own, after, PART.min(limit))?;
        let Some(last) = part.last() else { break };
        after = last.version;
        jobs.extend(part.iter().filter_map(|record| notification(agent, record)));
        for record in &part {
            found.read_claims(journal, record, agent)?;
        }
        found.take(part);
    }
    for job in jobs {
        found.read(journal, &job)?;
    }
    found.take(of_tasks(journal, agent, since)?);
    // Nothing happened since to a message that was last changed before the record at that place.
    let place = journal.read(Seq(since.0.saturating_sub(1)), 1)?;
    let passed = place.first().filter(|record| record.seq == since).map(|record| record.at);
    let passed = passed.unwrap_or(Time(0));
    let own = |row: &MessageRow| Entity::Message(row.message);
    found.read_messages(journal, MessagesOf::To(agent), (passed, Time(0)), own)?;
    // The operator is notified of mail by a job with the mail's id.
    let notified = |row: &MessageRow| Entity::Job(JobId(row.message.0));
    let recorded = passed.before(NOTIFIED_WITHIN);
    found.read_messages(
        journal,
        MessagesOf::ToOperatorFrom(agent),
        (Time(0), recorded),
        notified,
    )?;
    Ok(found.records)
}

/// How many records a stream had at a place in the journal.
fn version_at(journal: &dyn Store, stream: &Entity, place: Seq) -> Result<Version, ReadError> {
    let is_passed = |version: u64| -> Result<bool, ReadError> {
        let next = journal.read_stream(stream, Version(version), 1)?;
        Ok(next.first().is_some_and(|record| record.seq <= place))
    };
    // The record after `low` is passed, or there is none before; the one after `high` is not.
    let (mut low, mut high) = (0, 1);
    if place == Seq(0) || !is_passed(0)? {
        return Ok(Version(0));
    }
    while is_passed(high)? {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_passed(middle)? { low = middle } else { high = middle }
    }
    Ok(Version(high))
}

/// Whether an agent may take or leave a name or a conversation by what this record says.
fn changes_claims(record: &Record) -> bool {
    let Some((_, event)) = record.event.as_ref().ok().and_then(Event::of_agent) else {
        // One that can't be read may have been any of them.
        return record.event.is_err();
    };
    match event {
        AgentEvent::Hatched(_)
        | AgentEvent::Renamed { .. }
        | AgentEvent::SessionWanted { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionEnded { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::Moved(_) => true,
        AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::WindowBegan { .. }
        | AgentEvent::ClockPassed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Work(_)
        | AgentEvent::Rehomed { .. }
        | AgentEvent::RoleTaken { .. }
        | AgentEvent::RoleLeft { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::Handoff(_)
        | AgentEvent::Snapshot(_)
        | AgentEvent::Checkpoint(_)
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::Rest(_)
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::PutOff { .. } => false,
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

    /// Reads a stream for each of these messages, from those that were recorded first, as far as there is room.
    fn read_messages(
        &mut self,
        journal: &dyn Store,
        whose: MessagesOf,
        (changed, recorded): (Time, Time),
        stream: impl Fn(&MessageRow) -> Entity,
    ) -> Result<(), ReadError> {
        let mut behind = (recorded, MessageId(0));
        loop {
            let listed = journal.messages_since(whose, changed, behind, PART)?;
            for row in &listed.rows {
                // Those that were recorded later come after all that there is room for.
                let is_later = |last: &Record| last.at < row.recorded_at;
                if self.is_full() && self.last().is_some_and(is_later) {
                    return Ok(());
                }
                self.read(journal, &stream(row))?;
            }
            match listed.rows.last() {
                Some(last) if listed.rows.len() + listed.unreadable == PART => {
                    behind = (last.recorded_at, last.message);
                }
                Some(_) | None => return Ok(()),
            }
        }
    }

    fn last(&self) -> Option<&Record> {
        self.records.last()
    }

    fn read(&mut self, journal: &dyn Store, stream: &Entity) -> Result<(), ReadError> {
        self.take(journal.read_stream(stream, Version(0), PART)?);
        Ok(())
    }

    /// What the agent took or left by a record of its own: that follows it at once, in the same batch.
    fn read_claims(
        &mut self,
        journal: &dyn Store,
        own: &Record,
        agent: AgentId,
    ) -> Result<(), ReadError> {
        let mut after = own.seq;
        while changes_claims(own) {
            let mut next = journal.read(after, CLAIMS)?;
            let claims = next.iter().take_while(|record| claimed_by(record) == Some(agent)).count();
            next.truncate(claims);
            after = next.last().map_or(after, |last| last.seq);
            self.take(next);
            if claims < CLAIMS {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, records: Vec<Record>) {
        let since = self.since;
        self.records.extend(records.into_iter().filter(|record| record.seq > since));
        self.records.sort_by_key(|record| record.seq);
        self.records.truncate(self.limit);
    }
}
