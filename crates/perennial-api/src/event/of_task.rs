//! What happens to a task, as clients get it.

use serde::{Deserialize, Serialize};

use super::part::JobEnd;

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "data")]
pub enum TaskWhat {
    /// A task was added.
    #[serde(rename = "task-added")]
    Added(TaskHappened),
    /// It lies on another queue.
    #[serde(rename = "task-queued")]
    Queued(TaskHappened),
    /// An agent is on it.
    #[serde(rename = "task-taken")]
    Taken(TaskHappened),
    /// Another session of the agent that is on it was asked for.
    #[serde(rename = "task-continued")]
    Continued(TaskHappened),
    /// Somebody wrote a note to it.
    #[serde(rename = "task-noted")]
    Noted(TaskHappened),
    /// A step was added, or is done, or is not.
    #[serde(rename = "task-stepped")]
    Stepped(TaskHappened),
    /// It can't go on.
    #[serde(rename = "task-blocked")]
    Blocked(TaskHappened),
    /// What its worker has spent was counted.
    #[serde(rename = "task-counted")]
    Counted(TaskHappened),
    /// Somebody says that it is done.
    #[serde(rename = "task-claimed")]
    Claimed(TaskHappened),
    /// Its check is to be run, as a job.
    #[serde(rename = "task-check-wanted")]
    CheckWanted(TaskHappened),
    /// Its check has ended.
    #[serde(rename = "task-check-ended")]
    CheckEnded(TaskHappened),
    /// It is done.
    #[serde(rename = "task-verified")]
    Verified(TaskHappened),
    /// It was found not to be done, and goes back.
    #[serde(rename = "task-returned")]
    Returned(TaskHappened),
    /// It lies on its queue again.
    #[serde(rename = "task-reopened")]
    Reopened(TaskHappened),
    /// Its parts are worked on instead.
    #[serde(rename = "task-split")]
    Split(TaskHappened),
    /// A task was added as a part of it.
    #[serde(rename = "task-part-added")]
    PartAdded(TaskHappened),
    /// It will not be done.
    #[serde(rename = "task-dropped")]
    Dropped(TaskHappened),
    /// Its worker was buried; somebody is told.
    #[serde(rename = "task-left")]
    Left(TaskHappened),
    /// Somebody is told again that nobody has it.
    #[serde(rename = "task-raised")]
    Raised(TaskHappened),
}

impl TaskWhat {
    /// The word for its kind, as `kind` has it.
    pub fn kind(&self) -> &'static str {
        match self {
            TaskWhat::Added(_) => "task-added",
            TaskWhat::Queued(_) => "task-queued",
            TaskWhat::Taken(_) => "task-taken",
            TaskWhat::Continued(_) => "task-continued",
            TaskWhat::Noted(_) => "task-noted",
            TaskWhat::Stepped(_) => "task-stepped",
            TaskWhat::Blocked(_) => "task-blocked",
            TaskWhat::Counted(_) => "task-counted",
            TaskWhat::Claimed(_) => "task-claimed",
            TaskWhat::CheckWanted(_) => "task-check-wanted",
            TaskWhat::CheckEnded(_) => "task-check-ended",
            TaskWhat::Verified(_) => "task-verified",
            TaskWhat::Returned(_) => "task-returned",
            TaskWhat::Reopened(_) => "task-reopened",
            TaskWhat::Split(_) => "task-split",
            TaskWhat::PartAdded(_) => "task-part-added",
            TaskWhat::Dropped(_) => "task-dropped",
            TaskWhat::Left(_) => "task-left",
            TaskWhat::Raised(_) => "task-raised",
        }
    }
}

/// What happened to a task; each kind has the members that it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskHappened {
    /// `operator`, `perennial` or an agent's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The agent that it is about: its worker, or who was buried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The number of that agent's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// After what that session begins: `birth`, `crash`, `again`, `wake`, `stop`, `restart`, `reboot` or `handoff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beginning: Option<String>,
    /// The tokens that were counted for the task since the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// An agent's id, `role:NAME` or `nobody`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
    /// `work`, `outside` or `rounds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The name of the check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<JobEnd>,
    /// `check`, `parent`, `operator`, `trust` or `parts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_by: Option<String>,
    /// The parts that it was split into, or the one that was added to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub into: Vec<String>,
    /// Who was told: an agent's id, `role:NAME` or `operator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Left out for those who may not see it, like the members below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// The end of what the check printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}
