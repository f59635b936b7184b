//! Jobs as they are stored.

use std::time::Duration;

use perennial_core::job::{JobCommand, JobEnd, JobEvent, Purpose};
use perennial_core::reason::Reason;
use serde::{Deserialize, Serialize};

use super::part::{self, StoredProcess};
use super::task;
use super::word::Worded;
use crate::record::Damage;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] = &[("job-wanted", 2), ("job-running", 1), ("job-ended", 1)];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored {
    Wanted {
        node: Option<String>,
        purpose: StoredPurpose,
        argv: Vec<String>,
        dir: String,
        limit_ms: u64,
    },
    Running {
        number: u32,
        process: StoredProcess,
    },
    Ended {
        number: u32,
        end: StoredEnd,
        output: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredPurpose {
    Notify {
        agent: String,
        name: String,
        reason: Worded<Reason>,
    },
    Mail {
        agent: String,
        name: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        subject: String,
    },
    Check {
        task: String,
        agent: Option<String>,
        check: Option<String>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredEnd {
    Code(i32),
    KillSignal(i32),
    Limit,
    NotStarted,
    Unknown,
    Outdated,
}

impl From<JobEnd> for StoredEnd {
    fn from(end: JobEnd) -> StoredEnd {
        match end {
            JobEnd::Code(code) => StoredEnd::Code(code),
            JobEnd::KillSignal(signal) => StoredEnd::KillSignal(signal),
            JobEnd::Limit => StoredEnd::Limit,
            JobEnd::NotStarted => StoredEnd::NotStarted,
            JobEnd::Unknown => StoredEnd::Unknown,
            JobEnd::Outdated => StoredEnd::Outdated,
        }
    }
}

impl From<StoredEnd> for JobEnd {
    fn from(end: StoredEnd) -> JobEnd {
        match end {
            StoredEnd::Code(code) => JobEnd::Code(code),
            StoredEnd::KillSignal(signal) => JobEnd::KillSignal(signal),
            StoredEnd::Limit => JobEnd::Limit,
            StoredEnd::NotStarted => JobEnd::NotStarted,
            StoredEnd::Unknown => JobEnd::Unknown,
            StoredEnd::Outdated => JobEnd::Outdated,
        }
    }
}

impl From<&JobEvent> for Stored {
    fn from(event: &JobEvent) -> Stored {
        match event {
            JobEvent::Wanted { node, purpose, command } => Stored::Wanted {
                node: part::written_node(*node),
                purpose: match purpose {
                    Purpose::Notify { agent, name, reason } => StoredPurpose::Notify {
                        agent: agent.to_string(),
                        name: name.clone(),
                        reason: Worded(*reason),
                    },
                    Purpose::Mail { agent, name, note, subject } => StoredPurpose::Mail {
                        agent: agent.to_string(),
                        name: name.clone(),
                        note: note.clone(),
                        subject: subject.clone(),
                    },
                    Purpose::Check { task, agent, check } => StoredPurpose::Check {
                        task: task.to_string(),
                        agent: agent.map(|id| id.to_string()),
                        check: check.as_ref().map(ToString::to_string),
                    },
                },
                argv: command.argv.clone(),
                dir: command.dir.clone(),
                limit_ms: u64::try_from(command.limit.as_millis()).unwrap_or(u64::MAX),
            },
            JobEvent::Running { number, process } => {
                Stored::Running { number: *number, process: process.into() }
            }
            JobEvent::Ended { number, end, output } => {
                Stored::Ended { number: *number, end: (*end).into(), output: output.clone() }
            }
        }
    }
}

impl TryFrom<Stored> for JobEvent {
    type Error = Damage;

    fn try_from(stored: Stored) -> Result<JobEvent, Damage> {
        Ok(match stored {
            Stored::Wanted { node, purpose, argv, dir, limit_ms } => {
                let purpose = match purpose {
                    StoredPurpose::Notify { agent, name, reason } => {
                        Purpose::Notify { agent: part::agent(&agent)?, name, reason: reason.0 }
                    }
                    StoredPurpose::Mail { agent, name, note, subject } => {
                        Purpose::Mail { agent: part::agent(&agent)?, name, note, subject }
                    }
                    StoredPurpose::Check { task, agent, check } => Purpose::Check {
                        task: task::task(&task)?,
                        agent: agent.as_deref().map(part::agent).transpose()?,
                        check: check.as_deref().map(part::name).transpose()?,
                    },
                };
                let limit = Duration::from_millis(limit_ms);
                let node = part::node(node.as_deref())?;
                JobEvent::Wanted { node, purpose, command: JobCommand { argv, dir, limit } }
            }
            Stored::Running { number, process } => {
                JobEvent::Running { number, process: process.into() }
            }
            Stored::Ended { number, end, output } => {
                JobEvent::Ended { number, end: end.into(), output }
            }
        })
    }
}
