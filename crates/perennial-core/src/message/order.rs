//! The order in which texts are typed: which ones hold back those behind them. Changes nothing.
//!
//! An agent CLI queues what it gets in a turn, and at the turn's end takes what is typed just then before
//! what it has queued. Two texts keep their order only where the first is in the conversation before the
//! second is typed.

use std::time::Duration;

use super::{Message, MessageState, OfferProgress, PASSED_OVER_AFTER};
use crate::agent::Agent;
use crate::conversation::Turn;
use crate::fleet::Fleet;
use crate::id::{MessageId, SessionNumber};
use crate::reason::Reason;
use crate::state::State;
use crate::time::Time;

/// Only what happens to the other text ends the wait for it.
const NO_END: Time = Time(u64::MAX);

/// A text that the harness has, and that is neither seen nor given back though its session has been
/// idle for so long, holds back no others: its conversation can't be read.
const UNREADABLE_AFTER: Duration = PASSED_OVER_AFTER.saturating_mul(2);

/// Until when a text that waits is held back by others of its agent (T2, T3), and by which, if it is.
pub fn held_back(
    fleet: &Fleet,
    agent: &Agent,
    session: SessionNumber,
    message: &Message,
) -> Option<(Time, MessageId)> {
    let messages = fleet.messages();
    if let Some(first) = messages.waiting(agent.id).next().filter(|first| first.id != message.id) {
        return Some((NO_END, first.id));
    }
    let others = messages.offered(agent.id).filter(|other| other.is_by_typing());
    let until =
        |other: &Message| Some((holds_back_until(other, agent, session, message)?, other.id));
    others.filter_map(until).max()
}

/// When a text that is held back may go, though nothing happens to those before it.
pub fn freed_at(fleet: &Fleet, message: &Message) -> Option<Time> {
    let agent = fleet.agent(message.to.agent()?)?;
    let session = agent.live_session()?.number;
    let (until, _) = held_back(fleet, agent, session, message)?;
    Some(until).filter(|time| *time < NO_END)
}

/// Until when a text that is offered holds back one that waits.
fn holds_back_until(
    other: &Message,
    agent: &Agent,
    live: SessionNumber,
    message: &Message,
) -> Option<Time> {
    let MessageState::Offered { session, at, progress, .. } = other.state else { return None };
    let is_earlier = (other.recorded_at, other.id) < (message.recorded_at, message.id);
    if other.is_being_typed(live) {
        Some(NO_END)
    } else if !is_earlier {
        None
    } else if session < live {
        // Whether that session took it is not known yet.
        Some(NO_END)
    } else {
        let is_queued = progress == OfferProgress::Heard;
        let idle_at = at.max(agent.since);
        let idle_at = agent.session.as_ref().map_or(idle_at, |live| live.seen_since(idle_at));
        let freed_at = if is_in_turn(agent) { NO_END } else { idle_at + UNREADABLE_AFTER };
        is_queued.then_some(freed_at)
    }
}

/// Whether a turn runs. Work in the background that a turn began goes on after it; a turn that waits for
/// a rate limit goes on by itself, with what is queued in it.
pub fn is_in_turn(agent: &Agent) -> bool {
    match agent.state {
        // One that runs and was not heard since somebody looked is where it was when it was last heard.
        State::Working if agent.reason == Reason::Running => {
            agent.turn == Turn::Open && !agent.launch.is_bare()
        }
        State::Working => agent.reason != Reason::BackgroundTasks,
        State::Waiting => agent.reason == Reason::RateLimited,
        State::Hatching
        | State::Waking
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => false,
    }
}
