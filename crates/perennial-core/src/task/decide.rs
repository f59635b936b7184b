//! What persons and agents ask of tasks. Changes nothing; who may is said in `authority`.

use super::adding::{add, import, offered, queue, refused, unfinished_by};
use super::batch::Batch;
use super::bounds;
use super::reopening::reopen;
use super::{
    Awaiting, BlockedOn, Brief, CheckSpec, LEVELS_MAX, PARTS_MAX, Queue, QueueWanted, Resolution,
    STEPS_MAX, StepWanted, Task, TaskCommand, TaskEvent, TaskRefusal, TaskState,
    UNFINISHED_BY_AGENT_MAX, Verifier, has_dependants,
};
use crate::agent::Agent;
use crate::authority::{Caller, Standing};
use crate::event::What;
use crate::fleet::{Decision, Fleet};
use crate::id::{AgentId, TaskId};
use crate::message::{Mailbox, Sender};
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::role::{self, Verify};
use crate::time::Time;

type Decided = Result<(), Refusal>;

/// Answers a command about a task.
pub fn decide(
    fleet: &Fleet,
    caller: Caller,
    command: &TaskCommand,
    now: Time,
) -> Result<Decision, Refusal> {
    let by = sender(fleet, caller)?;
    bounds::checked(command)?;
    let mut batch = Batch::new(fleet, now);
    let id = command.task();
    let mut about = id;
    match command {
        TaskCommand::Add(draft) => add(&mut batch, (caller, by), draft)?,
        TaskCommand::Import { to, tasks } => import(&mut batch, (caller, by), (to, tasks))?,
        TaskCommand::Take { .. } => take(&mut batch, (caller, by), id)?,
        TaskCommand::Assign { to, .. } => assign(&mut batch, (caller, by), id, to)?,
        TaskCommand::Note { body, .. } => {
            batch.open(id)?;
            batch.note(by, id, body);
        }
        TaskCommand::Step { step, .. } => step_done(&mut batch, (caller, by), id, step)?,
        TaskCommand::Block { on, reason, .. } => {
            block(&mut batch, (caller, by), id, (*on, reason))?;
        }
        TaskCommand::Done { reason, check, .. } => {
            claim(&mut batch, (caller, by), id, (reason, check))?;
        }
        TaskCommand::Verify { is_done, reason, note, .. } => {
            if let Some(note) = note.as_ref().filter(|_| *is_done) {
                batch.open(id)?;
                batch.note(by, id, note);
            }
            judge(&mut batch, (caller, by), id, (*is_done, reason))?;
        }
        TaskCommand::Split { into, .. } => split(&mut batch, (caller, by), id, into)?,
        TaskCommand::Reopen { reason, recalled, successor, note, .. } => {
            about =
                reopen(&mut batch, (caller, by), id, (reason, recalled.as_deref(), *successor))?;
            if let Some(note) = note.as_ref().filter(|_| about == *successor) {
                batch.note(by, about, note);
            }
        }
        TaskCommand::Drop { reason, verified, .. } => {
            let task = batch.open(id)?;
            of_adder(fleet, caller, task)?;
            of_whole(&batch, caller, task)?;
            batch.verified.clone_from(verified);
            batch.record(id, TaskEvent::Dropped { by, reason: reason.clone() });
            batch.over(id);
        }
    }
    Ok(batch.decision(about))
}

fn sender(fleet: &Fleet, caller: Caller) -> Result<Sender, Refusal> {
    fleet.authorise(caller, Verb::Task, None)?;
    match caller {
        Caller::Person => Ok(Sender::Person),
        Caller::Agent(id) => Ok(Sender::Agent(id)),
        Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            let (verb, standing) = (Verb::Task, Standing::NoTarget);
            Err(Refusal::NotAllowed { caller, verb, standing })
        }
    }
}

/// A verb about an agent's task, for a caller who may use it: whose it is now, not whose it was.
fn of_worker(fleet: &Fleet, caller: Caller, verb: Verb, task: &Task) -> Decided {
    fleet.authorise(caller, verb, task.assignee())
}

/// Reopening and dropping: who added it, or a person.
pub(super) fn of_adder(fleet: &Fleet, caller: Caller, task: &Task) -> Decided {
    fleet.authorise(caller, Verb::TaskDrop, task.added_by.agent())
}

/// TK3: what an agent has split is verified by its parts, and what waits for a task begins when that is over. So only a
/// person says that a part, or what others wait for, need not be done.
fn of_whole(batch: &Batch<'_>, caller: Caller, task: &Task) -> Decided {
    let whole = task.brief.parent.and_then(|whole| batch.task(whole));
    let is_part = whole.is_some_and(|whole| whole.parts.contains(&task.id));
    match is_part || has_dependants(batch.fleet.tasks(), task.id) {
        true if caller != Caller::Person => {
            let (verb, standing) = (Verb::TaskDrop, Standing::Other);
            Err(Refusal::NotAllowed { caller, verb, standing })
        }
        true | false => Ok(()),
    }
}

fn take(batch: &mut Batch<'_>, (caller, by): (Caller, Sender), id: TaskId) -> Decided {
    let own = caller.own_session()?;
    let agent = batch.fleet.find(&own.to_string())?;
    let task = batch.open(id)?;
    let is_own = match &task.state {
        TaskState::Open => lies_before(agent, task),
        // What it blocked itself it may take up again.
        TaskState::Blocked(BlockedOn::Work | BlockedOn::Outside) => task.assignee() == Some(own),
        TaskState::Taken if task.worker == Some(own) => return Ok(()),
        TaskState::Taken
        | TaskState::Claimed(_)
        | TaskState::Blocked(BlockedOn::Rounds)
        | TaskState::Split
        | TaskState::Verified(_)
        | TaskState::Dropped => {
            return Err(refused(id, TaskRefusal::WrongState(task.state.word())));
        }
    };
    // An open loop is for whoever was told of it.
    let is_told = task.open_loop.as_ref().is_some_and(|it| it.to == Mailbox::Agent(own));
    if !is_own && !is_told {
        return Err(refused(id, TaskRefusal::NotYours));
    }
    batch.may_begin(agent, task).map_err(|why| refused(id, why))?;
    let (spent, session) = (batch.spent_before(own), batch.session_of(own));
    batch.record(id, TaskEvent::Taken { by, agent: own, spent, session });
    Ok(())
}

fn assign(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    id: TaskId,
    to: &QueueWanted,
) -> Decided {
    let task = batch.open(id)?;
    match task.state {
        TaskState::Open | TaskState::Taken | TaskState::Blocked(_) => {}
        TaskState::Claimed(_) | TaskState::Split | TaskState::Verified(_) | TaskState::Dropped => {
            return Err(refused(id, TaskRefusal::WrongState(task.state.word())));
        }
    }
    not_given_up(caller, task)?;
    match task.assignee() {
        // Whoever takes work from somebody stands above them.
        Some(owner) => batch.fleet.authorise(caller, Verb::TaskAssign, Some(owner))?,
        None => may_move(batch, caller, task)?,
    }
    let (worker, on_it) = (task.worker, task.on_it());
    let queue = queue(batch, caller, id, to)?;
    batch.record(id, TaskEvent::Queued { by, queue: queue.clone() });
    batch.told_of_move(by, id, worker);
    offered(batch, by, id, &queue);
    batch.freed(on_it);
    Ok(())
}

/// Whether a task lies where this agent may take it: on its own queue, its role's, or nobody's of its project.
fn lies_before(agent: &Agent, task: &Task) -> bool {
    match &task.queue {
        Queue::Nobody => agent.launch.project == task.brief.project,
        Queue::Agent(queue) => *queue == agent.id,
        Queue::Role(_) => Batch::is_of_role(agent, task),
    }
}

/// What nobody has is moved by whoever may take it, or added it, so that to assign it to oneself is no way around `take`.
fn may_move(batch: &Batch<'_>, caller: Caller, task: &Task) -> Decided {
    let Caller::Agent(own) = caller else { return Ok(()) };
    let is_told = task.open_loop.as_ref().is_some_and(|it| it.to == Mailbox::Agent(own));
    let may_take = batch.fleet.agent(own).is_some_and(|agent| lies_before(agent, task));
    match is_told || may_take || task.added_by == Sender::Agent(own) {
        true => Ok(()),
        false => Err(refused(task.id, TaskRefusal::NotYours)),
    }
}

/// What came back too often is no longer for its worker to claim or to move: somebody else looks at it first.
fn not_given_up(caller: Caller, task: &Task) -> Decided {
    let is_given_up = task.state == TaskState::Blocked(BlockedOn::Rounds);
    let is_own = task.assignee().is_some_and(|own| caller == Caller::Agent(own));
    match is_given_up && is_own {
        true => Err(refused(task.id, TaskRefusal::WrongState(task.state.word()))),
        false => Ok(()),
    }
}

fn step_done(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    id: TaskId,
    step: &StepWanted,
) -> Decided {
    let task = batch.open(id)?;
    of_worker(batch.fleet, caller, Verb::TaskWork, task)?;
    let steps = u32::try_from(task.brief.steps.len()).unwrap_or(u32::MAX);
    let known = |step: u32| match (1..=steps).contains(&step) {
        true => Ok(step),
        false => Err(refused(id, TaskRefusal::NoSuchStep { step, steps })),
    };
    let (step, text, is_done) = match step {
        StepWanted::Add(text) if (steps as usize) < STEPS_MAX => {
            (steps + 1, Some(text.clone()), false)
        }
        StepWanted::Add(_) => {
            let too_many = TaskRefusal::TooMany { what: "steps", most: STEPS_MAX };
            return Err(refused(id, too_many));
        }
        StepWanted::Done(Some(step)) => (known(*step)?, None, true),
        StepWanted::Done(None) => match task.open_step() {
            Some((step, _)) => (known(u32::try_from(step).unwrap_or(0))?, None, true),
            None => return Err(refused(id, TaskRefusal::NoSuchStep { step: steps + 1, steps })),
        },
        StepWanted::NotDone(step) => (known(*step)?, None, false),
    };
    batch.record(id, TaskEvent::Stepped { by, step, text, is_done });
    Ok(())
}

fn block(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    id: TaskId,
    (on, reason): (BlockedOn, &str),
) -> Decided {
    let task = batch.open(id)?;
    of_worker(batch.fleet, caller, Verb::TaskWork, task)?;
    not_given_up(caller, task)?;
    match &task.state {
        TaskState::Open | TaskState::Taken | TaskState::Blocked(_) => {}
        TaskState::Claimed(_) | TaskState::Split | TaskState::Verified(_) | TaskState::Dropped => {
            return Err(refused(id, TaskRefusal::WrongState(task.state.word())));
        }
    }
    let worker = task.worker;
    batch.record(id, TaskEvent::Blocked { by, on, reason: reason.to_owned() });
    batch.freed(worker);
    Ok(())
}

fn claim(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    id: TaskId,
    (reason, check): (&str, &Resolution),
) -> Decided {
    let task = batch.open(id)?;
    of_worker(batch.fleet, caller, Verb::TaskWork, task)?;
    not_given_up(caller, task)?;
    // TK1: while its check runs its worker is on it, and may be on another one by now.
    let other = task.assignee().and_then(|agent| Some((agent, batch.current(agent)?)));
    if let (Resolution::Run(_), Some((agent, task))) = (check, other.filter(|(_, on)| *on != id)) {
        return Err(refused(id, TaskRefusal::OnAnother { agent, task }));
    }
    match &task.state {
        TaskState::Open | TaskState::Taken | TaskState::Blocked(_) => {}
        TaskState::Claimed(_) | TaskState::Split | TaskState::Verified(_) | TaskState::Dropped => {
            return Err(refused(id, TaskRefusal::WrongState(task.state.word())));
        }
    }
    // What it depends on may not be done; a person may still accept it as it is (`judge`).
    if let Some(on) = super::waits_for(batch.fleet.tasks(), task).next() {
        return Err(refused(id, TaskRefusal::Waits { on }));
    }
    let (worker, named) = (by.agent().or(task.worker), task.brief.check.clone());
    let spent = task.on_it().and_then(|agent| batch.spent(agent));
    batch.record(id, TaskEvent::Claimed { by, reason: reason.to_owned(), spent });
    let named = match named {
        Some(CheckSpec::Named(name)) => Some(name),
        Some(CheckSpec::Command { .. }) | None => None,
    };
    match (check, by) {
        (Resolution::Run(command), _) => batch.want_check(id, named, command.clone(), 1),
        (Resolution::None, Sender::Person) => {
            verified(batch, id, Verifier::Operator, worker);
        }
        (Resolution::None, Sender::Agent(own)) => match trusted(batch, own, id) {
            Some(role) => verified(batch, id, Verifier::Trust(role), worker),
            None => batch.await_word(id, ""),
        },
        (Resolution::None, Sender::Perennial) => batch.await_word(id, ""),
        (Resolution::NotRunnable(why), _) => {
            batch.await_word(id, &format!("; its check can't be run ({why})"));
        }
    }
    Ok(())
}

/// The role of an agent whose word counts for a task: what others did of it has to be trusted, too.
fn trusted(batch: &Batch<'_>, own: AgentId, id: TaskId) -> Option<String> {
    let role = trusted_role(batch.fleet, own)?;
    let is_trusted = |agent| trusted_role(batch.fleet, agent).is_some();
    batch.is_had_by(batch.task(id)?, is_trusted).then_some(role)
}

/// The role of an agent whose word counts.
fn trusted_role(fleet: &Fleet, agent: AgentId) -> Option<String> {
    let agent = fleet.agent(agent)?;
    role::held(agent)?;
    match agent.role_terms.verify {
        Verify::Trust => agent.role.clone(),
        Verify::Word => None,
    }
}

fn verified(batch: &mut Batch<'_>, id: TaskId, by: Verifier, agent: Option<AgentId>) {
    batch.record(id, TaskEvent::Verified { by, agent });
    batch.over(id);
}

/// TK3: an ancestor of everybody who had it, or a person, says that it is done; that it is not, any ancestor of its worker.
pub(super) fn judge(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    id: TaskId,
    (is_done, reason): (bool, &str),
) -> Decided {
    let task = batch.open(id)?;
    let worker = task.worker;
    if worker.is_some_and(|worker| caller == Caller::Agent(worker)) {
        return Err(refused(id, TaskRefusal::OwnWork));
    }
    // Whoever was told of an open loop answers for its worker, who may have left memory.
    let told = task.open_loop.as_ref().and_then(|it| it.to.agent());
    if told.is_none_or(|told| caller != Caller::Agent(told)) {
        of_worker(batch.fleet, caller, Verb::TaskVerify, task)?;
    }
    if let Caller::Agent(own) = caller
        && is_done
    {
        batch.may_accept(own, task).map_err(|why| refused(id, why))?;
    }
    match (&task.state, by) {
        (TaskState::Claimed(Awaiting::Word), _) => {}
        // A person's word counts at any time.
        (
            TaskState::Open
            | TaskState::Taken
            | TaskState::Blocked(_)
            | TaskState::Split
            | TaskState::Claimed(Awaiting::Check { .. }),
            Sender::Person,
        ) if is_done => {}
        (
            TaskState::Open
            | TaskState::Taken
            | TaskState::Blocked(_)
            | TaskState::Split
            | TaskState::Verified(_)
            | TaskState::Dropped
            | TaskState::Claimed(Awaiting::Check { .. }),
            _,
        ) => return Err(refused(id, TaskRefusal::WrongState(task.state.word()))),
    }
    let verifier = match by {
        Sender::Agent(parent) => Verifier::Parent(parent),
        Sender::Person | Sender::Perennial => Verifier::Operator,
    };
    match is_done {
        true => verified(batch, id, verifier, worker),
        false => batch.give_back(by, id, reason),
    }
    Ok(())
}

/// Its parts have its scope, queue, project and dependencies, and no check: that of the whole is not theirs to pass. Whoever
/// had it goes on with the first; if nobody had it, it is offered to whose queue they lie on.
fn split(
    batch: &mut Batch<'_>,
    (caller, by): (Caller, Sender),
    id: TaskId,
    into: &[(TaskId, String)],
) -> Decided {
    let task = batch.open(id)?;
    of_worker(batch.fleet, caller, Verb::TaskWork, task)?;
    not_given_up(caller, task)?;
    match &task.state {
        TaskState::Open | TaskState::Taken | TaskState::Blocked(_) => {}
        TaskState::Claimed(_) | TaskState::Split | TaskState::Verified(_) | TaskState::Dropped => {
            return Err(refused(id, TaskRefusal::WrongState(task.state.word())));
        }
    }
    if into.len() < 2 {
        return Err(refused(id, TaskRefusal::TooFew { what: "parts", least: 2 }));
    }
    let too_many = |what, most| Err(refused(id, TaskRefusal::TooMany { what, most }));
    if into.len() > PARTS_MAX {
        return too_many("parts", PARTS_MAX);
    }
    let above = |task: &TaskId| batch.task(*task).and_then(|task| task.brief.parent);
    if std::iter::successors(Some(id), above).take(LEVELS_MAX).count() >= LEVELS_MAX {
        return too_many("levels of parts", LEVELS_MAX);
    }
    if unfinished_by(batch, by) + into.len() > UNFINISHED_BY_AGENT_MAX {
        return too_many("unfinished tasks", UNFINISHED_BY_AGENT_MAX);
    }
    let (whole, worker) = (task.brief.clone(), task.on_it());
    let queue = match (&task.queue, worker) {
        (queue @ Queue::Role(_), _) => queue.clone(),
        (_, Some(agent)) => Queue::Agent(agent),
        (queue @ (Queue::Nobody | Queue::Agent(_)), None) => queue.clone(),
    };
    batch.record(id, TaskEvent::Split { by, into: into.iter().map(|(id, _)| *id).collect() });
    for (part, title) in into {
        if batch.task(*part).is_some() {
            return Err(refused(*part, TaskRefusal::Exists));
        }
        let brief = Brief {
            title: title.clone(),
            text: None,
            project: whole.project.clone(),
            steps: Vec::new(),
            dependencies: whole.dependencies.clone(),
            parent: Some(id),
            estimate: None,
            reference: whole.reference.clone(),
            scope: whole.scope.clone(),
            check: None,
            rounds_max: whole.rounds_max,
            queue: queue.clone(),
            reopens: None,
            had_by: Vec::new(),
        };
        batch.record(*part, TaskEvent::Added { by, brief: Box::new(brief) });
    }
    match (worker, into.first()) {
        (Some(agent), Some((first, _))) => {
            let (spent, session) = (batch.spent_before(agent), batch.session_of(agent));
            batch.record(*first, TaskEvent::Taken { by, agent, spent, session });
        }
        (None, Some((first, _))) => offered(batch, by, *first, &queue),
        (_, None) => {}
    }
    Ok(())
}

/// The events by which an agent that is being born is on a task.
pub fn given_at_birth(
    fleet: &Fleet,
    caller: Caller,
    (agent, project): (AgentId, &str),
    (id, spent): (TaskId, Option<u64>),
    now: Time,
) -> Result<Vec<What>, Refusal> {
    let by = sender(fleet, caller)?;
    let mut batch = Batch::new(fleet, now);
    let task = batch.open(id)?;
    match task.state {
        TaskState::Open | TaskState::Blocked(_) => {}
        TaskState::Taken
        | TaskState::Claimed(_)
        | TaskState::Split
        | TaskState::Verified(_)
        | TaskState::Dropped => {
            return Err(refused(id, TaskRefusal::WrongState(task.state.word())));
        }
    }
    let is_told = task.open_loop.as_ref().map(|it| &it.to);
    let may = match (caller, task.assignee()) {
        (Caller::Person, _) => true,
        (Caller::Agent(own), _) if is_told == Some(&Mailbox::Agent(own)) => true,
        (Caller::Agent(own), Some(owner)) => own == owner,
        (Caller::Agent(_), None) => task.brief.project == project,
        (Caller::Job | Caller::Viewer | Caller::Ambiguous, _) => false,
    };
    if !may {
        return Err(refused(id, TaskRefusal::NotYours));
    }
    if let Some(on) = super::waits_for(fleet.tasks(), task).next() {
        return Err(refused(id, TaskRefusal::Waits { on }));
    }
    let worker = task.worker;
    batch.newborn = spent.map(|spent| (agent, spent));
    batch.give(by, agent, id);
    batch.told_of_move(by, id, worker);
    Ok(batch.events)
}
