//! The moves of rest: an agent's own part of `rest.rs`. Changes nothing.

use super::Agent;
use super::becoming::Becoming;
use super::step::{end_session, next_session};
use crate::conversation::Turn;
use crate::event::AgentEvent;
use crate::id::TaskId;
use crate::reason::{Evidence, Finding, Reason, Witness};
use crate::role::Span;
use crate::session::{Pace, Phase};
use crate::state::{Cause, State};
use crate::time::Time;

/// Whether a session of it runs, has nothing to do, and waits for nothing but the next text. A bare command shows no
/// turns, and is never known to be idle.
pub fn is_idle(agent: &Agent) -> bool {
    let runs = agent.live_session().is_some_and(|session| session.phase == Phase::Running);
    let waits = agent.state == State::Waiting && agent.reason == Reason::Idle;
    runs && waits && agent.turn == Turn::Over && !agent.launch.is_bare()
}

/// Its work is done: its session ends by the ordinary planned end.
pub fn completed_or_rested(agent: &Agent, span: Span, task: TaskId, now: Time) -> Vec<AgentEvent> {
    let fact = Finding::TaskVerified(task);
    let evidence = Evidence { witness: Witness::Daemon, fact, at: now };
    let mut next = Becoming::new(agent, now);
    let moves = match span {
        Span::Mortal => next.moves(Cause::Completed, Reason::Completed, evidence, None),
        Span::Persistent => next.moves(Cause::Rested, Reason::TaskDone, evidence, None),
    };
    if moves {
        end_session(&mut next, Pace::Graceful);
    }
    next.into_events()
}

/// It hibernates and is on a task.
pub fn woken_by_task(agent: &Agent, task: TaskId, now: Time) -> Vec<AgentEvent> {
    let fact = Finding::TaskGiven(task);
    let evidence = Evidence { witness: Witness::Daemon, fact, at: now };
    let mut next = Becoming::new(agent, now);
    next_session(&mut next, Cause::TaskQueued, evidence);
    next.into_events()
}
