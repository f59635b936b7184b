//! What is asked of tasks besides: what was spent on one, whether it has outgrown its estimate, who waits for it, what it
//! waits for.
//!
//! Pure.

use super::batch::Batch;
use super::fold::fold;
use super::{Estimate, Task, TaskEvent, Tasks, is_begun_by};
use crate::event::What;
use crate::fleet::Fleet;
use crate::id::{AgentId, TaskId};
use crate::time::Time;

/// An agent was seen to have spent more: if the task that it is on has thereby outgrown its estimate, that is recorded now
/// and not when it is claimed.
pub fn spent(fleet: &Fleet, agent: AgentId, now: Time) -> Vec<What> {
    let Some(task) = fleet.tasks().current(agent) else { return Vec::new() };
    let Some(counted) = counted(fleet, task, agent) else { return Vec::new() };
    let mut after = task.clone();
    fold(&mut after, &counted, now);
    if exceeds_estimate(task) || !exceeds_estimate(&after) {
        return Vec::new();
    }
    let mut batch = Batch::new(fleet, now);
    batch.record(task.id, counted);
    batch.events
}

/// What is counted with an event by which an agent leaves a task, or goes back to one that it had left: what it spent in
/// between was not spent on this task.
pub(super) fn counted_with(fleet: &Fleet, task: &Task, event: &TaskEvent) -> Option<TaskEvent> {
    if let (TaskEvent::Returned { agent, is_taken: true, .. }, None) = (event, task.on_it()) {
        let spent = fleet.spent(*agent).filter(|spent| task.spent.since != Some(*spent))?;
        return Some(TaskEvent::Counted { agent: *agent, spent, added: 0 });
    }
    let agent = task.on_it()?;
    let is_left = is_begun_by(event, agent) == Some(false);
    match is_left || matches!(event, TaskEvent::CheckEnded { .. }) {
        true => counted(fleet, task, agent),
        false => None,
    }
}

/// What the agent that is on a task has spent on it since it was counted last; nothing if it has spent nothing, or nobody
/// counted.
fn counted(fleet: &Fleet, task: &Task, agent: AgentId) -> Option<TaskEvent> {
    let (spent, since) = (fleet.spent(agent)?, task.spent.since?);
    let added = spent.checked_sub(since).filter(|added| *added > 0)?;
    Some(TaskEvent::Counted { agent, spent, added })
}

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

/// The tasks that it waits for (TK8). One that has left memory is over.
pub fn waits_for<'t>(tasks: &'t Tasks, task: &'t Task) -> impl Iterator<Item = TaskId> + 't {
    let is_open = |on: &TaskId| tasks.get(*on).is_some_and(|on| !on.is_over());
    task.brief.dependencies.iter().copied().filter(is_open)
}
