//! How far a message has come, as callers are told: by the last that is recorded of it, and by memory.
//!
//! Changes nothing. Whatever is not over is in memory, unless its first record could not be read.

use super::{Message, MessageState, OfferProgress, Why, why};
use crate::agent::{Agent, Confirmation, needs_operator};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId};
use crate::refusal::Refusal;
use crate::time::Time;

/// The last thing that happened to a message, as it is kept when the message has left memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageStep {
    Recorded,
    Offered,
    Entered,
    Held,
    Heard,
    Seen,
    Withdrawn,
    Returned,
}

impl MessageStep {
    /// Whether nothing more happens to the message.
    pub fn is_final(self) -> bool {
        match self {
            MessageStep::Seen | MessageStep::Withdrawn | MessageStep::Returned => true,
            MessageStep::Recorded
            | MessageStep::Offered
            | MessageStep::Entered
            | MessageStep::Held
            | MessageStep::Heard => false,
        }
    }

    /// Whether a message that is not over has come so far.
    pub fn is_of(self, state: MessageState) -> bool {
        let come = match state {
            MessageState::Waiting { .. } => None,
            MessageState::Offered { progress, .. } => Some(progress),
        };
        match self {
            MessageStep::Recorded | MessageStep::Held => come.is_none(),
            MessageStep::Offered => come == Some(OfferProgress::Given),
            MessageStep::Entered => come > Some(OfferProgress::Given),
            MessageStep::Heard => come == Some(OfferProgress::Heard),
            MessageStep::Seen | MessageStep::Withdrawn | MessageStep::Returned => false,
        }
    }
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Not offered yet, or given back.
    Waiting {
        why: Why,
        needs_person: bool,
    },
    /// A session is being given it, or has it; with the reason if it should have been seen by now.
    Offered {
        overdue: Option<Why>,
    },
    /// Typed to a bare command, which shows no more of it.
    Written,
    /// Its records can't be read, and nothing but the last step is known of it.
    Lost {
        step: MessageStep,
    },
    Seen,
    Withdrawn,
    /// Given back when its agent was buried.
    Returned,
}

impl Status {
    /// Whether nothing more happens to the message, unless a person withdraws it.
    pub fn is_final(self) -> bool {
        match self {
            // T7: it is never typed again.
            Status::Waiting { why, .. } => why == Why::Unreadable,
            Status::Offered { .. } => false,
            Status::Written
            | Status::Lost { .. }
            | Status::Seen
            | Status::Withdrawn
            | Status::Returned => true,
        }
    }
}

/// Where a message stands of which this was recorded last.
pub fn status(fleet: &Fleet, id: MessageId, step: MessageStep, now: Time) -> Status {
    let Some(message) = fleet.messages().get(id) else {
        return match step {
            MessageStep::Seen => Status::Seen,
            MessageStep::Withdrawn => Status::Withdrawn,
            MessageStep::Returned => Status::Returned,
            MessageStep::Entered => Status::Written,
            MessageStep::Recorded
            | MessageStep::Offered
            | MessageStep::Held
            | MessageStep::Heard => Status::Lost { step },
        };
    };
    let why = why(fleet, message, now);
    match message.state {
        MessageState::Waiting { .. } => {
            Status::Waiting { why, needs_person: message.needs_person() }
        }
        MessageState::Offered { .. } => {
            Status::Offered { overdue: why.is_overdue().then_some(why) }
        }
    }
}

/// Why a message that is not in memory can't be withdrawn.
pub fn not_withdrawn(message: MessageId, step: MessageStep) -> Refusal {
    match step {
        MessageStep::Seen
        | MessageStep::Withdrawn
        | MessageStep::Returned
        | MessageStep::Entered => Refusal::MessageOver { message, step },
        MessageStep::Recorded | MessageStep::Offered | MessageStep::Held | MessageStep::Heard => {
            Refusal::MessageLost { message }
        }
    }
}

impl Message {
    /// Whether it is a person's text, and not on its way.
    pub fn is_waiting_text(&self) -> bool {
        self.is_typed() && matches!(self.state, MessageState::Waiting { .. })
    }
}

impl Fleet {
    /// The texts of persons that wait, or were typed a while ago and are not seen, the oldest first.
    pub fn pending_texts(&self, agent: AgentId, now: Time) -> impl Iterator<Item = &Message> {
        self.messages().of(agent).filter(move |text| {
            let is_overdue = || why(self, text, now).is_overdue();
            text.is_waiting_text() || (text.is_typed() && is_overdue())
        })
    }

    /// Whether only the operator can get an agent on whose holder is heard like this, or a text to it.
    pub fn needs_operator(&self, agent: &Agent, confirmation: Confirmation) -> bool {
        let (state, reason) = agent.vouched(confirmation);
        needs_operator(state, reason) || self.messages().of(agent.id).any(Message::needs_person)
    }
}
