//! Rest: what becomes of an agent whose task is verified and that has nothing else to do; and how a task wakes one that
//! rests.
//!
//! Pure. When somebody rests follows from the agent, its tasks and what waits for it, as every deadline does; nothing
//! counts the time. Never ends a turn, and never touches an agent that was not given a task.
//!
//! Invariants
//! - RE1  An agent rests by a task of its that was verified, while it holds a role that somebody declared. In a mortal
//!   role it is dead then, completed; in a persistent one it hibernates. Without a role, in one that nobody declared, in a
//!   persistent one that asks for rounds, or without a task it waits; so does a bare command.
//! - RE2  Nobody rests who has a task that is not over, on whose queue one lies, or who was told of an open loop. Where its
//!   role's queue has a task of its project that it may begin, that one is next.
//! - RE3  Nobody rests in a turn. Its session has been idle for `REST_AFTER`, no text or mail waits for it or is on its
//!   way, nothing stands in its input line (the supervisor asks `hearing`), it is not held and has not asked for its burial.
//! - RE4  A person's word takes the rest back: a text, a prompt at its terminal, `wake`, `restart`, `stop`.
//! - RE5  A hibernating agent is woken by a task that it is on, and by nothing else that happens: not by mail, a round or a
//!   retry. One that somebody stopped sleeps, and no task wakes it.
//! - RE6  That it rests, and the letter that tells whoever answers for it, are one batch.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::{self, Agent};
use crate::event::{AgentEvent, Event, What};
use crate::fleet::Fleet;
use crate::id::{AgentId, TaskId};
use crate::message::{Content, Mailbox, MessageEvent, Sender};
use crate::observation::Sign;
use crate::role::{self, Span};
use crate::state::{Cause, State};
use crate::task;
use crate::time::Time;

/// An agent that may rest has to be idle for this long first: mail that is on its way, or a person's next word, comes first.
pub const REST_AFTER: Duration = Duration::from_secs(10);

/// The rest or the handoff of an agent in whose input line something stands is looked at again after this.
pub const LOOKED_AT_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// The verified task by which an agent may rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earned {
    pub task: TaskId,
    pub title: String,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestEvent {
    /// A task of its was verified.
    Earned { task: TaskId, title: String },
    /// Somebody has something else for it.
    TakenBack,
}

/// Folds one event.
pub fn evolve(agent: &mut Agent, event: &RestEvent, at: Time) {
    agent.rest = match event {
        RestEvent::Earned { task, title } => {
            Some(Box::new(Earned { task: *task, title: title.clone(), at }))
        }
        RestEvent::TakenBack => None,
    };
}

/// Whether a move for this cause ends what an agent has earned: it rests, or has another task or somebody's word.
pub fn is_over_by(cause: Cause) -> bool {
    match cause {
        Cause::Rested
        | Cause::Completed
        | Cause::TaskQueued
        | Cause::Wake
        | Cause::Restarted
        | Cause::Stop
        | Cause::Frozen
        | Cause::Approved
        | Cause::Reaped
        | Cause::Buried
        | Cause::GaveUp => true,
        Cause::Announced
        | Cause::StartLimit
        | Cause::DialogSeen
        | Cause::NeverNamed
        | Cause::TurnBegan
        | Cause::BackgroundWork
        | Cause::TurnEnded
        | Cause::ConfirmationLost
        | Cause::SeenWorking
        | Cause::SeenWaiting
        | Cause::EndedFinished
        | Cause::EndedRestartOff
        | Cause::EndedCrashed
        | Cause::EndedAgain
        | Cause::Retry
        | Cause::Unlisted
        | Cause::Listed
        | Cause::Unreported
        | Cause::HandoffAsked
        | Cause::HandedOff
        | Cause::RebootedBusy
        | Cause::RebootedIdle => false,
    }
}

/// RE1: what becomes of an agent whose work is done, by the role that it holds.
pub fn span(agent: &Agent) -> Option<Span> {
    role::held(agent)?;
    // Nothing shows when a bare command has a turn.
    let terms =
        Some(&agent.role_terms).filter(|terms| terms.is_declared && !agent.launch.is_bare())?;
    let has_rounds = terms.every.is_some_and(|every| !every.is_zero());
    match terms.span {
        // Its next round is work, and none would wake it.
        Span::Persistent if has_rounds => None,
        Span::Persistent | Span::Mortal => Some(terms.span),
    }
}

/// What an agent earns by a task of its that is verified.
pub fn earned(agent: &Agent, task: TaskId, title: &str) -> Option<What> {
    span(agent)?;
    let event = RestEvent::Earned { task, title: title.to_owned() };
    Some(What::Agent(agent.id, AgentEvent::Rest(Box::new(event))))
}

/// What comes about by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It hibernates, and is on this task.
    Wakes(TaskId),
    /// This task of its role's queue is next.
    Next(TaskId),
    Rests(Span),
}

/// What comes next for an agent by these rules, and when.
fn step(fleet: &Fleet, agent: &Agent) -> Option<(Step, Time)> {
    let may = agent.rest.is_some() || agent.state == State::Hibernating;
    if !may || agent.is_held() || agent.burial.is_some() {
        return None;
    }
    let current = fleet.tasks().current(agent.id).map(|task| task.id);
    if agent.state == State::Hibernating {
        let woken = current.map(Step::Wakes);
        let next = || task::next_of_role(fleet, agent).map(Step::Next);
        return woken.or_else(next).map(|step| (step, agent.since));
    }
    let earned = agent.rest.as_ref().filter(|_| agent::is_idle(agent))?;
    // RE2
    let has_work = fleet.tasks().of(agent.id).next().is_some() || fleet.tasks().has_told(agent.id);
    if has_work || fleet.messages().has_under_way(agent.id) {
        return None;
    }
    let span = span(agent)?;
    match task::next_of_role(fleet, agent) {
        Some(next) => Some((Step::Next(next), agent.since)),
        None => Some((Step::Rests(span), agent.since.max(earned.at) + REST_AFTER)),
    }
}

/// When an agent rests or is woken, if nothing changes.
pub fn due_at(fleet: &Fleet, agent: &Agent) -> Option<Time> {
    step(fleet, agent).map(|(_, at)| at)
}

/// The time came.
pub fn due(fleet: &Fleet, id: AgentId, now: Time) -> Vec<Event> {
    let Some(agent) = fleet.agent(id) else { return Vec::new() };
    let Some((step, _)) = step(fleet, agent).filter(|(_, at)| *at <= now) else {
        return Vec::new();
    };
    let of_agent = |events: Vec<AgentEvent>| -> Vec<What> {
        events.into_iter().map(|event| What::Agent(id, event)).collect()
    };
    let what = match (step, &agent.rest) {
        (Step::Wakes(task), _) => of_agent(agent::woken_by_task(agent, task, now)),
        (Step::Next(task), _) => task::given_next(fleet, id, task, now),
        (Step::Rests(span), Some(earned)) => {
            let mut rests = of_agent(agent::completed_or_rested(agent, span, earned.task, now));
            if !rests.is_empty() {
                rests.push(task::told_of_rest(fleet, agent, (earned, span), now));
            }
            rests
        }
        (Step::Rests(_), None) => Vec::new(),
    };
    what.into_iter().map(|what| Event { at: now, what }).collect()
}

/// RE4: what a text means for the rest of the agent that it is for.
pub fn recorded(fleet: &Fleet, event: &MessageEvent) -> Option<What> {
    let MessageEvent::Recorded { to: Mailbox::Agent(id), from, content } = event else {
        return None;
    };
    let is_word = *from == Sender::Person && matches!(content, Content::Typed { .. });
    let agent = fleet.agent(*id).filter(|agent| is_word && agent.rest.is_some())?;
    Some(taken_back(agent))
}

/// RE4: what a sign of its harness means for its rest. A turn that no text of ours began, a person began at its
/// terminal, or work that ran on in the background: either way the agent is not done.
pub fn shown(fleet: &Fleet, agent: &Agent, sign: &Sign) -> Option<What> {
    let begins = *sign == Sign::TurnBegan && agent.state == State::Waiting;
    let is_ours = || fleet.messages().has_under_way(agent.id);
    (begins && agent.rest.is_some() && !is_ours()).then(|| taken_back(agent))
}

fn taken_back(agent: &Agent) -> What {
    What::Agent(agent.id, AgentEvent::Rest(Box::new(RestEvent::TakenBack)))
}
