//! Mail as clients see it.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// A mail's subject is one line of at most this many bytes.
pub const SUBJECT_LIMIT: usize = 200;
pub const TEXT_LIMIT: usize = 64 << 10;

/// One mail in a mailbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Mail {
    pub id: String,
    /// The id of the first mail of its thread.
    pub thread: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// Who sent it: an agent's name when it did, `operator` or `perennial`.
    pub from: String,
    /// The sending agent's id.
    pub from_id: Option<String>,
    /// In whose mailbox it is: an agent's name, `role:NAME` or `operator`.
    pub to: String,
    /// The role that it was addressed to.
    pub role: Option<String>,
    /// Of a forwarded mail: the agent that it was written to.
    pub forwarded_from: Option<String>,
    /// Of a mail that came back: who was buried before reading it.
    pub returned_to: Option<String>,
    pub subject: String,
    /// `low`, `normal`, `high` or `urgent`.
    pub priority: String,
    /// `waiting`, `offered`, `seen`, `withdrawn` or `returned`.
    pub state: String,
    /// Nobody has seen it yet.
    pub unread: bool,
    /// What it waits for.
    pub why: Option<String>,
    /// The session that it was last offered to.
    pub session: Option<u64>,
    /// The beginning of the text, on one line.
    pub head: String,
    /// How long the text is.
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `GET /v1/mail`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MailList {
    /// How many mails in the mailbox are unread.
    pub unread: u64,
    /// There are older ones beyond the limit; `before` asks for them.
    pub has_older: bool,
    /// Newest first.
    pub mails: Vec<Mail>,
}
