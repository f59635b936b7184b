//! Messages as they are stored.

use std::time::Duration;

use perennial_core::context::Threshold;
use perennial_core::id::{MessageId, SessionNumber};
use perennial_core::message::{Channel, Content, DeliveryId, Held, MessageEvent, Withdrawer};
use perennial_core::text::Fingerprint;
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::mail::{self, StoredMail};
use super::malformed;
use super::part::{self, StoredSample, StoredText};
use super::word::Worded;
use crate::record::Damage;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] = &[
    ("message-recorded", 1),
    ("message-offered", 1),
    ("message-entered", 1),
    ("message-held", 1),
    ("message-heard", 1),
    ("message-blocked", 1),
    ("message-seen", 1),
    ("message-withdrawn", 1),
    ("message-returned", 1),
    ("message-forwarded", 1),
    ("message-read", 1),
];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored {
    Recorded {
        /// An agent's id, `role:NAME` or `operator`.
        to: String,
        /// `person`, `perennial` or an agent's id.
        from: String,
        content: StoredContent,
    },
    Offered {
        session: u32,
        attempt: u32,
        /// Absent where the clock was not behind.
        #[serde(default, skip_serializing_if = "is_zero")]
        behind_us: u64,
        /// Of mail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Worded<Channel>>,
        /// Of mail in a list, but for the first: that one's id and attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        list: Option<(String, u32)>,
    },
    Entered {
        attempt: u32,
        last: bool,
    },
    Held {
        attempt: u32,
        why: Worded<Held>,
        until: u64,
    },
    Heard {
        attempt: u32,
    },
    Blocked {
        attempt: u32,
        words: String,
    },
    Seen {
        session: u32,
    },
    Withdrawn {
        by: Worded<Withdrawer>,
    },
    Returned {},
    Forwarded {
        to: String,
    },
    Read {
        session: Option<u32>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredContent {
    Typed { text: StoredText, fingerprint: String, after_turn: bool },
    Notice { threshold: Worded<Threshold>, sample: StoredSample },
    Reminder { calls: u64, sample: Option<StoredSample> },
    Mail(Box<StoredMail>),
    Round { role: String, number: u64 },
    Handoff { number: u32 },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<&MessageEvent> for Stored {
    fn from(event: &MessageEvent) -> Stored {
        match event {
            MessageEvent::Recorded { to, from, content } => Stored::Recorded {
                to: to.to_string(),
                from: mail::written_sender(*from),
                content: content.into(),
            },
            MessageEvent::Offered { session, attempt, channel, with, behind } => Stored::Offered {
                session: session.0,
                attempt: *attempt,
                behind_us: u64::try_from(behind.as_micros()).unwrap_or(u64::MAX),
                by: channel.map(Worded),
                list: with.map(|list| (list.message.to_string(), list.attempt)),
            },
            MessageEvent::Entered { attempt, is_last } => {
                Stored::Entered { attempt: *attempt, last: *is_last }
            }
            MessageEvent::Held { attempt, why, until } => {
                Stored::Held { attempt: *attempt, why: Worded(*why), until: until.0 }
            }
            MessageEvent::Blocked { attempt, words } => {
                Stored::Blocked { attempt: *attempt, words: words.clone() }
            }
            MessageEvent::Heard { attempt } => Stored::Heard { attempt: *attempt },
            MessageEvent::Seen { session } => Stored::Seen { session: session.0 },
            MessageEvent::Withdrawn { by } => Stored::Withdrawn { by: Worded(*by) },
            MessageEvent::Returned => Stored::Returned {},
            MessageEvent::Forwarded { to } => Stored::Forwarded { to: to.to_string() },
            MessageEvent::Read { session } => {
                Stored::Read { session: session.map(|number| number.0) }
            }
        }
    }
}

impl TryFrom<Stored> for MessageEvent {
    type Error = Damage;

    fn try_from(stored: Stored) -> Result<MessageEvent, Damage> {
        Ok(match stored {
            Stored::Recorded { to, from, content } => MessageEvent::Recorded {
                to: mail::mailbox(&to)?,
                from: mail::sender(&from)?,
                content: content.try_into()?,
            },
            Stored::Offered { session, attempt, behind_us, by, list } => MessageEvent::Offered {
                session: SessionNumber(session),
                attempt,
                channel: by.map(|by| by.0),
                with: list.map(delivery).transpose()?,
                behind: Duration::from_micros(behind_us),
            },
            Stored::Entered { attempt, last } => MessageEvent::Entered { attempt, is_last: last },
            Stored::Held { attempt, why, until } => {
                MessageEvent::Held { attempt, why: why.0, until: Time(until) }
            }
            Stored::Blocked { attempt, words } => MessageEvent::Blocked { attempt, words },
            Stored::Heard { attempt } => MessageEvent::Heard { attempt },
            Stored::Seen { session } => MessageEvent::Seen { session: SessionNumber(session) },
            Stored::Withdrawn { by } => MessageEvent::Withdrawn { by: by.0 },
            Stored::Returned {} => MessageEvent::Returned,
            Stored::Forwarded { to } => MessageEvent::Forwarded { to: mail::mailbox(&to)? },
            Stored::Read { session } => MessageEvent::Read { session: session.map(SessionNumber) },
        })
    }
}

fn delivery((message, attempt): (String, u32)) -> Result<DeliveryId, Damage> {
    let message: Result<MessageId, _> = message.parse();
    Ok(DeliveryId { message: message.map_err(|error| malformed(&error))?, attempt })
}

impl From<&Content> for StoredContent {
    fn from(content: &Content) -> StoredContent {
        match content {
            Content::Typed { text, fingerprint, after_turn } => StoredContent::Typed {
                text: (&**text).into(),
                fingerprint: fingerprint.to_string(),
                after_turn: *after_turn,
            },
            Content::Notice { threshold, sample } => {
                StoredContent::Notice { threshold: Worded(*threshold), sample: sample.into() }
            }
            Content::Reminder { calls, sample } => {
                let sample = sample.as_ref().map(StoredSample::from);
                StoredContent::Reminder { calls: *calls, sample }
            }
            Content::Mail(mail) => StoredContent::Mail(Box::new((&**mail).into())),
            Content::Round { role, number } => {
                StoredContent::Round { role: role.clone(), number: *number }
            }
            Content::Handoff { number } => StoredContent::Handoff { number: number.0 },
        }
    }
}

impl TryFrom<StoredContent> for Content {
    type Error = Damage;

    fn try_from(stored: StoredContent) -> Result<Content, Damage> {
        Ok(match stored {
            StoredContent::Typed { text, fingerprint, after_turn } => Content::Typed {
                text: Box::new(text.try_into()?),
                fingerprint: Fingerprint(part::hex(&fingerprint)?),
                after_turn,
            },
            StoredContent::Notice { threshold, sample } => {
                Content::Notice { threshold: threshold.0, sample: sample.into() }
            }
            StoredContent::Reminder { calls, sample } => {
                Content::Reminder { calls, sample: sample.map(Into::into) }
            }
            StoredContent::Mail(mail) => Content::Mail(Box::new((*mail).try_into()?)),
            StoredContent::Round { role, number } => {
                Content::Round { role: part::name(&role)?.as_str().to_owned(), number }
            }
            StoredContent::Handoff { number } => Content::Handoff { number: SessionNumber(number) },
        })
    }
}
