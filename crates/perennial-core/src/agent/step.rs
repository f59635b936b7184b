//! The steps that verbs and reports share: beginning the next session, ending the live one.

use super::observe::counted;
use super::{Agent, START_LIMIT};
use crate::event::{AgentEvent, Move};
use crate::exit::{Exit, UnknownExit};
use crate::id::SessionNumber;
use crate::reason::{Evidence, Reason};
use crate::restart::{History, Tally};
use crate::session::{Pace, Phase, Session};
use crate::state::Cause;
use crate::time::Time;

/// Moves to `waking`. The session itself begins with it if nothing of the last one is left, which
/// the caller knows: the end being told may be one of the events before these.
pub fn next_session(
    agent: &Agent,
    cause: Cause,
    is_over: bool,
    evidence: Evidence,
    now: Time,
) -> Vec<AgentEvent> {
    let Some(moved) = agent.moved(cause, Reason::Starting, evidence) else {
        return Vec::new();
    };
    let mut events = vec![AgentEvent::Moved(Move { until: Some(now + START_LIMIT), ..moved })];
    if is_over && cause == Cause::Wake {
        // Whoever wakes it looked at it: what was futile before may be tried again.
        events.extend(begin(&Agent { history: History::default(), ..agent.clone() }));
    } else if is_over {
        events.extend(begin(agent));
    }
    events
}

/// The retry of a crashed agent in the line: it starts when its turn comes.
pub fn retry_in_line(agent: &Agent, evidence: Evidence) -> Vec<AgentEvent> {
    let Some(moved) = agent.moved(Cause::Retry, Reason::Starting, evidence) else {
        return Vec::new();
    };
    let [wanted, _] = begin(agent);
    vec![AgentEvent::Moved(moved), wanted]
}

pub fn begin(agent: &Agent) -> [AgentEvent; 2] {
    let number = agent.next_number();
    let opening = agent.next_opening(number);
    [AgentEvent::SessionWanted { number, opening }, starting(number)]
}

pub fn starting(number: SessionNumber) -> AgentEvent {
    AgentEvent::SessionStarting { number, limit: START_LIMIT }
}

pub fn session_ended(
    agent: &Agent,
    session: &Session,
    (exit, is_clean): (Exit, bool),
    now: Time,
) -> AgentEvent {
    let tally = Tally::Becomes(counted(agent, session, now).history);
    AgentEvent::SessionEnded { number: session.number, exit, is_clean, tally }
}

pub fn end_session(agent: &Agent, pace: Pace, now: Time) -> Option<AgentEvent> {
    let session = agent.live_session()?;
    let ending = AgentEvent::SessionEnding { number: session.number, pace };
    match session.phase {
        // What can't be read may have been its start.
        Phase::Wanted if agent.is_damaged() => Some(ending),
        // It never started: there is nothing to end but the wish.
        Phase::Wanted => {
            let exit = Exit::Unknown(UnknownExit::NotStarted);
            Some(session_ended(agent, session, (exit, false), now))
        }
        Phase::Starting | Phase::Running => Some(ending),
        Phase::Ending(Pace::Graceful) if pace == Pace::AtOnce => Some(ending),
        Phase::Ending(_) | Phase::Ended => None,
    }
}
