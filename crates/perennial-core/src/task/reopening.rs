//! `reopen`: a task that is not over lies on its queue again, and a finished one is taken up by a successor. Changes nothing.

use super::adding::{offered, record_added, refused, unfinished_by};
use super::batch::Batch;
use super::decide::of_adder;
use super::{
    ADDED_PARTS_MAX, Brief, CheckSpec, Queue, Task, TaskEvent, TaskRefusal, TaskState,
    UNFINISHED_BY_AGENT_MAX,
};
use crate::authority::Caller;
use crate::id::{AgentId, TaskId};
use crate::message::Sender;
use crate::refusal::Refusal;

/// A finished task stays as it is: its successor is added, or is known already. Any other lies on its queue again.
pub(super) fn reopen(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    id: TaskId,
    (reason, recalled, successor): (&str, Option<&Task>, TaskId),
) -> Result<TaskId, Refusal> {
    let known = batch.task(id).or(recalled.filter(|task| task.id == id));
    let task = known.ok_or_else(|| refused(id, TaskRefusal::NoSuchTask))?.clone();
    of_adder(batch.fleet, caller, &task)?;
    let queue = match &task.queue {
        Queue::Agent(agent) if batch.present(*agent).is_none() => Queue::Nobody,
        queue @ (Queue::Nobody | Queue::Agent(_) | Queue::Role(_)) => queue.clone(),
    };
    if !task.is_over() {
        let (worker, on_it) = (task.worker, task.on_it());
        let (reason, to) = (reason.to_owned(), queue.clone());
        batch.record(id, TaskEvent::Reopened { by, queue: to, reason });
        batch.told_of_move(by, id, worker);
        offered(batch, by, id, &queue);
        batch.freed(on_it);
        return Ok(id);
    }
    // Whoever asks twice is answered twice.
    match batch.fleet.tasks().successor(id) {
        Some(known) => Ok(known),
        None => succeed(batch, by, &task, (successor, queue)),
    }
}

/// A task with the content of a finished one. The successor of a part is a part: of what the whole was split into, if the
/// part was one of these.
fn succeed(
    batch: &mut Batch<'_>,
    by: Sender,
    finished: &Task,
    (id, queue): (TaskId, Queue),
) -> Result<TaskId, Refusal> {
    if batch.task(id).is_some() {
        return Err(refused(id, TaskRefusal::Exists));
    }
    let too_many = |what, most| Err(refused(finished.id, TaskRefusal::TooMany { what, most }));
    if unfinished_by(batch, by) >= UNFINISHED_BY_AGENT_MAX {
        return too_many("unfinished tasks", UNFINISHED_BY_AGENT_MAX);
    }
    let whole = finished.brief.parent.and_then(|whole| batch.task(whole));
    let whole = whole.filter(|whole| !whole.is_over());
    if whole.is_some_and(|it| it.parts.len().max(it.added_parts.len()) >= ADDED_PARTS_MAX) {
        return too_many("parts", ADDED_PARTS_MAX);
    }
    let is_split_into =
        |whole: &&Task| whole.state == TaskState::Split && whole.parts.contains(&finished.id);
    let split = whole.filter(is_split_into).map(|whole| {
        let into = whole.parts.iter().copied().chain([id]).collect();
        (whole.id, TaskEvent::Split { by: Sender::Perennial, into })
    });
    let parent = whole.map(|whole| whole.id);
    let mut steps = finished.brief.steps.clone();
    steps.iter_mut().for_each(|step| step.is_done = false);
    let check = match (&finished.brief.check, by) {
        // TK4: a command stays a person's word.
        (Some(CheckSpec::Command { .. }), Sender::Agent(_) | Sender::Perennial) => None,
        (check, _) => check.clone(),
    };
    let reopens = Some(finished.id);
    // TK3: whoever had the finished one had this work.
    let mut had_by: Vec<AgentId> = finished.had().collect();
    had_by.dedup();
    let (brief, lies_on) = (finished.brief.clone(), queue.clone());
    let brief = Brief { steps, parent, check, queue: lies_on, reopens, had_by, ..brief };
    let brief = Box::new(brief);
    match split {
        Some((whole, split)) => {
            batch.record(id, TaskEvent::Added { by, brief });
            batch.record(whole, split);
        }
        None => record_added(batch, by, id, brief),
    }
    offered(batch, by, id, &queue);
    Ok(id)
}
