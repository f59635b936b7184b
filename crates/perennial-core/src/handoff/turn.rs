//! How a handoff goes on by what is heard of its session and by the clock. Changes nothing.
//!
//! A session that hands off keeps its state; where its turn stands is kept beside that, so that it is told when it can be,
//! and ended when its turn is over.

use serde::{Deserialize, Serialize};

use super::{Answer, HandoffEvent, LINGER, QUIET, Stored};
use crate::agent::{Agent, Becoming, end_session};
use crate::conversation::Turn;
use crate::event::AgentEvent;
use crate::keeping;
use crate::observation::{Sign, Wait};
use crate::reason::Reason;
use crate::session::{Pace, Phase};
use crate::state::State;
use crate::time::Time;

/// Where the turn of a session stands that hands off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TurnStands {
    Idle,
    Runs,
    /// A dialog is in the way: keys would answer it.
    Asks,
}

impl TurnStands {
    pub const ALL: [TurnStands; 3] = [TurnStands::Idle, TurnStands::Runs, TurnStands::Asks];

    pub fn word(self) -> &'static str {
        match self {
            TurnStands::Idle => "idle",
            TurnStands::Runs => "runs",
            TurnStands::Asks => "asks",
        }
    }

    /// Where the turn of an agent stands that is about to hand off.
    pub fn of(agent: &Agent) -> TurnStands {
        match agent.state {
            State::Working if agent.reason == Reason::BackgroundTasks => TurnStands::Idle,
            State::Working => TurnStands::Runs,
            State::Waiting if agent.reason.is_dialog() => TurnStands::Asks,
            State::Waiting if agent.reason == Reason::RateLimited => TurnStands::Runs,
            State::Unknown if agent.turn == Turn::Open => TurnStands::Runs,
            State::Waiting
            | State::Unknown
            | State::Hatching
            | State::Waking
            | State::HandingOff
            | State::Crashed
            | State::Sleeping
            | State::Hibernating
            | State::Frozen
            | State::Dead
            | State::Expired => TurnStands::Idle,
        }
    }
}

/// What a sign says of the turn of a session that hands off.
fn stands_by(sign: &Sign) -> Option<TurnStands> {
    match sign {
        Sign::TurnBegan => Some(TurnStands::Runs),
        Sign::BackgroundWork | Sign::StillIdle => Some(TurnStands::Idle),
        Sign::Waits(wait) | Sign::VendorStatus { wait: Some(wait), .. } => Some(match wait {
            Wait::Permission | Wait::Answer => TurnStands::Asks,
            // The harness goes on by itself.
            Wait::RateLimit(_) => TurnStands::Runs,
            Wait::Input | Wait::LimitReached(_) | Wait::Failure | Wait::Refused | Wait::TooLong => {
                TurnStands::Idle
            }
        }),
        Sign::VendorStatus { wait: None, .. } => Some(TurnStands::Runs),
        Sign::Began { .. }
        | Sign::Progressed
        | Sign::Measured { .. }
        | Sign::WindowBegan
        | Sign::Drawn
        | Sign::Worked { .. }
        | Sign::Committed { .. }
        | Sign::LargeTurn { .. }
        | Sign::Symptom { .. }
        | Sign::Hangs => None,
    }
}

/// Takes note of a sign of a session that hands off.
pub(crate) fn shown(next: &mut Becoming<'_>, sign: &Sign) {
    let Some(handoff) = next.agent().handing_off() else { return };
    let is_older = match sign {
        Sign::VendorStatus { since, .. } => *since <= handoff.stands_since,
        Sign::Began { .. }
        | Sign::TurnBegan
        | Sign::BackgroundWork
        | Sign::StillIdle
        | Sign::Waits(_)
        | Sign::Progressed
        | Sign::Measured { .. }
        | Sign::WindowBegan
        | Sign::Drawn
        | Sign::Worked { .. }
        | Sign::Committed { .. }
        | Sign::LargeTurn { .. }
        | Sign::Symptom { .. }
        | Sign::Hangs => false,
    };
    let Some(stands) = stands_by(sign).filter(|it| *it != handoff.stands && !is_older) else {
        return;
    };
    next.emit(HandoffEvent::Turned { stands }.of_agent());
    come_due(next);
}

/// The agent has recorded a checkpoint: if it was asked to save its work, it has.
pub(crate) fn saved(agent: &Agent) -> Option<AgentEvent> {
    let awaited = agent.handing_off().filter(|handoff| handoff.answer.is_none());
    awaited.map(|_| {
        let (how, subject, notes) = (Answer::Checkpoint, None, None);
        HandoffEvent::Answered { how, subject, notes }.of_agent()
    })
}

/// When the session of a handoff is ended, or counts as having answered, if nothing else happens.
pub(crate) fn ends_at(agent: &Agent) -> Option<Time> {
    let handoff = agent.handing_off()?;
    let deadline = agent.until.unwrap_or(handoff.deadline);
    match agent.live_session()?.phase {
        Phase::Wanted | Phase::Starting | Phase::Running => {}
        Phase::Ending(_) | Phase::Ended => return None,
    }
    let at = match (handoff.answer, handoff.stands) {
        (Some((Answer::Ordered | Answer::Deaf, at)), _) => at,
        (Some(_), _) if handoff.overseer.is_some() => deadline,
        (Some((_, at)), TurnStands::Idle) => at.max(handoff.stands_since),
        (Some((_, at)), TurnStands::Runs | TurnStands::Asks) => at + LINGER,
        (None, TurnStands::Idle) => match handoff.told_at {
            Some(told) => told.max(handoff.stands_since) + QUIET,
            None => deadline,
        },
        (None, TurnStands::Runs | TurnStands::Asks) => deadline,
    };
    Some(at.min(deadline))
}

/// HA2: what the time brings to a session that hands off.
pub(crate) fn come_due(next: &mut Becoming<'_>) {
    let now = next.now();
    let is_due = |agent: &Agent| ends_at(agent).is_some_and(|at| at <= now);
    if !is_due(next.agent()) {
        return;
    }
    let agent = next.agent();
    let is_late = agent.until.is_some_and(|until| until <= now);
    if agent.handing_off().is_some_and(|handoff| handoff.answer.is_none()) {
        let how = if is_late { Answer::Deaf } else { Answer::TurnEnded };
        let (subject, notes) = (None, None);
        next.emit(HandoffEvent::Answered { how, subject, notes }.of_agent());
    }
    if is_due(next.agent()) {
        end_session(next, Pace::Graceful);
    }
}

/// HA3: that a handoff is complete, once the work of its session is stored. Where there is a work tree, its snapshot is
/// recorded by then, or recorded as missed; elsewhere the checkpoint is all that there can be.
pub(crate) fn completed(agent: &Agent) -> Option<AgentEvent> {
    let handoff = agent.handoff_to_complete()?;
    let own = agent.checkpoint.as_ref().filter(|head| head.session == handoff.number);
    let is_told = own.is_some_and(|head| head.at >= handoff.asked_at);
    if keeping::holds_back(agent) || !(is_told || keeping::has_work_to_keep(agent)) {
        return None;
    }
    let (snapshot, commit) = keeping::newest(agent);
    let stored = Stored { checkpoint: own.map(|head| head.number), snapshot, commit };
    Some(HandoffEvent::Completed { number: handoff.number, stored }.of_agent())
}
