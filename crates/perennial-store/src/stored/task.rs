//! Tasks as they are stored.

use std::time::Duration;

use perennial_core::id::{JobId, MessageId, TaskId};
use perennial_core::job::JobCommand;
use perennial_core::name::Name;
use perennial_core::task::{
    BlockedOn, Brief, CheckSpec, Estimate, Queue, Step, TaskEvent, Verifier,
};
use serde::{Deserialize, Serialize};

use super::job::StoredEnd;
use super::part::{self, StoredText};
use super::word::Worded;
use super::{mail, malformed};
use crate::record::Damage;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] = &[
    ("task-added", 1),
    ("task-queued", 1),
    ("task-taken", 1),
    ("task-noted", 1),
    ("task-stepped", 1),
    ("task-blocked", 1),
    ("task-claimed", 1),
    ("task-check-wanted", 1),
    ("task-check-ended", 1),
    ("task-verified", 1),
    ("task-returned", 1),
    ("task-reopened", 1),
    ("task-split", 1),
    ("task-dropped", 1),
    ("task-left", 1),
    ("task-raised", 1),
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
    },
    Raised {
        to: String,
        message: String,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredBrief {
    title: String,
    text: Option<StoredText>,
    project: String,
    steps: Vec<StoredStep>,
    dependencies: Vec<String>,
    parent: Option<String>,
    estimate: Option<StoredEstimate>,
    reference: Option<String>,
    scope: Vec<String>,
    check: Option<StoredCheck>,
    rounds_max: u32,
    queue: StoredQueue,
    reopens: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredStep {
    text: String,
    done: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredEstimate {
    Tokens(u64),
    Steps(u64),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredCheck {
    Named(String),
    Command { argv: Vec<String>, limit_ms: u64 },
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

impl From<&Brief> for StoredBrief {
    fn from(brief: &Brief) -> StoredBrief {
        let step = |step: &Step| StoredStep { text: step.text.clone(), done: step.is_done };
        StoredBrief {
            title: brief.title.clone(),
            text: brief.text.as_ref().map(Into::into),
            project: brief.project.clone(),
            steps: brief.steps.iter().map(step).collect(),
            dependencies: brief.dependencies.iter().map(ToString::to_string).collect(),
            parent: brief.parent.map(|id| id.to_string()),
            estimate: brief.estimate.map(|estimate| match estimate {
                Estimate::Tokens(tokens) => StoredEstimate::Tokens(tokens),
                Estimate::Steps(steps) => StoredEstimate::Steps(steps),
            }),
            reference: brief.reference.clone(),
            scope: brief.scope.clone(),
            check: brief.check.as_ref().map(|check| match check {
                CheckSpec::Named(name) => StoredCheck::Named(name.to_string()),
                CheckSpec::Command { argv, limit } => {
                    StoredCheck::Command { argv: argv.clone(), limit_ms: millis(*limit) }
                }
            }),
            rounds_max: brief.rounds_max,
            queue: (&brief.queue).into(),
            reopens: brief.reopens.map(|id| id.to_string()),
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
            TaskEvent::Taken { by: who, agent, spent } => {
                Stored::Taken { by: by(who), agent: agent.to_string(), spent: *spent }
            }
            TaskEvent::Noted { by: who, text } => Stored::Noted { by: by(who), text: text.into() },
            TaskEvent::Stepped { by: who, step, text, is_done } => {
                Stored::Stepped { by: by(who), step: *step, text: text.clone(), done: *is_done }
            }
            TaskEvent::Blocked { by: who, on, reason } => {
                Stored::Blocked { by: by(who), on: Worded(*on), reason: reason.clone() }
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
            TaskEvent::CheckEnded { job, agent, check, end, output } => Stored::CheckEnded {
                job: job.to_string(),
                agent: agent.map(|id| id.to_string()),
                check: written(check.as_ref()),
                end: (*end).into(),
                output: output.clone(),
            },
            TaskEvent::Verified { by, agent } => {
                Stored::Verified { by: by.into(), agent: agent.map(|id| id.to_string()) }
            }
            TaskEvent::Returned { by: who, agent, is_taken, reason } => Stored::Returned {
                by: by(who),
                agent: agent.to_string(),
                taken: *is_taken,
                reason: reason.clone(),
            },
            TaskEvent::Reopened { by: who, queue, reason } => {
                Stored::Reopened { by: by(who), queue: queue.into(), reason: reason.clone() }
            }
            TaskEvent::Split { by: who, into } => {
                Stored::Split { by: by(who), into: into.iter().map(ToString::to_string).collect() }
            }
            TaskEvent::Dropped { by: who, reason } => {
                Stored::Dropped { by: by(who), reason: reason.clone() }
            }
            TaskEvent::Left { agent, name, queue, to, message } => Stored::Left {
                agent: agent.to_string(),
                name: written(name.as_ref()),
                queue: queue.into(),
                to: to.to_string(),
                message: message.to_string(),
            },
            TaskEvent::Raised { to, message } => {
                Stored::Raised { to: to.to_string(), message: message.to_string() }
            }
        }
    }
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

impl TryFrom<StoredBrief> for Brief {
    type Error = Damage;

    fn try_from(stored: StoredBrief) -> Result<Brief, Damage> {
        let step = |step: StoredStep| Step { text: step.text, is_done: step.done };
        let tasks = |ids: Vec<String>| ids.iter().map(|id| task(id)).collect::<Result<_, _>>();
        Ok(Brief {
            title: stored.title,
            text: stored.text.map(TryInto::try_into).transpose()?,
            project: stored.project,
            steps: stored.steps.into_iter().map(step).collect(),
            dependencies: tasks(stored.dependencies)?,
            parent: stored.parent.as_deref().map(task).transpose()?,
            estimate: stored.estimate.map(|estimate| match estimate {
                StoredEstimate::Tokens(tokens) => Estimate::Tokens(tokens),
                StoredEstimate::Steps(steps) => Estimate::Steps(steps),
            }),
            reference: stored.reference,
            scope: stored.scope,
            check: match stored.check {
                None => None,
                Some(StoredCheck::Named(name)) => Some(CheckSpec::Named(part::name(&name)?)),
                Some(StoredCheck::Command { argv, limit_ms }) => {
                    Some(CheckSpec::Command { argv, limit: Duration::from_millis(limit_ms) })
                }
            },
            rounds_max: stored.rounds_max,
            queue: stored.queue.try_into()?,
            reopens: stored.reopens.as_deref().map(task).transpose()?,
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
            Stored::Taken { by, agent, spent } => {
                TaskEvent::Taken { by: who(by)?, agent: part::agent(&agent)?, spent }
            }
            Stored::Noted { by, text } => TaskEvent::Noted { by: who(by)?, text: text.try_into()? },
            Stored::Stepped { by, step, text, done } => {
                TaskEvent::Stepped { by: who(by)?, step, text, is_done: done }
            }
            Stored::Blocked { by, on, reason } => {
                TaskEvent::Blocked { by: who(by)?, on: on.0, reason }
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
            Stored::CheckEnded { job: id, agent, check, end, output } => TaskEvent::CheckEnded {
                job: job(&id)?,
                agent: agent.as_deref().map(part::agent).transpose()?,
                check: name(check.as_deref())?,
                end: end.into(),
                output,
            },
            Stored::Verified { by, agent } => TaskEvent::Verified {
                by: by.try_into()?,
                agent: agent.as_deref().map(part::agent).transpose()?,
            },
            Stored::Returned { by, agent, taken, reason } => TaskEvent::Returned {
                by: who(by)?,
                agent: part::agent(&agent)?,
                is_taken: taken,
                reason,
            },
            Stored::Reopened { by, queue, reason } => {
                TaskEvent::Reopened { by: who(by)?, queue: queue.try_into()?, reason }
            }
            Stored::Split { by, into } => {
                let into = into.iter().map(|id| task(id)).collect::<Result<_, _>>()?;
                TaskEvent::Split { by: who(by)?, into }
            }
            Stored::Dropped { by, reason } => TaskEvent::Dropped { by: who(by)?, reason },
            Stored::Left { agent, name: called, queue, to, message: id } => TaskEvent::Left {
                agent: part::agent(&agent)?,
                name: name(called.as_deref())?,
                queue: queue.try_into()?,
                to: mail::mailbox(&to)?,
                message: message(&id)?,
            },
            Stored::Raised { to, message: id } => {
                TaskEvent::Raised { to: mail::mailbox(&to)?, message: message(&id)? }
            }
        })
    }
}
