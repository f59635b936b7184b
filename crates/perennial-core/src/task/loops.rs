//! Open loops: the unfinished tasks of an agent that was buried. Somebody is told of each until it is taken, moved or closed.
//!
//! Pure. When somebody is told again is in the events: the operator's setting is read where they are decided.

use super::batch::Batch;
use super::check::is_lost;
use super::{Queue, RAISED_AGAIN_AFTER, Task, TaskEvent, letters, raised_again_after};
use crate::agent::Agent;
use crate::effect::{Plan, Timer};
use crate::event::What;
use crate::fleet::Fleet;
use crate::id::{AgentId, TaskId};
use crate::job::JobEnd;
use crate::message::Mailbox;
use crate::name::Name;
use crate::state::Roster;
use crate::time::Time;

/// What becomes of an agent's tasks when it is buried (TK6), and of the loops that it was told of.
pub fn buried(fleet: &Fleet, agent: &Agent, now: Time) -> Vec<What> {
    let own: Vec<TaskId> = fleet.tasks().of(agent.id).map(|task| task.id).collect();
    let mut told: Vec<TaskId> = fleet.tasks().loops_told(agent.id).map(|task| task.id).collect();
    told.retain(|id| !own.contains(id));
    if own.is_empty() && told.is_empty() {
        return Vec::new();
    }
    let mut batch = Batch::without(fleet, agent.id, now);
    let to = batch.answers_for(Some(agent.id));
    if let Some(first) = own.first().copied() {
        let message = batch.next_letter(first);
        let name = agent.name.clone();
        for id in &own {
            let queue = fleet.tasks().get(*id).map_or(Queue::Nobody, |task| home(task, agent.id));
            let (agent, name, to) = (agent.id, name.clone(), to.clone());
            let again_at = again_at(fleet, 1, now);
            batch.record(*id, TaskEvent::Left { agent, name, queue, to, message, again_at });
        }
        let tasks = own.iter().filter_map(|id| fleet.tasks().get(*id)).collect::<Vec<_>>();
        let words = letters::left((agent.id, name.as_ref()), tasks.into_iter(), true);
        batch.tell(to.clone(), first, &words);
    }
    raise(&mut batch, &told, &to);
    batch.events
}

/// The queue of a role that a task came from; a buried agent's own queue is nobody's.
fn home(task: &Task, dead: AgentId) -> Queue {
    [&task.queue, &task.brief.queue]
        .into_iter()
        .find(|queue| queue.role().is_some())
        .or(Some(&task.queue).filter(|queue| queue.agent() != Some(dead)))
        .cloned()
        .unwrap_or_default()
}

/// Tells of loops again, one letter for each agent that left them.
fn raise(batch: &mut Batch<'_>, ids: &[TaskId], to: &Mailbox) {
    let mut left: Vec<(AgentId, Option<Name>, Vec<Task>)> = Vec::new();
    for task in ids.iter().filter_map(|id| batch.task(*id).cloned()) {
        let Some(open_loop) = task.open_loop.clone() else { continue };
        match left.iter_mut().find(|(from, ..)| *from == open_loop.from) {
            Some((_, _, tasks)) => tasks.push(task),
            None => left.push((open_loop.from, open_loop.name, vec![task])),
        }
    }
    for (from, name, tasks) in left {
        let Some(first) = tasks.first().map(|task| task.id) else { continue };
        let message = batch.next_letter(first);
        for task in &tasks {
            let raised = task.open_loop.as_ref().map_or(0, |it| it.raised) + 1;
            let (to, again_at) = (to.clone(), again_at(batch.fleet, raised, batch.now));
            batch.record(task.id, TaskEvent::Raised { to, message, again_at });
        }
        let words = letters::left((from, name.as_ref()), tasks.iter(), false);
        batch.tell(to.clone(), first, &words);
    }
}

/// When a loop that is told of for the `raised`th time is told of again.
fn again_at(fleet: &Fleet, raised: u32, now: Time) -> Option<Time> {
    let first = fleet.policy().raise_loops_after.unwrap_or(RAISED_AGAIN_AFTER);
    Some(now + raised_again_after(first, raised))
}

/// What a task waits for by the clock: to be told of again; and the end of a check that nobody will tell.
pub fn plan(fleet: &Fleet, id: TaskId, now: Time) -> Plan {
    let Some(task) = fleet.tasks().get(id) else { return Plan::default() };
    let mut plan = Plan::default();
    plan.timers.extend(task.raised_again_at().map(|at| (Timer::Raise, at)));
    if is_lost(fleet, task) {
        plan.timers.push((Timer::CheckLost, now));
    }
    plan
}

/// A time that `plan` named has passed.
pub fn due(fleet: &Fleet, id: TaskId, now: Time) -> Vec<What> {
    let Some(task) = fleet.tasks().get(id) else { return Vec::new() };
    let mut batch = Batch::new(fleet, now);
    if is_lost(fleet, task) {
        batch.check_over(id, JobEnd::Unknown, "");
    }
    let is_due = |task: &&Task| task.raised_again_at().is_some_and(|at| at <= now);
    let told_with = |task: &&Task| {
        let own = fleet.tasks().get(id).and_then(|task| task.open_loop.as_ref());
        task.open_loop.as_ref().map(|it| it.from) == own.map(|own| own.from)
    };
    if is_due(&task) {
        let to = still_there(&batch, task);
        let with: Vec<TaskId> =
            fleet.tasks().iter().filter(is_due).filter(told_with).map(|task| task.id).collect();
        raise(&mut batch, &with, &to);
    }
    batch.events
}

/// Who is told again: the same one, or who answers for them now.
fn still_there(batch: &Batch<'_>, task: &Task) -> Mailbox {
    match task.open_loop.as_ref().map(|it| it.to.clone()) {
        Some(Mailbox::Agent(id)) => {
            let is_present = batch.fleet.agent(id).map(|agent| agent.state.roster());
            match is_present {
                Some(Roster::Living | Roster::Freezer) => Mailbox::Agent(id),
                Some(Roster::Cemetery) => batch.answers_for(Some(id)),
                None => Mailbox::Operator,
            }
        }
        Some(other @ (Mailbox::Role(_) | Mailbox::Operator)) => other,
        None => Mailbox::Operator,
    }
}
