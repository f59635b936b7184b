//! What is asked of tasks besides: whether one has outgrown its estimate, who waits for it, what it waits for.
//!
//! Pure; decides nothing.

use super::{BlockedOn, Estimate, Task, TaskState, Tasks};
use crate::id::TaskId;

/// Whether what it took exceeds twice its estimate: the steps that it has, or the tokens that its workers are known to have spent.
pub fn exceeds_estimate(task: &Task) -> bool {
    match task.brief.estimate {
        Some(Estimate::Steps(steps)) => task.brief.steps.len() as u64 > steps.saturating_mul(2),
        Some(Estimate::Tokens(tokens)) => {
            task.spent.tokens.is_some_and(|spent| spent > tokens.saturating_mul(2))
        }
        None => false,
    }
}

/// Whether other tasks that are not over wait for this one: to split it concerns them.
pub fn has_dependants(tasks: &Tasks, id: TaskId) -> bool {
    tasks.dependants(id).next().is_some()
}

/// Whether it needs something that only somebody outside can give.
pub fn is_blocked_outside(task: &Task) -> bool {
    task.state == TaskState::Blocked(BlockedOn::Outside)
}

/// The tasks that it waits for (TK8). One that has left memory is over.
pub fn waits_for<'t>(tasks: &'t Tasks, task: &'t Task) -> impl Iterator<Item = TaskId> + 't {
    let is_open = |on: &TaskId| tasks.get(*on).is_some_and(|on| !on.is_over());
    task.brief.dependencies.iter().copied().filter(is_open)
}
