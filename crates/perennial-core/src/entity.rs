//! The one key of everything that lives: streams, timers, effects, fences and decisions are named by
//! it.
//!
//! A life is added here first; `docs/design/0017-how-to-add-a-life.md` has the other places.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::conversation::ConversationId;
use crate::id::{AgentId, EscalationId, JobId, MessageId, NodeId, PostId, SignalId, TaskId};
use crate::name::NameKey;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// The daemons of one machine and home.
    Node(NodeId),
    Agent(AgentId),
    /// Who has a name: at most one agent outside the cemetery.
    Name(NameKey),
    /// Who may write a conversation: at most one agent.
    Conversation(ConversationId),
    Message(MessageId),
    Post(PostId),
    Job(JobId),
    /// A role, by its name.
    Role(NameKey),
    Signal(SignalId),
    Escalation(EscalationId),
    Task(TaskId),
}

impl Entity {
    /// A name or a conversation: what at most one agent has, and whose state follows from the
    /// agents.
    pub fn is_claim(&self) -> bool {
        matches!(self, Entity::Name(_) | Entity::Conversation(_))
    }

    /// Whether somebody keeps in memory how many events it has. Not of a claim, and not of a post
    /// or a signal: those are over with their first event.
    pub fn is_counted(&self) -> bool {
        match self {
            Entity::Node(_)
            | Entity::Agent(_)
            | Entity::Message(_)
            | Entity::Job(_)
            | Entity::Role(_)
            | Entity::Escalation(_)
            | Entity::Task(_) => true,
            Entity::Name(_) | Entity::Conversation(_) | Entity::Post(_) | Entity::Signal(_) => {
                false
            }
        }
    }

    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Entity::Agent(id) => Some(*id),
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Message(_)
            | Entity::Post(_)
            | Entity::Job(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Escalation(_)
            | Entity::Task(_) => None,
        }
    }

    pub fn message(&self) -> Option<MessageId> {
        match self {
            Entity::Message(id) => Some(*id),
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Agent(_)
            | Entity::Post(_)
            | Entity::Job(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Escalation(_)
            | Entity::Task(_) => None,
        }
    }
}

impl From<AgentId> for Entity {
    fn from(id: AgentId) -> Entity {
        Entity::Agent(id)
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entity::Node(id) => id.fmt(f),
            Entity::Agent(id) => id.fmt(f),
            Entity::Name(key) => write!(f, "name {key}"),
            Entity::Conversation(id) => write!(f, "conversation {id}"),
            Entity::Message(id) => id.fmt(f),
            Entity::Post(id) => id.fmt(f),
            Entity::Job(id) => id.fmt(f),
            Entity::Role(key) => write!(f, "role {key}"),
            Entity::Signal(id) => id.fmt(f),
            Entity::Escalation(id) => id.fmt(f),
            Entity::Task(id) => id.fmt(f),
        }
    }
}
