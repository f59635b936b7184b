//! The two steps that verbs and reports share: beginning the next session, ending the live one.

use super::{Agent, START_LIMIT};
use crate::event::{AgentEvent, Move};
use crate::exit::{Exit, UnknownExit};
use crate::reason::{Evidence, Reason};
use crate::restart::History;
use crate::session::{Pace, Phase};
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
        // The operator looked at it: what was futile before may be tried again.
        events.extend(begin(&Agent { history: History::default(), ..agent.clone() }));
    } else if is_over {
        events.extend(begin(agent));
    }
    events
}

pub fn begin(agent: &Agent) -> [AgentEvent; 2] {
    let number = agent.next_number();
    let opening = agent.next_opening(number);
    [AgentEvent::SessionWanted { number, opening }, AgentEvent::SessionStarting { number }]
}

pub fn end_session(agent: &Agent, pace: Pace) -> Option<AgentEvent> {
    let session = agent.live_session()?;
    match session.phase {
        // It never started: there is nothing to end but the wish.
        Phase::Wanted => Some(AgentEvent::SessionEnded {
            number: session.number,
            exit: Exit::Unknown(UnknownExit::NotStarted),
        }),
        Phase::Starting | Phase::Running => {
            Some(AgentEvent::SessionEnding { number: session.number, pace })
        }
        Phase::Ending(Pace::Graceful) if pace == Pace::AtOnce => {
            Some(AgentEvent::SessionEnding { number: session.number, pace })
        }
        Phase::Ending(_) | Phase::Ended => None,
    }
}
