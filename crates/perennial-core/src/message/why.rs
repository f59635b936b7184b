//! Why a message is not seen yet, and with that whether it may be offered now. Changes nothing.

use std::time::Duration;

use super::{Content, Held, Mailbox, Message, MessageState, OfferProgress, channel, order};
use crate::agent::Agent;
use crate::fleet::Fleet;
use crate::id::{MessageId, SessionNumber};
use crate::session::Phase;
use crate::state::State;
use crate::time::Time;

/// A typed text that is not in the conversation after this long is shown with a reason.
const UNSEEN_AFTER: Duration = Duration::from_secs(5);

/// Why a message is not seen yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A record of it can't be read.
    Unreadable,
    NoSession,
    Starting,
    /// Its session saves its work and ends: the next one gets the text.
    HandsOff,
    Dialog,
    TurnRuns,
    AgentHeld,
    /// The agent asked to be buried, and is when its turn ends: nothing reaches it any more.
    Burial,
    /// This one goes first.
    Earlier(MessageId),
    /// The agent's next tool call or prompt.
    Hook,
    /// Somebody who takes the role that it was addressed to.
    Vacant,
    /// Its recipient reads it when it likes: the operator, or a program without hooks.
    Reader,
    After(Held),
    /// It was typed a while ago, and the harness has not said that it has it.
    Unheard,
    /// The harness has had it for a while, and the conversation does not hold it.
    Unseen,
    /// Nothing is in its way.
    Due,
}

impl Why {
    /// Whether it was typed and should have been seen by now.
    pub fn is_overdue(self) -> bool {
        match self {
            Why::Unheard | Why::Unseen => true,
            Why::Unreadable
            | Why::NoSession
            | Why::Starting
            | Why::HandsOff
            | Why::Dialog
            | Why::TurnRuns
            | Why::AgentHeld
            | Why::Burial
            | Why::Earlier(_)
            | Why::Hook
            | Why::Vacant
            | Why::Reader
            | Why::After(_)
            | Why::Due => false,
        }
    }
}

pub fn why(fleet: &Fleet, message: &Message, now: Time) -> Why {
    if let MessageState::Offered { at, progress, .. } = message.state {
        return match progress {
            OfferProgress::Entered if at + UNSEEN_AFTER <= now => Why::Unheard,
            OfferProgress::Heard if at + UNSEEN_AFTER <= now => Why::Unseen,
            OfferProgress::Given | OfferProgress::Entered | OfferProgress::Heard => Why::Due,
        };
    }
    if message.is_unreadable() {
        return Why::Unreadable;
    }
    if let Some(held) = message.is_held_in_any(now) {
        return Why::After(held);
    }
    let agent = match &message.to {
        Mailbox::Agent(id) => fleet.agent(*id),
        Mailbox::Role(_) => return Why::Vacant,
        Mailbox::Operator => return Why::Reader,
    };
    let Some(agent) = agent else { return Why::NoSession };
    // A held agent gets no session either, so this is the reason.
    if agent.is_held() {
        return Why::AgentHeld;
    }
    // Whatever it is given would prolong the turn at whose end it is buried. A bare command has no turns, and may
    // wait for the text to end.
    let is_hint = matches!(message.content, Content::Notice { .. } | Content::Reminder { .. });
    if agent.burial.is_some() && !is_hint && !agent.launch.is_bare() {
        return Why::Burial;
    }
    let Some(session) = agent.live_session().filter(|live| live.phase == Phase::Running) else {
        let starts = agent.live_session().is_some_and(|live| live.phase < Phase::Running);
        return if starts { Why::Starting } else { Why::NoSession };
    };
    // T13
    if message.goes_as_mail() && agent.launch.is_bare() {
        return Why::Reader;
    }
    let after_turn = match &message.content {
        Content::Typed { after_turn, .. } => after_turn,
        Content::Handoff { number } => {
            return channel::of_handoff(fleet, agent, *number, message, now);
        }
        Content::Mail(_) | Content::Round { .. } => {
            return channel::of_mail(fleet, agent, session.number, message, now);
        }
        Content::Notice { .. } | Content::Reminder { .. } => return Why::Hook,
    };
    let held_back = order::held_back(fleet, agent, session.number, message);
    if let Some((_, earlier)) = held_back.filter(|(until, _)| *until > now) {
        return Why::Earlier(earlier);
    }
    let why = may_type(agent, *after_turn);
    let held = message.is_held_in(session.number, now).filter(|_| why == Why::Due);
    held.map_or(why, Why::After)
}

/// Whether the agent's state lets a text be typed.
pub(super) fn may_type(agent: &Agent, after_turn: bool) -> Why {
    match agent.state {
        State::Hatching | State::Waking => Why::Starting,
        State::Waiting if agent.reason.is_dialog() => Why::Dialog,
        State::Working | State::Waiting if after_turn && order::is_in_turn(agent) => Why::TurnRuns,
        State::Working | State::Waiting => Why::Due,
        State::HandingOff => Why::HandsOff,
        State::Unknown
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => Why::NoSession,
    }
}

impl Message {
    /// What is in its way in every session.
    pub(super) fn is_held_in_any(&self, now: Time) -> Option<Held> {
        match self.state {
            MessageState::Waiting { after: Some(why), until } if until > now => {
                (why.needs_person() && !why.is_of_session()).then_some(why)
            }
            MessageState::Waiting { .. } | MessageState::Offered { .. } => None,
        }
    }

    /// T8: whether the failure of its last attempt still matters in this session.
    pub(super) fn is_held_in(&self, session: SessionNumber, now: Time) -> Option<Held> {
        match self.state {
            MessageState::Waiting { after: Some(why), until } if until > now => {
                let is_over = why.is_of_session() && self.last_session != Some(session);
                (!is_over).then_some(why)
            }
            MessageState::Waiting { .. } | MessageState::Offered { .. } => None,
        }
    }
}
