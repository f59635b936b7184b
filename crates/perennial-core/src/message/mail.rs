//! Mail as it is recorded: a text with a subject, a thread and a priority, in somebody's mailbox.
//!
//! Changes nothing. The sender, its name and the moment are ours; subject and text are the sender's, and are
//! quoted wherever they are shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Content, Message, MessageState, Sender};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId, SessionNumber, TaskId};
use crate::name::{Name, NameKey};
use crate::text::Text;
use crate::time::Time;

/// Where a message waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mailbox {
    Agent(AgentId),
    /// Of a role that nobody holds: whoever takes it next gets what is in it.
    Role(NameKey),
    Operator,
}

impl Mailbox {
    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Mailbox::Agent(id) => Some(*id),
            Mailbox::Role(_) | Mailbox::Operator => None,
        }
    }
}

impl Sender {
    pub fn agent(self) -> Option<AgentId> {
        match self {
            Sender::Agent(id) => Some(id),
            Sender::Person | Sender::Perennial => None,
        }
    }
}

impl From<AgentId> for Mailbox {
    fn from(id: AgentId) -> Mailbox {
        Mailbox::Agent(id)
    }
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mailbox::Agent(id) => id.fmt(f),
            Mailbox::Role(key) => write!(f, "role:{key}"),
            Mailbox::Operator => f.write_str("operator"),
        }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => name.fmt(f),
            None => self.id.fmt(f),
        }
    }
}

/// How much a mail matters to its sender.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum Priority {
    /// It starts no turn and prolongs none.
    Low,
    #[default]
    Normal,
    High,
    Urgent,
}

impl Priority {
    pub const ALL: [Priority; 4] =
        [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent];

    pub fn word(self) -> &'static str {
        match self {
            Priority::Low => "low",
            Priority::Normal => "normal",
            Priority::High => "high",
            Priority::Urgent => "urgent",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// The first mail of its thread.
    pub thread: MessageId,
    pub subject: String,
    pub priority: Priority,
    pub text: Text,
    /// The beginning of the text, with its lines: what a prompt has of it.
    pub excerpt: String,
    /// The name that the sending agent had then.
    pub sender_name: Option<Name>,
    /// The eldest ancestor that it had then: all its descendants have one share of a mailbox.
    pub eldest_ancestor: Option<AgentId>,
    /// The role that it was addressed to, as the sender wrote it.
    pub role: Option<String>,
    /// The agent that it was written to, where it was not written to a role.
    pub recipient: Option<Recipient>,
    /// It was sent to several, of whom each has one.
    pub is_copy: bool,
    pub kind: MailKind,
}

/// An agent that a mail was written to, with the name that it had then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient {
    pub id: AgentId,
    pub name: Option<Name>,
}

impl Mail {
    /// Whom it was written to, if that is not who has it now.
    pub fn forwarded_from(&self, to: &Mailbox) -> Option<&Recipient> {
        self.recipient.as_ref().filter(|recipient| to.agent() != Some(recipient.id))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MailKind {
    Letter,
    /// Perennial's own: a mail that came back, because the agent of this name was buried.
    Returned {
        to: String,
    },
    /// Perennial's own, about a task: its excerpt is all of it.
    OfTask {
        task: TaskId,
    },
    /// Perennial's own, about the handoff of this agent: its excerpt is all of it.
    OfHandoff {
        agent: AgentId,
    },
}

/// One mail as a session is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub message: MessageId,
    pub from: Sender,
    pub recorded_at: Time,
    /// It was sent before the session began, while an earlier one ran or none did.
    pub is_older: bool,
    /// It was written to somebody else, of this name.
    pub forwarded_from: Option<String>,
    pub mail: Mail,
}

impl Message {
    pub fn mail(&self) -> Option<&Mail> {
        match &self.content {
            Content::Mail(mail) => Some(mail),
            Content::Typed { .. }
            | Content::Notice { .. }
            | Content::Reminder { .. }
            | Content::Round { .. }
            | Content::Handoff { .. } => None,
        }
    }

    /// Whether it is given by the ways of mail: mail and rounds, in their order, and what a session is asked that hands off.
    pub fn goes_as_mail(&self) -> bool {
        self.mail().is_some() || self.is_round() || self.is_handoff()
    }

    /// Whether it is mail that nobody has seen, and no session is being given it.
    pub fn is_waiting_mail(&self) -> bool {
        self.mail().is_some() && matches!(self.state, MessageState::Waiting { .. })
    }

    /// The mail as the session is told it that it is offered to.
    pub fn as_told(&self, fleet: &Fleet) -> Option<Unread> {
        let MessageState::Offered { session, .. } = self.state else { return None };
        let newest = fleet.agent(self.to.agent()?)?.session.as_ref()?;
        let is_next = session > SessionNumber::FIRST && session == newest.number;
        Some(Unread {
            message: self.id,
            from: self.from,
            recorded_at: self.recorded_at,
            is_older: is_next && self.recorded_at < newest.wanted_at,
            forwarded_from: self.mail()?.forwarded_from(&self.to).map(Recipient::to_string),
            mail: self.mail()?.clone(),
        })
    }
}
