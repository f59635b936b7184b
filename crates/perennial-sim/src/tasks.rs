//! The properties of tasks, by rules of their own: whatever is killed, each record of a task follows from the last.
//!
//! Invariants
//! - X10  A task is added first, and nothing follows its end. A check that is recorded to have ended is the one that was
//!   wanted. An agent is on one task at a time. At rest no task waits for a check.
//!
//! Where records became unreadable, nothing is said of tasks: what follows was decided without them.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::id::{AgentId, JobId, TaskId};
use perennial_core::task::{Awaiting, TaskEvent, TaskState};

use crate::world::World;

/// What the record says of tasks.
#[derive(Debug, Default)]
pub struct TaskRecord {
    over: BTreeSet<TaskId>,
    added: BTreeSet<TaskId>,
    checks: BTreeMap<TaskId, JobId>,
    next: u128,
}

impl TaskRecord {
    /// A fresh id.
    pub fn new_task(&mut self) -> TaskId {
        self.next += 1;
        TaskId(self.next)
    }
}

impl World {
    /// X10: holds one event of a task against those before it.
    pub fn check_task(&mut self, id: TaskId, event: &TaskEvent) {
        if self.ledger.is_forgetful {
            return;
        }
        let record = &mut self.tasks;
        let is_first = record.added.insert(id);
        let is_birth = matches!(event, TaskEvent::Added { .. });
        let is_ended = match event {
            TaskEvent::CheckWanted { job, .. } => {
                record.checks.insert(id, *job);
                true
            }
            TaskEvent::CheckEnded { job, .. } => record.checks.remove(&id) == Some(*job),
            TaskEvent::Added { .. }
            | TaskEvent::Queued { .. }
            | TaskEvent::Taken { .. }
            | TaskEvent::Continued { .. }
            | TaskEvent::Counted { .. }
            | TaskEvent::Noted { .. }
            | TaskEvent::Stepped { .. }
            | TaskEvent::Blocked { .. }
            | TaskEvent::Claimed { .. }
            | TaskEvent::Verified { .. }
            | TaskEvent::Returned { .. }
            | TaskEvent::Reopened { .. }
            | TaskEvent::Split { .. }
            | TaskEvent::PartAdded { .. }
            | TaskEvent::Dropped { .. }
            | TaskEvent::Left { .. }
            | TaskEvent::Raised { .. } => true,
        };
        let is_late = record.over.contains(&id);
        if matches!(event, TaskEvent::Verified { .. } | TaskEvent::Dropped { .. }) {
            record.over.insert(id);
        }
        if is_birth != is_first || is_late || !is_ended {
            self.broken("X10: each record of a task follows", || format!("{id} {event:?}"));
        }
    }

    /// X10, of all tasks, when nothing is under way.
    pub fn check_tasks(&mut self) {
        if self.ledger.is_forgetful {
            return;
        }
        let mut on: BTreeMap<AgentId, TaskId> = BTreeMap::new();
        let mut wrong = Vec::new();
        for task in self.ledger.record.tasks().iter() {
            if let Some(other) = task.on_it().and_then(|agent| on.insert(agent, task.id)) {
                wrong.push(format!("an agent is on {other} and {}", task.id));
            }
            if matches!(task.state, TaskState::Claimed(Awaiting::Check { .. })) {
                wrong.push(format!("{} still waits for its check", task.id));
            }
        }
        if let Some(what) = wrong.into_iter().next() {
            self.broken("X10: tasks at rest", || what);
        }
    }
}
