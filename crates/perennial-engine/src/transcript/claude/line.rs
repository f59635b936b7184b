//! One line as it is written: borrowed, and as much of it as anybody asks for.
//!
//! Never stricter than needed: fields of ours are typed, everything else is skipped unread.

use serde_json::value::RawValue;

pub use crate::transcript::field::{Name, Prose, time};

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

/// The kind alone, of a line whose fields are not what they should be.
pub fn kind(line: &[u8]) -> Option<Name<'_>> {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Name<'a>,
    }
    serde_json::from_slice::<Kind<'_>>(line).ok().map(|line| line.kind)
}
