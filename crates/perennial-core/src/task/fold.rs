//! What each event makes of a task. Reads no configuration and no other task.

use super::{
    Awaiting, Brief, CheckResult, OpenLoop, Queue, Spent, Step, Task, TaskEvent, TaskSessions,
    TaskState,
};
use crate::id::{AgentId, SessionId, SessionNumber, TaskId};
use crate::message::{Mailbox, Sender};
use crate::text::Text;
use crate::time::Time;

/// A task that was just added.
pub fn begun(id: TaskId, by: Sender, brief: &Brief, at: Time) -> Task {
    Task {
        id,
        brief: brief.clone(),
        added_by: by,
        added_at: at,
        state: TaskState::Open,
        by,
        since: at,
        reason: String::new(),
        queue: brief.queue.clone(),
        worker: None,
        had_by: brief.had_by.clone(),
        parts: Vec::new(),
        added_parts: Vec::new(),
        rounds: 0,
        spent: Spent::default(),
        sessions: TaskSessions::default(),
        notes: 0,
        last_note: None,
        last_check: None,
        open_loop: None,
    }
}

/// Folds one event. A second `Added` says nothing: an id is used once.
pub fn fold(task: &mut Task, event: &TaskEvent, at: Time) {
    task.remember(event);
    match event {
        TaskEvent::Added { .. } => {}
        TaskEvent::Queued { by, queue } => {
            enter(task, TaskState::Open, *by, "", at);
            moved(task, queue);
        }
        TaskEvent::Taken { by, agent, spent, session } => {
            enter(task, TaskState::Taken, *by, "", at);
            taken(task, *agent, (*spent, *session), at);
        }
        TaskEvent::Continued { agent, session, beginning } => {
            let session = SessionId { agent: *agent, number: *session };
            task.sessions.count(session, Some(*beginning), at);
        }
        TaskEvent::Noted { by, text } => noted(task, *by, text),
        TaskEvent::Stepped { step, text, is_done, .. } => {
            stepped(task, *step, text.as_deref(), *is_done);
        }
        TaskEvent::Blocked { by, on, reason } => {
            enter(task, TaskState::Blocked(*on), *by, reason, at);
        }
        TaskEvent::Counted { spent, added, .. } => counted(task, *spent, *added),
        TaskEvent::Claimed { by, reason, spent } => {
            enter(task, TaskState::Claimed(Awaiting::Word), *by, reason, at);
            claimed(task, *by, *spent);
        }
        TaskEvent::CheckWanted { job, check, command, runs } => {
            let (check, command, runs) = (check.clone(), Box::new(command.clone()), *runs);
            task.state = TaskState::Claimed(Awaiting::Check { job: *job, check, command, runs });
            task.since = at;
        }
        TaskEvent::CheckEnded { check, end, output, .. } => {
            let (check, output) = (check.clone(), output.clone());
            checked(task, CheckResult { check, end: *end, output, at });
        }
        TaskEvent::Verified { by, .. } => {
            enter(task, TaskState::Verified(by.clone()), Sender::Perennial, "", at);
            task.open_loop = None;
        }
        TaskEvent::Returned { by, agent, is_taken, reason } => {
            let state = if *is_taken { TaskState::Taken } else { TaskState::Open };
            enter(task, state, *by, reason, at);
            returned(task, *agent, *is_taken);
        }
        TaskEvent::Reopened { by, queue, reason } => {
            enter(task, TaskState::Open, *by, reason, at);
            moved(task, queue);
            task.rounds = 0;
        }
        TaskEvent::Split { by, into } => {
            enter(task, TaskState::Split, *by, "", at);
            task.parts.clone_from(into);
            task.open_loop = None;
        }
        TaskEvent::PartAdded { part } => task.added_parts.push(*part),
        TaskEvent::Dropped { by, reason } => {
            enter(task, TaskState::Dropped, *by, reason, at);
            task.open_loop = None;
        }
        TaskEvent::Left { agent, name, queue, to, again_at, .. } => {
            let (from, name, to, again_at) = (*agent, name.clone(), to.clone(), *again_at);
            left(task, queue, OpenLoop { from, name, to, raised: 1, at, again_at });
        }
        TaskEvent::Raised { to, again_at, .. } => raised(task, to, at, *again_at),
    }
}

fn taken(
    task: &mut Task,
    agent: AgentId,
    (spent, session): (Option<u64>, Option<SessionNumber>),
    at: Time,
) {
    task.worker = Some(agent);
    task.spent.since = spent;
    task.open_loop = None;
    if let Some(number) = session {
        task.sessions.count(SessionId { agent, number }, None, at);
    }
}

/// Whether an agent is on the task from this event on, or no longer; nothing where the event changes neither.
pub fn is_begun_by(event: &TaskEvent, agent: AgentId) -> Option<bool> {
    match event {
        TaskEvent::Taken { agent: by, .. } => Some(*by == agent),
        TaskEvent::Returned { agent: by, is_taken, .. } => Some(*is_taken && *by == agent),
        TaskEvent::Queued { .. }
        | TaskEvent::Blocked { .. }
        | TaskEvent::Verified { .. }
        | TaskEvent::Reopened { .. }
        | TaskEvent::Split { .. }
        | TaskEvent::Dropped { .. }
        | TaskEvent::Left { .. } => Some(false),
        // While its check runs its worker is still on it.
        TaskEvent::Counted { .. }
        | TaskEvent::Claimed { .. }
        | TaskEvent::CheckWanted { .. }
        | TaskEvent::CheckEnded { .. }
        | TaskEvent::Added { .. }
        | TaskEvent::PartAdded { .. }
        | TaskEvent::Noted { .. }
        | TaskEvent::Stepped { .. }
        | TaskEvent::Continued { .. }
        | TaskEvent::Raised { .. } => None,
    }
}

/// Whoever had it has it no longer, unless it lies on their own queue. What lies on nobody's is as open a loop as before.
fn moved(task: &mut Task, queue: &Queue) {
    task.queue = queue.clone();
    task.worker = task.worker.filter(|worker| queue.agent() == Some(*worker));
    task.open_loop = task.open_loop.take().filter(|_| *queue == Queue::Nobody);
}

fn checked(task: &mut Task, result: CheckResult) {
    task.state = TaskState::Claimed(Awaiting::Word);
    task.since = result.at;
    task.last_check = Some(Box::new(result));
}

fn raised(task: &mut Task, to: &Mailbox, at: Time, again_at: Option<Time>) {
    if let Some(it) = &mut task.open_loop {
        let (to, raised) = (to.clone(), it.raised + 1);
        **it = OpenLoop { to, raised, at, again_at, ..(**it).clone() };
    }
}

/// Of what lies on its queue an agent may say that it is done without having taken it.
fn claimed(task: &mut Task, by: Sender, spent: Option<u64>) {
    task.worker = by.agent().or(task.worker);
    spend(task, spent);
}

/// What the worker spent on it since it went to work. If nobody has counted yet, the next count has it.
fn spend(task: &mut Task, spent: Option<u64>) {
    if let (Some(since), Some(now)) = (task.spent.since, spent) {
        counted(task, now, now.saturating_sub(since));
    }
    task.spent.since = spent.or(task.spent.since);
}

fn counted(task: &mut Task, spent: u64, added: u64) {
    let before = task.spent.tokens.unwrap_or_default();
    task.spent.tokens = Some(before.saturating_add(added));
    task.spent.since = Some(spent);
}

fn returned(task: &mut Task, agent: AgentId, is_taken: bool) {
    task.worker = Some(agent);
    if !is_taken {
        task.queue = Queue::Agent(agent);
    }
    task.rounds += 1;
}

/// A claim and a blocked task stay what they are.
fn left(task: &mut Task, queue: &Queue, open_loop: OpenLoop) {
    if matches!(task.state, TaskState::Open | TaskState::Taken) {
        enter(task, TaskState::Open, Sender::Perennial, "", open_loop.at);
    }
    task.queue = queue.clone();
    task.open_loop = Some(Box::new(open_loop));
}

fn enter(task: &mut Task, state: TaskState, by: Sender, reason: &str, at: Time) {
    task.state = state;
    task.by = by;
    task.since = at;
    reason.clone_into(&mut task.reason);
}

fn noted(task: &mut Task, by: Sender, text: &Text) {
    task.notes += 1;
    // The next session is told it: only what a person, its worker or whoever added it wrote takes that place.
    let is_heeded = match by {
        Sender::Person => true,
        Sender::Agent(agent) => task.assignee() == Some(agent) || task.added_by == by,
        Sender::Perennial => false,
    };
    if is_heeded {
        task.last_note = Some(Box::new((by, text.clone())));
    }
}

fn stepped(task: &mut Task, step: u32, text: Option<&str>, is_done: bool) {
    let steps = &mut task.brief.steps;
    match (steps.get_mut((step as usize).wrapping_sub(1)), text) {
        (Some(known), None) => known.is_done = is_done,
        (Some(_) | None, Some(text)) => steps.push(Step { text: text.to_owned(), is_done }),
        (None, None) => {}
    }
}
