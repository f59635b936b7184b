//! An agent that asks to be buried: recorded at once, carried out when its turn has ended.
//!
//! It asks from within a turn, by a tool call that is to be answered. So the wish is an event, and the
//! burial follows from the state: at the end of the turn, or with the end of its session, however that
//! comes about.
//!
//! Invariants
//! - BU1  A burial that was asked for is carried out as soon as no turn of the agent is open, and never while
//!   one is.
//! - BU2  No session follows the one in which the agent asked, unless somebody gives it one: `restart` takes the
//!   wish back, and so does `wake` where its session has ended and a hold kept the burial waiting. An agent that lives
//!   is not woken.
//! - BU3  While a hold stands, nothing is carried out.

use super::Agent;
use super::becoming::Becoming;
use super::step::end_session;
use crate::conversation::Turn;
use crate::event::AgentEvent;
use crate::reason::{Evidence, Finding, Reason, Verb, Witness};
use crate::refusal::Refusal;
use crate::session::{Pace, Phase};
use crate::state::{Cause, Roster, State};
use crate::time::Time;

/// The agent wants to be buried, with these last words.
pub fn ask_for_burial(
    agent: &Agent,
    summary: Option<String>,
    now: Time,
) -> Result<Vec<AgentEvent>, Refusal> {
    if agent.state.roster() == Roster::Cemetery {
        let (agent, state) = (agent.id, agent.state);
        return Err(Refusal::WrongState { agent, verb: Verb::Bury, state });
    }
    let is_news = |summary: &String| agent.summary.as_ref() != Some(summary);
    let words = summary.filter(is_news).map(|summary| AgentEvent::Summarised { summary });
    let evidence =
        Evidence { witness: Witness::Agent(agent.id), fact: Finding::Asked(Verb::Bury), at: now };
    let asked = agent.burial.is_none().then_some(AgentEvent::BurialAsked { evidence });
    Ok(words.into_iter().chain(asked).collect())
}

/// Whether it asked for its burial and the time for that has come.
pub fn is_ripe(agent: &Agent) -> bool {
    // What only waits to start has no turn, and does not start after the wish (BU2).
    let has_session = agent.live_session().is_some_and(|live| live.phase != Phase::Wanted);
    let is_open = has_session && agent.turn != Turn::Over;
    // BU1: a session that has not begun, or can't be seen, may be in a turn.
    let may_be_open = match agent.state {
        State::Hatching | State::Waking | State::Working | State::Unknown | State::HandingOff => {
            has_session
        }
        State::Waiting
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => is_open,
    };
    // One that somebody froze stays frozen.
    let may_move = agent.state.roster() != Roster::Cemetery && agent.state != State::Frozen;
    agent.burial.is_some() && !may_be_open && may_move && agent.hold.is_none()
}

/// Carries the burial out, by the agent's own word.
pub fn carry_out(next: &mut Becoming<'_>) {
    let Some(evidence) = next.agent().burial.clone() else { return };
    next.moves(Cause::Buried, Reason::Retired, evidence, None);
    end_session(next, Pace::Graceful);
}
