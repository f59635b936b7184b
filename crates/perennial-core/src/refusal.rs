//! How the core says no: data, not text. What a person reads is made of it at the edge.

use crate::authority::Caller;
use crate::conversation::ConversationId;
use crate::hold::HeldFor;
use crate::id::{AgentId, MessageId};
use crate::name::Name;
use crate::reason::Verb;
use crate::state::State;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NoSuchAgent {
        target: String,
    },
    NameTaken {
        name: Name,
        by: AgentId,
    },
    NotAllowed {
        caller: Caller,
        verb: Verb,
    },
    /// The verb makes no sense in this state.
    WrongState {
        agent: AgentId,
        verb: Verb,
        state: State,
    },
    /// Its session is alive: there is nothing to wake.
    Running {
        agent: AgentId,
    },
    /// Only an approval by the operator gets it out of this state.
    NeedsApproval {
        agent: AgentId,
    },
    /// It is held, and the caller can't lift that hold by this.
    Held {
        agent: AgentId,
        held_for: HeldFor,
    },
    /// A conversation has one writer.
    ConversationTaken {
        conversation: ConversationId,
        by: AgentId,
    },
    /// No such message waits.
    NoSuchMessage {
        message: MessageId,
    },
    /// A message has this id already.
    MessageExists {
        message: MessageId,
    },
    /// It can't be taken back: the session is getting it, or may have it in its input line.
    AlreadyOffered {
        message: MessageId,
    },
    /// The parent is in the cemetery.
    ParentGone {
        parent: AgentId,
    },
}
