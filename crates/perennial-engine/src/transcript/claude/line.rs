//! One line as it is written: borrowed, and as much of it as anybody asks for.
//!
//! Never stricter than needed: fields of ours are typed, everything else is skipped unread.

use std::borrow::Cow;
use std::fmt;

use perennial_core::time::Time;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use crate::transcript::step::{Excerpt, ID_BYTES};

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Name<'a>,
    #[serde(borrow)]
    pub subtype: Option<Name<'a>>,
    #[serde(borrow)]
    pub uuid: Option<Name<'a>>,
    #[serde(borrow)]
    pub parent_uuid: Option<Name<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Name<'a>>,
    #[serde(borrow)]
    pub session_id: Option<Name<'a>>,
    #[serde(borrow)]
    pub request_id: Option<Name<'a>>,
    pub is_sidechain: Option<bool>,
    pub is_meta: Option<bool>,
    pub is_compact_summary: Option<bool>,
    pub is_api_error_message: Option<bool>,
    pub api_error_status: Option<u16>,
    pub retry_in_ms: Option<f64>,
    /// A word on assistant lines, an object on system lines.
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    /// On rate limits: when they end.
    #[serde(borrow)]
    pub quota_limits: Option<&'a RawValue>,
    #[serde(borrow)]
    pub attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    pub compact_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    /// Of a system line: anything.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    /// What became of a prompt, where that was nothing.
    #[serde(borrow)]
    pub prompt_submit_ending: Option<&'a RawValue>,
}

#[derive(Debug, serde::Deserialize)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub id: Option<Name<'a>>,
    #[serde(borrow)]
    pub model: Option<Name<'a>>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

/// Any content block: which fields there are depends on the kind.
#[derive(Debug, serde::Deserialize)]
pub struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Name<'a>,
    #[serde(borrow)]
    pub text: Option<Prose<'a>>,
    #[serde(borrow)]
    pub id: Option<Name<'a>>,
    #[serde(borrow)]
    pub name: Option<Name<'a>>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_id: Option<Name<'a>>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    pub is_error: Option<bool>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactMetadata<'a> {
    #[serde(borrow)]
    pub trigger: Option<Name<'a>>,
    pub pre_tokens: Option<u64>,
    pub post_tokens: Option<u64>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaLimits {
    /// In seconds since 1970.
    pub resets_at: Option<f64>,
}

#[derive(Debug, serde::Deserialize)]
pub struct PromptEnding<'a> {
    #[serde(borrow)]
    pub ending: Ending<'a>,
}

#[derive(Debug, serde::Deserialize)]
pub struct Ending<'a> {
    #[serde(borrow)]
    pub kind: Name<'a>,
    #[serde(borrow)]
    pub reason: Option<Prose<'a>>,
}

/// What the CLI adds to a prompt; also a prompt that was typed during a turn.
#[derive(Debug, serde::Deserialize)]
pub struct Attachment<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Name<'a>,
    #[serde(borrow)]
    pub prompt: Option<&'a RawValue>,
    /// What a hook said.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(rename = "isMeta")]
    pub is_meta: Option<bool>,
}

/// What the API said, on system lines.
#[derive(Debug, serde::Deserialize)]
pub struct ApiError<'a> {
    /// Missing where no answer came.
    pub status: Option<u16>,
    #[serde(borrow)]
    pub formatted: Option<Prose<'a>>,
}

/// A word or an id: short, and valid text.
#[derive(Debug)]
pub struct Name<'a>(Cow<'a, str>);

impl Name<'_> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Short;

        impl<'de> Visitor<'de> for Short {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a text of up to {ID_BYTES} bytes")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                let is_short = text.len() <= ID_BYTES;
                is_short
                    .then_some(Name(Cow::Borrowed(text)))
                    .ok_or_else(|| E::invalid_length(text.len(), &self))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                let is_short = text.len() <= ID_BYTES;
                is_short
                    .then(|| Name(Cow::Owned(text.to_owned())))
                    .ok_or_else(|| E::invalid_length(text.len(), &self))
            }
        }

        deserializer.deserialize_str(Short)
    }
}

/// Text of any length, in which half a character is no error: as bytes it may hold lone
/// surrogates.
#[derive(Debug)]
pub struct Prose<'a>(Cow<'a, [u8]>);

impl Prose<'_> {
    pub fn excerpt(&self) -> Excerpt {
        Excerpt::of(&self.text())
    }

    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Prose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl<'de> Visitor<'de> for Bytes {
            type Value = Prose<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Prose<'de>, E> {
                Ok(Prose(Cow::Borrowed(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Prose<'de>, E> {
                Ok(Prose(Cow::Owned(bytes.to_owned())))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

/// The kind alone, of a line whose fields are not what they should be.
pub fn kind(line: &[u8]) -> Option<Name<'_>> {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Name<'a>,
    }
    serde_json::from_slice::<Kind<'_>>(line).ok().map(|line| line.kind)
}

/// A time as the CLI writes it; `None` for what is none.
pub fn time(timestamp: Option<&Name<'_>>) -> Option<Time> {
    let timestamp: jiff::Timestamp = timestamp?.as_str().parse().ok()?;
    u64::try_from(timestamp.as_microsecond()).ok().map(Time)
}
