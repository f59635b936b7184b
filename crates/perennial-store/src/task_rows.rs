//! The rows of tasks: by which tasks that are over are found, by project, state, agent and role. Written with the events.
//!
//! A row says where a task stands, and nothing of what is written in it: that is folded from the task's own records.

use std::collections::BTreeMap;

use perennial_core::event::{Event, What};
use perennial_core::id::{AgentId, TaskId};
use perennial_core::name::NameKey;
use perennial_core::task::{Queue, TaskEvent};
use perennial_core::time::Time;

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub task: TaskId,
    pub project: String,
    /// One of `TaskState::WORDS`.
    pub state: String,
    /// Who has it, or had it last.
    pub agent: Option<AgentId>,
    /// On whose queue it lies, or lay.
    pub role: Option<NameKey>,
    pub changed_at: Time,
}

/// Which tasks to read; all that is named has to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskQuery {
    pub project: Option<String>,
    pub state: Option<String>,
    pub agent: Option<AgentId>,
    pub role: Option<NameKey>,
    /// Only those that were added before this one.
    pub before: Option<TaskId>,
    pub limit: usize,
}

impl TaskQuery {
    pub(crate) fn has(&self, row: &TaskRow) -> bool {
        self.project.as_ref().is_none_or(|project| *project == row.project)
            && self.state.as_ref().is_none_or(|state| *state == row.state)
            && self.agent.is_none_or(|agent| Some(agent) == row.agent)
            && self.role.as_ref().is_none_or(|role| Some(role) == row.role.as_ref())
            && self.before.is_none_or(|before| row.task < before)
    }
}

/// The rows of a journal in memory.
pub(crate) type TaskTable = BTreeMap<TaskId, TaskRow>;

pub(crate) fn change(table: &mut TaskTable, change: &TaskChange) {
    let task = change.task();
    let row = change.clone().applied(table.remove(&task));
    table.extend(row.map(|row| (task, row)));
}

pub(crate) fn find(table: &TaskTable, query: &TaskQuery) -> Vec<TaskRow> {
    let found = table.values().rev().filter(|row| query.has(row));
    found.take(query.limit).cloned().collect()
}

/// What one event changes in the table of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TaskChange {
    New(TaskRow),
    /// `None`: as it was.
    Change {
        task: TaskId,
        state: Option<&'static str>,
        agent: Option<AgentId>,
        queue: Option<Queue>,
        at: Time,
    },
}

impl TaskChange {
    pub fn of(event: &Event) -> Option<TaskChange> {
        let What::Task(task, what) = &event.what else { return None };
        let (task, at) = (*task, event.at);
        let change = |state, agent, queue: Option<&Queue>| {
            Some(TaskChange::Change { task, state, agent, queue: queue.cloned(), at })
        };
        match what {
            TaskEvent::Added { brief, .. } => Some(TaskChange::New(TaskRow {
                task,
                project: brief.project.clone(),
                state: "open".to_owned(),
                agent: brief.queue.agent(),
                role: brief.queue.role(),
                changed_at: at,
            })),
            TaskEvent::Queued { queue, .. } | TaskEvent::Reopened { queue, .. } => {
                change(Some("open"), queue.agent(), Some(queue))
            }
            TaskEvent::Taken { agent, .. } => change(Some("taken"), Some(*agent), None),
            TaskEvent::Blocked { .. } => change(Some("blocked"), None, None),
            TaskEvent::Claimed { .. }
            | TaskEvent::CheckWanted { .. }
            | TaskEvent::CheckEnded { .. } => change(Some("claimed"), None, None),
            TaskEvent::Verified { .. } => change(Some("verified"), None, None),
            TaskEvent::Returned { agent, is_taken: true, .. } => {
                change(Some("taken"), Some(*agent), None)
            }
            TaskEvent::Returned { agent, is_taken: false, .. } => {
                change(Some("open"), Some(*agent), None)
            }
            TaskEvent::Split { .. } => change(Some("split"), None, None),
            TaskEvent::Dropped { .. } => change(Some("dropped"), None, None),
            TaskEvent::Continued { .. }
            | TaskEvent::PartAdded { .. }
            | TaskEvent::Counted { .. }
            | TaskEvent::Noted { .. }
            | TaskEvent::Stepped { .. }
            | TaskEvent::Left { .. }
            | TaskEvent::Raised { .. } => None,
        }
    }

    /// What the row of a task is after this change.
    pub fn applied(self, row: Option<TaskRow>) -> Option<TaskRow> {
        match self {
            TaskChange::New(row) => Some(row),
            TaskChange::Change { state, agent, queue, at, .. } => row.map(|row| TaskRow {
                state: state.map_or(row.state, str::to_owned),
                agent: agent.or(row.agent),
                role: queue.map_or(row.role, |queue| queue.role()),
                changed_at: at,
                ..row
            }),
        }
    }

    pub fn task(&self) -> TaskId {
        match self {
            TaskChange::New(row) => row.task,
            TaskChange::Change { task, .. } => *task,
        }
    }
}
