//! How tasks come about, and on whose queue they may be put. Changes nothing.

use super::batch::Batch;
use super::decide::judge;
use super::{
    ADDED_PARTS_MAX, Brief, CheckSpec, DEPENDENCIES_MAX, IMPORT_MAX, Queue, QueueWanted,
    SCOPE_BYTES_MAX, SCOPE_MAX, STEPS_MAX, TaskDraft, TaskEvent, TaskImport, TaskRefusal,
    UNFINISHED_BY_AGENT_MAX,
};
use crate::agent::Agent;
use crate::authority::Caller;
use crate::context::Threshold;
use crate::id::TaskId;
use crate::message::Sender;
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::state::Roster;

type Decided = Result<(), Refusal>;

pub(super) fn refused(task: TaskId, why: TaskRefusal) -> Refusal {
    Refusal::Task { task, why }
}

pub(super) fn add(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    draft: &TaskDraft,
) -> Decided {
    let id = draft.id;
    if batch.task(id).is_some() {
        return Err(refused(id, TaskRefusal::Exists));
    }
    bounded(batch, by, (id, &draft.brief), &draft.finished)?;
    let queue = queue(batch, caller, id, &draft.to)?;
    let brief = Box::new(Brief { queue: queue.clone(), ..draft.brief.clone() });
    record_added(batch, by, id, brief);
    batch.texts.extend(draft.body.clone());
    offered(batch, by, id, &queue);
    Ok(())
}

/// All tasks of a list, or none: parents first, then what is done, parts before the whole.
pub(super) fn import(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    (to, tasks): (&QueueWanted, &[TaskImport]),
) -> Decided {
    let first = tasks.first().map_or(TaskId(0), |task| task.id);
    if tasks.len() > IMPORT_MAX {
        let (what, most) = ("tasks in one list", IMPORT_MAX);
        return Err(refused(first, TaskRefusal::TooMany { what, most }));
    }
    // What is checked is verified by whoever imports it (TK3).
    if caller != Caller::Person && tasks.iter().any(|one| one.is_done) {
        return Err(refused(first, TaskRefusal::CheckedItems));
    }
    let wanted = queue(batch, caller, first, to)?;
    for one in tasks {
        if batch.task(one.id).is_some() {
            return Err(refused(one.id, TaskRefusal::Exists));
        }
        bounded(batch, by, (one.id, &one.brief), &[])?;
        // Nobody is given what is done.
        let queue = if one.is_done { Queue::Nobody } else { wanted.clone() };
        let brief = Box::new(Brief { queue, ..one.brief.clone() });
        record_added(batch, by, one.id, brief);
    }
    for one in tasks.iter().rev().filter(|one| one.is_done) {
        judge(batch, (caller, by), one.id, (true, ""))?;
    }
    for one in tasks.iter().filter(|one| !one.is_done) {
        offered(batch, by, one.id, &wanted);
    }
    Ok(())
}

/// A task is added, and the task that it is a part of knows it from then on.
pub(super) fn record_added(batch: &mut Batch<'_>, by: Sender, id: TaskId, brief: Box<Brief>) {
    let whole = brief.parent;
    batch.record(id, TaskEvent::Added { by, brief });
    if let Some(whole) = whole {
        batch.record(whole, TaskEvent::PartAdded { part: id });
    }
}

/// A task that lies on an agent's queue is given to it, if it can begin.
pub(super) fn offered(batch: &mut Batch<'_>, by: Sender, id: TaskId, queue: &Queue) {
    let Some(agent) = queue.agent().and_then(|id| batch.present(id)) else { return };
    let may = batch.task(id).is_some_and(|task| batch.may_begin(agent, task).is_ok());
    if may {
        batch.give(by, agent.id, id);
    }
}

fn bounded(
    batch: &Batch<'_>,
    by: Sender,
    (id, brief): (TaskId, &Brief),
    finished: &[TaskId],
) -> Decided {
    let too_many = |what, most| Err(refused(id, TaskRefusal::TooMany { what, most }));
    if brief.steps.len() > STEPS_MAX {
        return too_many("steps", STEPS_MAX);
    }
    if brief.dependencies.len() > DEPENDENCIES_MAX {
        return too_many("dependencies", DEPENDENCIES_MAX);
    }
    if brief.scope.len() > SCOPE_MAX {
        return too_many("paths", SCOPE_MAX);
    }
    if let Some(path) = brief.scope.iter().find(|path| !is_within_project(path)) {
        return Err(refused(id, TaskRefusal::BadScope { path: path.clone() }));
    }
    let is_known = |on: &&TaskId| batch.task(**on).is_some() || finished.contains(on);
    if let Some(on) = brief.dependencies.iter().find(|on| !is_known(on)) {
        return Err(refused(id, TaskRefusal::NoSuchDependency { on: *on }));
    }
    if let Some(parent) = brief.parent {
        let whole = batch.task(parent).filter(|whole| !whole.is_over());
        let whole = whole.ok_or_else(|| refused(id, TaskRefusal::NoSuchParent { parent }))?;
        if whole.added_parts.len() >= ADDED_PARTS_MAX {
            return too_many("parts", ADDED_PARTS_MAX);
        }
    }
    // TK4
    match (&brief.check, by) {
        (Some(CheckSpec::Command { .. }), Sender::Agent(_) | Sender::Perennial) => {
            return Err(refused(id, TaskRefusal::CommandOfAgent));
        }
        (Some(CheckSpec::Command { .. }), Sender::Person)
        | (Some(CheckSpec::Named(_)) | None, _) => {}
    }
    match unfinished_by(batch, by) >= UNFINISHED_BY_AGENT_MAX {
        true => too_many("unfinished tasks", UNFINISHED_BY_AGENT_MAX),
        false => Ok(()),
    }
}

/// How many unfinished tasks an agent has added; a person's are not counted.
pub(super) fn unfinished_by(batch: &Batch<'_>, by: Sender) -> usize {
    match by {
        Sender::Agent(agent) => batch.unfinished(agent),
        Sender::Person | Sender::Perennial => 0,
    }
}

/// Relative, downwards, of bounded length and without characters that act on a terminal.
pub fn is_within_project(path: &str) -> bool {
    let is_plain = path.chars().all(|c| !c.is_control()) && path.len() <= SCOPE_BYTES_MAX;
    let is_relative = !path.is_empty() && !path.starts_with('/') && !path.starts_with('~');
    is_plain && is_relative && !path.split('/').any(|part| part == "..")
}

/// The queue that somebody names, if they may.
pub(super) fn queue(
    batch: &Batch<'_>,
    caller: Caller,
    task: TaskId,
    to: &QueueWanted,
) -> Result<Queue, Refusal> {
    let fleet = batch.fleet;
    match to {
        QueueWanted::Nobody => Ok(Queue::Nobody),
        QueueWanted::Role { role, is_declared } => {
            let key = role.key();
            let is_role = fleet.roles().holders(&key).next().is_some()
                || fleet.roles().get(&key).is_some()
                || fleet.policy().declares(&key);
            match is_role || *is_declared {
                true => Ok(Queue::Role(role.clone())),
                false => Err(Refusal::NoSuchRole { role: role.clone() }),
            }
        }
        QueueWanted::Agent(target) => {
            let agent = fleet.find(target)?;
            fleet.authorise(caller, Verb::TaskAssign, Some(agent.id))?;
            if agent.state.roster() == Roster::Cemetery {
                let (agent, verb, state) = (agent.id, Verb::TaskAssign, agent.state);
                return Err(Refusal::WrongState { agent, verb, state });
            }
            near_its_end(agent, task)?;
            Ok(Queue::Agent(agent.id))
        }
    }
}

/// TK7
fn near_its_end(agent: &Agent, task: TaskId) -> Decided {
    match agent.clock.passed >= Some(Threshold::NineTenths) {
        true => Err(refused(task, TaskRefusal::ClockNearlyOut { agent: agent.id })),
        false => Ok(()),
    }
}
