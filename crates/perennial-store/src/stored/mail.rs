//! Mail as it is stored: in events, and in the row of its message.

use perennial_core::id::MessageId;
use perennial_core::message::{Mail, MailKind, Mailbox, Priority, Recipient, Sender};
use perennial_core::name::{Name, NameKey};
use serde::{Deserialize, Serialize};

use super::malformed;
use super::part::{self, StoredText};
use super::word::Worded;
use crate::record::Damage;

const OPERATOR: &str = "operator";
const ROLE: &str = "role:";
const PERSON: &str = "person";
const PERENNIAL: &str = "perennial";

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredMail {
    thread: String,
    subject: String,
    priority: Worded<Priority>,
    text: StoredText,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    excerpt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sender_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eldest_ancestor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recipient: Option<StoredRecipient>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_copy: bool,
    /// Of a mail that came back: the name of who was buried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    returned_to: Option<String>,
    /// Of Perennial's own letter about a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// Of Perennial's own letter about the handoff of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handoff_of: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredRecipient {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl From<&Recipient> for StoredRecipient {
    fn from(Recipient { id, name }: &Recipient) -> StoredRecipient {
        StoredRecipient { id: id.to_string(), name: name.as_ref().map(Name::to_string) }
    }
}

impl TryFrom<StoredRecipient> for Recipient {
    type Error = Damage;

    fn try_from(stored: StoredRecipient) -> Result<Recipient, Damage> {
        let name = stored.name.map(|name| name.parse()).transpose();
        let name = name.map_err(|error| malformed(&error))?;
        Ok(Recipient { id: part::agent(&stored.id)?, name })
    }
}

impl From<&Mail> for StoredMail {
    fn from(mail: &Mail) -> StoredMail {
        let Mail { thread, subject, priority, text, excerpt, sender_name, role, kind, .. } = mail;
        StoredMail {
            thread: thread.to_string(),
            subject: subject.clone(),
            priority: Worded(*priority),
            text: text.into(),
            excerpt: excerpt.clone(),
            sender_name: sender_name.as_ref().map(Name::to_string),
            eldest_ancestor: mail.eldest_ancestor.map(|id| id.to_string()),
            role: role.clone(),
            recipient: mail.recipient.as_ref().map(StoredRecipient::from),
            is_copy: mail.is_copy,
            returned_to: match kind {
                MailKind::Letter | MailKind::OfTask { .. } | MailKind::OfHandoff { .. } => None,
                MailKind::Returned { to } => Some(to.clone()),
            },
            task: match kind {
                MailKind::OfTask { task } => Some(task.to_string()),
                MailKind::Letter | MailKind::Returned { .. } | MailKind::OfHandoff { .. } => None,
            },
            handoff_of: match kind {
                MailKind::OfHandoff { agent } => Some(agent.to_string()),
                MailKind::Letter | MailKind::Returned { .. } | MailKind::OfTask { .. } => None,
            },
        }
    }
}

impl TryFrom<StoredMail> for Mail {
    type Error = Damage;

    fn try_from(stored: StoredMail) -> Result<Mail, Damage> {
        let thread: Result<MessageId, _> = stored.thread.parse();
        let name = stored.sender_name.map(|name| name.parse()).transpose();
        Ok(Mail {
            thread: thread.map_err(|error| malformed(&error))?,
            subject: stored.subject,
            priority: stored.priority.0,
            text: stored.text.try_into()?,
            excerpt: stored.excerpt,
            sender_name: name.map_err(|error| malformed(&error))?,
            eldest_ancestor: stored.eldest_ancestor.as_deref().map(part::agent).transpose()?,
            role: stored.role,
            recipient: stored.recipient.map(Recipient::try_from).transpose()?,
            is_copy: stored.is_copy,
            kind: match (stored.returned_to, stored.task, stored.handoff_of) {
                (None, None, None) => MailKind::Letter,
                (None, None, Some(agent)) => MailKind::OfHandoff { agent: part::agent(&agent)? },
                (Some(to), _, _) => MailKind::Returned { to },
                (None, Some(task), _) => {
                    let task = task.parse().map_err(|error| malformed(&error))?;
                    MailKind::OfTask { task }
                }
            },
        })
    }
}

/// An agent's id, `role:NAME` or `operator`.
pub(crate) fn mailbox(text: &str) -> Result<Mailbox, Damage> {
    match text.strip_prefix(ROLE) {
        Some(role) => Ok(Mailbox::Role(NameKey::of(role))),
        None if text == OPERATOR => Ok(Mailbox::Operator),
        None => part::agent(text).map(Mailbox::Agent),
    }
}

pub(crate) fn written_sender(sender: Sender) -> String {
    match sender {
        Sender::Person => PERSON.to_owned(),
        Sender::Perennial => PERENNIAL.to_owned(),
        Sender::Agent(id) => id.to_string(),
    }
}

pub(crate) fn sender(text: &str) -> Result<Sender, Damage> {
    match text {
        PERSON => Ok(Sender::Person),
        PERENNIAL => Ok(Sender::Perennial),
        id => part::agent(id).map(Sender::Agent),
    }
}

/// A mail for the row of its message.
pub(crate) fn written(mail: &Mail) -> String {
    // Plain strings and numbers: nothing that JSON can't say.
    serde_json::to_string(&StoredMail::from(mail)).expect("a mail is plain")
}

pub(crate) fn read(text: &str) -> Option<Mail> {
    serde_json::from_str::<StoredMail>(text).ok()?.try_into().ok()
}
