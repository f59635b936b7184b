//! Tasks as clients see them, and what happened to one as a sentence. Changes nothing.

use perennial_api::task as wire;
use perennial_core::authority::Caller;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::job::JobEnd;
use perennial_core::message::{Mailbox, Sender};
use perennial_core::task::{
    self, Awaiting, BlockedOn, CheckSpec, Estimate, Queue, Task, TaskEvent, TaskSession, TaskState,
    Verifier,
};

use crate::daemon::showing::view;
use crate::daemon::time;

/// An agent's name, or its id if it has left memory.
fn name(fleet: &Fleet, id: AgentId) -> String {
    fleet.agent(id).map_or_else(|| id.to_string(), view::name)
}

pub fn sender(fleet: &Fleet, sender: Sender) -> String {
    match sender {
        Sender::Person => "operator".to_owned(),
        Sender::Perennial => "perennial".to_owned(),
        Sender::Agent(id) => name(fleet, id),
    }
}

fn mailbox(fleet: &Fleet, to: &Mailbox) -> String {
    match to {
        Mailbox::Agent(id) => name(fleet, *id),
        Mailbox::Role(_) | Mailbox::Operator => to.to_string(),
    }
}

fn queue(fleet: &Fleet, queue: &Queue) -> Option<String> {
    match queue {
        Queue::Nobody => None,
        Queue::Agent(id) => Some(name(fleet, *id)),
        Queue::Role(role) => Some(format!("role:{role}")),
    }
}

/// A task without its text and notes.
pub fn task(fleet: &Fleet, task: &Task, caller: Caller) -> wire::Task {
    let brief = &task.brief;
    let step = |step: &task::Step| wire::TaskStep { text: step.text.clone(), done: step.is_done };
    let (estimate_tokens, estimate_steps) = estimate(brief.estimate);
    let (check, check_command) = check(brief.check.as_ref(), caller);
    wire::Task {
        id: task.id.to_string(),
        title: brief.title.clone(),
        state: task.state.word().to_owned(),
        reason: reason(fleet, task),
        by: by(fleet, task),
        since: time::rfc3339(task.since),
        assignee: assignee(fleet, task),
        assignee_state: assignee_state(fleet, task),
        agent_id: task.assignee().map(|id| id.to_string()),
        queue: queue(fleet, &task.queue),
        project: brief.project.clone(),
        steps: brief.steps.iter().map(step).collect(),
        steps_done: task.steps_done() as u64,
        depends_on: brief.dependencies.iter().map(ToString::to_string).collect(),
        waits_for: task::waits_for(fleet.tasks(), task).map(|id| id.to_string()).collect(),
        parent: brief.parent.map(|id| id.to_string()),
        parts: parts(task).map(|id| id.to_string()).collect(),
        part_states: Vec::new(),
        reopens: brief.reopens.map(|id| id.to_string()),
        estimate_tokens,
        estimate_steps,
        tokens: task.spent.tokens,
        exceeds_estimate: task::exceeds_estimate(task),
        reference: brief.reference.clone(),
        scope: brief.scope.clone(),
        check,
        check_command,
        sessions: u64::from(task.sessions.count),
        sessions_unplanned: u64::from(task.sessions.unplanned),
        last_sessions: task.sessions.last.iter().map(|one| session(fleet, one)).collect(),
        rounds: u64::from(task.rounds),
        rounds_max: u64::from(brief.rounds_max),
        verified_by: verified_by(&task.state),
        blocked_on: blocked_on(&task.state),
        last_check: task.last_check.as_ref().map(|check| wire::TaskCheck {
            check: check.check.as_ref().map(ToString::to_string),
            end: check.end.words(),
            passed: check.end == JobEnd::Code(0),
            output: check.output.clone(),
            at: time::rfc3339(check.at),
        }),
        open_loop: open_loop(fleet, task),
        notes: u64::from(task.notes),
        added_by: sender(fleet, task.added_by),
        added_at: time::rfc3339(task.added_at),
        text: None,
        last_notes: Vec::new(),
        last_words: Vec::new(),
    }
}

/// All parts of a task, those first that were added to it.
pub fn parts(task: &Task) -> impl Iterator<Item = TaskId> {
    task.added_parts.iter().chain(&task.parts).copied()
}

/// Who brought a task into its state.
fn by(fleet: &Fleet, task: &Task) -> String {
    match &task.state {
        TaskState::Verified(Verifier::Operator) => sender(fleet, Sender::Person),
        TaskState::Verified(Verifier::Parent(id)) => name(fleet, *id),
        TaskState::Verified(Verifier::Check(_) | Verifier::Trust(_) | Verifier::Parts)
        | TaskState::Open
        | TaskState::Taken
        | TaskState::Claimed(_)
        | TaskState::Blocked(_)
        | TaskState::Split
        | TaskState::Dropped => sender(fleet, task.by),
    }
}

/// Who has a task, or on whose queue it lies.
fn assignee(fleet: &Fleet, task: &Task) -> Option<String> {
    match &task.state {
        TaskState::Open => queue(fleet, &task.queue),
        TaskState::Taken
        | TaskState::Claimed(_)
        | TaskState::Blocked(_)
        | TaskState::Split
        | TaskState::Verified(_)
        | TaskState::Dropped => {
            task.worker.map(|id| name(fleet, id)).or_else(|| queue(fleet, &task.queue))
        }
    }
}

/// Whether anybody works on it depends on that.
fn assignee_state(fleet: &Fleet, task: &Task) -> Option<String> {
    let agent = match &task.state {
        TaskState::Open => task.queue.agent(),
        TaskState::Taken => task.worker,
        TaskState::Claimed(_)
        | TaskState::Blocked(_)
        | TaskState::Split
        | TaskState::Verified(_)
        | TaskState::Dropped => None,
    };
    Some(fleet.agent(agent?)?.state.word().to_owned())
}

fn session(fleet: &Fleet, session: &TaskSession) -> wire::TaskSession {
    wire::TaskSession {
        agent: name(fleet, session.session.agent),
        number: u64::from(session.session.number.0),
        why: session.why().to_owned(),
        planned: session.is_planned(),
        at: time::rfc3339(session.at),
    }
}

/// In tokens, or in steps.
fn estimate(estimate: Option<Estimate>) -> (Option<u64>, Option<u64>) {
    match estimate {
        Some(Estimate::Tokens(tokens)) => (Some(tokens), None),
        Some(Estimate::Steps(steps)) => (None, Some(steps)),
        None => (None, None),
    }
}

/// What verifies a task; a command is for persons.
fn check(check: Option<&CheckSpec>, caller: Caller) -> (Option<String>, Vec<String>) {
    match check {
        Some(CheckSpec::Named(name)) => (Some(name.to_string()), Vec::new()),
        Some(CheckSpec::Command { argv, .. }) => {
            let shown = if caller == Caller::Person { argv.clone() } else { Vec::new() };
            (Some("command".to_owned()), shown)
        }
        None => (None, Vec::new()),
    }
}

fn verified_by(state: &TaskState) -> Option<String> {
    match state {
        TaskState::Verified(by) => Some(by.word().to_owned()),
        TaskState::Open
        | TaskState::Taken
        | TaskState::Claimed(_)
        | TaskState::Blocked(_)
        | TaskState::Split
        | TaskState::Dropped => None,
    }
}

fn blocked_on(state: &TaskState) -> Option<String> {
    match state {
        TaskState::Blocked(on) => Some(on.word().to_owned()),
        TaskState::Open
        | TaskState::Taken
        | TaskState::Claimed(_)
        | TaskState::Split
        | TaskState::Verified(_)
        | TaskState::Dropped => None,
    }
}

fn open_loop(fleet: &Fleet, task: &Task) -> Option<wire::TaskLoop> {
    task.open_loop.as_ref().map(|it| wire::TaskLoop {
        from: it.name.as_ref().map_or_else(|| it.from.to_string(), ToString::to_string),
        to: mailbox(fleet, &it.to),
        raised: u64::from(it.raised),
        raised_at: time::rfc3339(it.at),
        next_at: task.raised_again_at().map(time::rfc3339),
    })
}

/// Why a task stands where it stands, in a sentence.
fn reason(fleet: &Fleet, task: &Task) -> String {
    let said = |words: &str| match task.reason.trim() {
        "" => words.to_owned(),
        reason => format!("{words}: {reason}"),
    };
    match &task.state {
        TaskState::Open => match task::waits_for(fleet.tasks(), task).next() {
            Some(on) => format!("waits for {on}"),
            None => said(&open(task)),
        },
        TaskState::Taken if task.rounds > 0 => said(&given_back(task)),
        TaskState::Taken => "in progress".to_owned(),
        TaskState::Claimed(Awaiting::Check { check, .. }) => match check {
            Some(check) => format!("claimed done; check {check} is running"),
            None => "claimed done; its check is running".to_owned(),
        },
        TaskState::Claimed(Awaiting::Word) => said("claimed done; waiting to be verified"),
        TaskState::Blocked(BlockedOn::Work) => said("blocked"),
        TaskState::Blocked(BlockedOn::Outside) => said("blocked on outside input"),
        TaskState::Blocked(BlockedOn::Rounds) => said("given back too often"),
        TaskState::Split => {
            let parts: Vec<String> = task.parts.iter().map(ToString::to_string).collect();
            format!("split into {}", parts.join(", "))
        }
        TaskState::Verified(by) => match by {
            Verifier::Check(Some(check)) => format!("verified by check {check}"),
            Verifier::Check(None) => "verified by its check".to_owned(),
            Verifier::Parent(id) => format!("verified by {}", name(fleet, *id)),
            Verifier::Operator => "verified by the operator".to_owned(),
            Verifier::Trust(role) => format!("verified by policy: role {role} is trusted"),
            Verifier::Parts => "verified by its parts".to_owned(),
        },
        TaskState::Dropped => said("dropped"),
    }
}

fn given_back(task: &Task) -> String {
    format!("given back (round {} of {})", task.rounds, task.brief.rounds_max)
}

/// How a task that lies on a queue came there.
fn open(task: &Task) -> String {
    let was_taken = task.worker.is_some() || task.sessions.count > 0;
    match (task.rounds, was_taken, task.reason.trim()) {
        (1.., ..) => given_back(task),
        (0, true, "") => match task.queue {
            Queue::Nobody => "given back, on no queue".to_owned(),
            Queue::Agent(_) | Queue::Role(_) => "back on its queue".to_owned(),
        },
        (0, _, "") => "not started".to_owned(),
        (0, ..) => "reopened".to_owned(),
    }
}

/// What somebody said when they changed a task's state, and how that change is called.
pub fn said(event: &TaskEvent) -> Option<(Sender, &'static str, &str)> {
    match event {
        TaskEvent::Blocked { by, reason, .. } => Some((*by, "blocked", reason)),
        TaskEvent::Claimed { by, reason, .. } => Some((*by, "claimed", reason)),
        TaskEvent::Returned { by, reason, .. } => Some((*by, "given back", reason)),
        TaskEvent::Reopened { by: Sender::Perennial, reason, .. } => {
            Some((Sender::Perennial, "given back", reason))
        }
        TaskEvent::Reopened { by, reason, .. } => Some((*by, "reopened", reason)),
        TaskEvent::Dropped { by, reason } => Some((*by, "dropped", reason)),
        TaskEvent::Added { .. }
        | TaskEvent::Queued { .. }
        | TaskEvent::Taken { .. }
        | TaskEvent::Noted { .. }
        | TaskEvent::Stepped { .. }
        | TaskEvent::CheckWanted { .. }
        | TaskEvent::CheckEnded { .. }
        | TaskEvent::Verified { .. }
        | TaskEvent::Split { .. }
        | TaskEvent::PartAdded { .. }
        | TaskEvent::Continued { .. }
        | TaskEvent::Counted { .. }
        | TaskEvent::Left { .. }
        | TaskEvent::Raised { .. } => None,
    }
}

/// An event of a task as one sentence. Nothing in it is somebody's words.
pub fn sentence(id: TaskId, event: &TaskEvent) -> String {
    let by = |sender: &Sender| match sender {
        Sender::Person => "the operator".to_owned(),
        Sender::Perennial => "Perennial".to_owned(),
        Sender::Agent(id) => id.to_string(),
    };
    match event {
        TaskEvent::Added { by: who, .. } => format!("task {id} added by {}", by(who)),
        TaskEvent::Queued { queue: Queue::Nobody, .. } => format!("task {id} returned to the pool"),
        TaskEvent::Queued { queue: Queue::Agent(to), .. } => format!("task {id} assigned to {to}"),
        TaskEvent::Queued { queue: Queue::Role(role), .. } => {
            format!("task {id} assigned to role {role}")
        }
        TaskEvent::Taken { agent, .. } => format!("task {id} taken by {agent}"),
        TaskEvent::Continued { agent, session, .. } => {
            format!("task {id} goes on in session {session} of {agent}")
        }
        TaskEvent::Noted { by: who, .. } => format!("note on task {id} by {}", by(who)),
        TaskEvent::Stepped { step, text: Some(_), .. } => format!("step {step} added to task {id}"),
        TaskEvent::Stepped { step, text: None, is_done: true, .. } => {
            format!("step {step} of task {id} done")
        }
        TaskEvent::Stepped { step, text: None, is_done: false, .. } => {
            format!("step {step} of task {id} not done")
        }
        TaskEvent::Blocked { on: BlockedOn::Work, .. } => format!("task {id} blocked"),
        TaskEvent::Blocked { on: BlockedOn::Outside, .. } => {
            format!("task {id} blocked on outside input")
        }
        TaskEvent::Blocked { on: BlockedOn::Rounds, .. } => {
            format!("task {id} blocked: given back too often")
        }
        TaskEvent::Counted { agent, added, .. } => {
            format!("{agent} spent {added} tokens on task {id} since the last count")
        }
        TaskEvent::Claimed { by: who, .. } => format!("task {id} claimed done by {}", by(who)),
        TaskEvent::CheckWanted { check: Some(check), .. } => {
            format!("check {check} of task {id} requested")
        }
        TaskEvent::CheckWanted { check: None, .. } => format!("check of task {id} requested"),
        TaskEvent::CheckEnded { end, .. } => format!("check of task {id} ended: {}", end.words()),
        TaskEvent::Verified { by, .. } => format!("task {id} verified ({})", by.word()),
        TaskEvent::Returned { agent, .. } => format!("task {id} returned to {agent}: not done"),
        TaskEvent::Reopened { by: Sender::Perennial, .. } => format!("task {id} given back"),
        TaskEvent::Reopened { by: who, .. } => format!("task {id} reopened by {}", by(who)),
        TaskEvent::Split { into, .. } => format!("task {id} split into {} parts", into.len()),
        TaskEvent::PartAdded { part } => format!("task {part} added as a part of task {id}"),
        TaskEvent::Dropped { by: who, .. } => format!("task {id} dropped by {}", by(who)),
        TaskEvent::Left { agent, to, .. } => {
            format!("task {id} left open by {agent}, who was buried; {to} told")
        }
        TaskEvent::Raised { to, .. } => format!("task {id} still open; {to} told again"),
    }
}
