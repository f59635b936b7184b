//! Tasks as they are stored.

mod brief;

use std::time::Duration;

use perennial_core::id::{AgentId, JobId, MessageId, SessionNumber, TaskId};
use perennial_core::job::JobCommand;
use perennial_core::message::Mailbox;
use perennial_core::name::Name;
use perennial_core::succession::Beginning;
use perennial_core::task::{BlockedOn, Queue, TaskEvent, Verifier};
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::job::StoredEnd;
use super::part::{self, StoredText};
use super::word::Worded;
use super::{mail, malformed};
use crate::record::Damage;
use brief::StoredBrief;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] = &[
    ("task-added", 1),
    ("task-queued", 1),
    ("task-taken", 1),
    ("task-continued", 1),
    ("task-noted", 1),
    ("task-stepped", 1),
    ("task-blocked", 1),
    ("task-counted", 1),
    ("task-claimed", 1),
    ("task-check-wanted", 1),
    ("task-check-ended", 1),
    ("task-verified", 1),
    ("task-returned", 1),
    ("task-reopened", 1),
    ("task-split", 1),
    ("task-part-added", 1),
    ("task-dropped", 1),
    ("task-left", 2),
    ("task-raised", 2),
];

/// `by` is `person`, `perennial` or an agent's id throughout.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored {
    Added {
        by: String,
        brief: Box<StoredBrief>,
    },
    Queued {
        by: String,
        queue: StoredQueue,
    },
    Taken {
        by: String,
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<u32>,
    },
    Continued {
        agent: String,
        session: u32,
        beginning: Worded<Beginning>,
    },
    Noted {
        by: String,
        text: StoredText,
    },
    Stepped {
        by: String,
        step: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        done: bool,
    },
    Blocked {
        by: String,
        on: Worded<BlockedOn>,
        reason: String,
    },
    Counted {
        agent: String,
        spent: u64,
        added: u64,
    },
    Claimed {
        by: String,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<u64>,
    },
    CheckWanted {
        job: String,
        check: Option<String>,
        argv: Vec<String>,
        dir: String,
        limit_ms: u64,
        runs: u32,
    },
    CheckEnded {
        job: String,
        agent: Option<String>,
        check: Option<String>,
        end: StoredEnd,
        output: String,
    },
    Verified {
        by: StoredVerifier,
        agent: Option<String>,
    },
    Returned {
        by: String,
        agent: String,
        taken: bool,
        reason: String,
    },
    Reopened {
        by: String,
        queue: StoredQueue,
        reason: String,
    },
    Split {
        by: String,
        into: Vec<String>,
    },
    PartAdded {
        part: String,
    },
    Dropped {
        by: String,
        reason: String,
    },
    Left {
        agent: String,
        name: Option<String>,
        queue: StoredQueue,
        to: String,
        message: String,
        again_at: Option<u64>,
    },
    Raised {
        to: String,
        message: String,
        again_at: Option<u64>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredQueue {
    Nobody,
    Agent(String),
    Role(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredVerifier {
    Check { name: Option<String> },
    Parent { agent: String },
    Operator,
    Trust { role: String },
    Parts,
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn written(name: Option<&Name>) -> Option<String> {
    name.map(ToString::to_string)
}

impl From<&Queue> for StoredQueue {
    fn from(queue: &Queue) -> StoredQueue {
        match queue {
            Queue::Nobody => StoredQueue::Nobody,
            Queue::Agent(id) => StoredQueue::Agent(id.to_string()),
            Queue::Role(role) => StoredQueue::Role(role.to_string()),
        }
    }
}

impl From<&Verifier> for StoredVerifier {
    fn from(by: &Verifier) -> StoredVerifier {
        match by {
            Verifier::Check(name) => StoredVerifier::Check { name: written(name.as_ref()) },
            Verifier::Parent(agent) => StoredVerifier::Parent { agent: agent.to_string() },
            Verifier::Operator => StoredVerifier::Operator,
            Verifier::Trust(role) => StoredVerifier::Trust { role: role.clone() },
            Verifier::Parts => StoredVerifier::Parts,
        }
    }
}

impl From<&TaskEvent> for Stored {
    fn from(event: &TaskEvent) -> Stored {
        let by = |by: &_| mail::written_sender(*by);
        match event {
            TaskEvent::Added { by: who, brief } => {
                Stored::Added { by: by(who), brief: Box::new((&**brief).into()) }
            }
            TaskEvent::Queued { by: who, queue } => {
                Stored::Queued { by: by(who), queue: queue.into() }
            }
            TaskEvent::Taken { by: who, agent, spent, session } => {
                taking(by(who), *agent, (*spent, *session))
            }
            TaskEvent::Continued { agent, session, beginning } => {
                written_session(*agent, *session, *beginning)
            }
            TaskEvent::Noted { by: who, text } => Stored::Noted { by: by(who), text: text.into() },
            TaskEvent::Stepped { by: who, step, text, is_done } => {
                Stored::Stepped { by: by(who), step: *step, text: text.clone(), done: *is_done }
            }
            TaskEvent::Blocked { by: who, on, reason } => {
                Stored::Blocked { by: by(who), on: Worded(*on), reason: reason.clone() }
            }
            TaskEvent::Counted { agent, spent, added } => {
                Stored::Counted { agent: agent.to_string(), spent: *spent, added: *added }
            }
            TaskEvent::Claimed { by: who, reason, spent } => {
                Stored::Claimed { by: by(who), reason: reason.clone(), spent: *spent }
            }
            TaskEvent::CheckWanted { job, check, command, runs } => Stored::CheckWanted {
                job: job.to_string(),
                check: written(check.as_ref()),
                argv: command.argv.clone(),
                dir: command.dir.clone(),
                limit_ms: millis(command.limit),
                runs: *runs,
            },
            TaskEvent::CheckEnded { job, agent, check, end, output } => {
                let (job, agent) = (job.to_string(), agent.map(|id| id.to_string()));
                let (check, end, output) = (written(check.as_ref()), (*end).into(), output.clone());
                Stored::CheckEnded { job, agent, check, end, output }
            }
            TaskEvent::Verified { by, agent } => {
                Stored::Verified { by: by.into(), agent: agent.map(|id| id.to_string()) }
            }
            TaskEvent::Returned { by: who, agent, is_taken, reason } => {
                let (by, agent, reason) = (by(who), agent.to_string(), reason.clone());
                Stored::Returned { by, agent, taken: *is_taken, reason }
            }
            TaskEvent::Reopened { by: who, queue, reason } => {
                Stored::Reopened { by: by(who), queue: queue.into(), reason: reason.clone() }
            }
            TaskEvent::Split { by: who, into } => {
                Stored::Split { by: by(who), into: into.iter().map(ToString::to_string).collect() }
            }
            TaskEvent::PartAdded { part } => Stored::PartAdded { part: part.to_string() },
            TaskEvent::Dropped { by: who, reason } => {
                Stored::Dropped { by: by(who), reason: reason.clone() }
            }
            TaskEvent::Left { agent, name, queue, to, message, again_at } => {
                let (to, message, again_at) = letter(to, *message, *again_at);
                let (agent, name, queue) =
                    (agent.to_string(), written(name.as_ref()), queue.into());
                Stored::Left { agent, name, queue, to, message, again_at }
            }
            TaskEvent::Raised { to, message, again_at } => {
                let (to, message, again_at) = letter(to, *message, *again_at);
                Stored::Raised { to, message, again_at }
            }
        }
    }
}

fn taking(
    by: String,
    agent: AgentId,
    (spent, session): (Option<u64>, Option<SessionNumber>),
) -> Stored {
    let (agent, session) = (agent.to_string(), session.map(|number| number.0));
    Stored::Taken { by, agent, spent, session }
}

fn written_session(agent: AgentId, session: SessionNumber, beginning: Beginning) -> Stored {
    let (agent, session) = (agent.to_string(), session.0);
    Stored::Continued { agent, session, beginning: Worded(beginning) }
}

fn session_read(agent: &str, session: u32, beginning: Beginning) -> Result<TaskEvent, Damage> {
    let (agent, session) = (part::agent(agent)?, SessionNumber(session));
    Ok(TaskEvent::Continued { agent, session, beginning })
}

/// Who is told of an open loop, by which letter, and when again.
fn letter(to: &Mailbox, id: MessageId, again_at: Option<Time>) -> (String, String, Option<u64>) {
    (to.to_string(), id.to_string(), again_at.map(|at| at.0))
}

fn read_letter(
    (to, id, again_at): (&str, &str, Option<u64>),
) -> Result<(Mailbox, MessageId, Option<Time>), Damage> {
    Ok((mail::mailbox(to)?, message(id)?, again_at.map(Time)))
}

pub(super) fn task(text: &str) -> Result<TaskId, Damage> {
    text.parse().map_err(|error| malformed(&error))
}

fn job(text: &str) -> Result<JobId, Damage> {
    text.parse().map_err(|error| malformed(&error))
}

fn message(text: &str) -> Result<MessageId, Damage> {
    text.parse().map_err(|error| malformed(&error))
}

fn name(text: Option<&str>) -> Result<Option<Name>, Damage> {
    text.map(part::name).transpose()
}

impl TryFrom<StoredQueue> for Queue {
    type Error = Damage;

    fn try_from(stored: StoredQueue) -> Result<Queue, Damage> {
        Ok(match stored {
            StoredQueue::Nobody => Queue::Nobody,
            StoredQueue::Agent(id) => Queue::Agent(part::agent(&id)?),
            StoredQueue::Role(role) => Queue::Role(part::name(&role)?),
        })
    }
}

impl TryFrom<StoredVerifier> for Verifier {
    type Error = Damage;

    fn try_from(stored: StoredVerifier) -> Result<Verifier, Damage> {
        Ok(match stored {
            StoredVerifier::Check { name: check } => Verifier::Check(name(check.as_deref())?),
            StoredVerifier::Parent { agent } => Verifier::Parent(part::agent(&agent)?),
            StoredVerifier::Operator => Verifier::Operator,
            StoredVerifier::Trust { role } => Verifier::Trust(role),
            StoredVerifier::Parts => Verifier::Parts,
        })
    }
}

impl TryFrom<Stored> for TaskEvent {
    type Error = Damage;

    fn try_from(stored: Stored) -> Result<TaskEvent, Damage> {
        let who = |by: String| mail::sender(&by);
        Ok(match stored {
            Stored::Added { by, brief } => {
                TaskEvent::Added { by: who(by)?, brief: Box::new((*brief).try_into()?) }
            }
            Stored::Queued { by, queue } => {
                TaskEvent::Queued { by: who(by)?, queue: queue.try_into()? }
            }
            Stored::Taken { by, agent, spent, session } => {
                let (agent, session) = (part::agent(&agent)?, session.map(SessionNumber));
                TaskEvent::Taken { by: who(by)?, agent, spent, session }
            }
            Stored::Continued { agent, session, beginning } => {
                session_read(&agent, session, beginning.0)?
            }
            Stored::Noted { by, text } => TaskEvent::Noted { by: who(by)?, text: text.try_into()? },
            Stored::Stepped { by, step, text, done } => {
                TaskEvent::Stepped { by: who(by)?, step, text, is_done: done }
            }
            Stored::Blocked { by, on, reason } => {
                TaskEvent::Blocked { by: who(by)?, on: on.0, reason }
            }
            Stored::Counted { agent, spent, added } => {
                TaskEvent::Counted { agent: part::agent(&agent)?, spent, added }
            }
            Stored::Claimed { by, reason, spent } => {
                TaskEvent::Claimed { by: who(by)?, reason, spent }
            }
            Stored::CheckWanted { job: id, check, argv, dir, limit_ms, runs } => {
                TaskEvent::CheckWanted {
                    job: job(&id)?,
                    check: name(check.as_deref())?,
                    command: JobCommand { argv, dir, limit: Duration::from_millis(limit_ms) },
                    runs,
                }
            }
            Stored::CheckEnded { job: id, agent, check, end, output } => {
                let (job, agent) = (job(&id)?, agent.as_deref().map(part::agent).transpose()?);
                let (check, end) = (name(check.as_deref())?, end.into());
                TaskEvent::CheckEnded { job, agent, check, end, output }
            }
            Stored::Verified { by, agent } => TaskEvent::Verified {
                by: by.try_into()?,
                agent: agent.as_deref().map(part::agent).transpose()?,
            },
            Stored::Returned { by, agent, taken: is_taken, reason } => {
                let (by, agent) = (who(by)?, part::agent(&agent)?);
                TaskEvent::Returned { by, agent, is_taken, reason }
            }
            Stored::Reopened { by, queue, reason } => {
                TaskEvent::Reopened { by: who(by)?, queue: queue.try_into()?, reason }
            }
            Stored::Split { by, into } => {
                let into = into.iter().map(|id| task(id)).collect::<Result<_, _>>()?;
                TaskEvent::Split { by: who(by)?, into }
            }
            Stored::PartAdded { part } => TaskEvent::PartAdded { part: task(&part)? },
            Stored::Dropped { by, reason } => TaskEvent::Dropped { by: who(by)?, reason },
            Stored::Left { agent, name: called, queue, to, message, again_at } => {
                let (to, message, again_at) = read_letter((&to, &message, again_at))?;
                let (agent, name) = (part::agent(&agent)?, name(called.as_deref())?);
                TaskEvent::Left { agent, name, queue: queue.try_into()?, to, message, again_at }
            }
            Stored::Raised { to, message, again_at } => {
                let (to, message, again_at) = read_letter((&to, &message, again_at))?;
                TaskEvent::Raised { to, message, again_at }
            }
        })
    }
}
