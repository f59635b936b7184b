//! One line as it is written: borrowed, and as much of it as anybody asks for.
//!
//! Never stricter than needed: fields of ours are typed, everything else is skipped unread.

use std::borrow::Cow;

use perennial_core::time::Time;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transcript::step::ID_BYTES;

/// Kinds of lines that were seen.
pub const KINDS: &[&str] = &[
    "compacted",
    "event_msg",
    "response_item",
    "session_meta",
    "token_usage_record",
    "turn_context",
    "world_state",
];

#[derive(Debug, Deserialize)]
pub struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub timestamp: Option<Cow<'a, str>>,
    pub ordinal: Option<u64>,
    #[serde(borrow)]
    pub payload: Option<&'a RawValue>,
    pub metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// The summary that replaces what was said before.
    pub compaction_output: Option<bool>,
}

/// The first line of a file.
#[derive(Debug, Deserialize)]
pub struct SessionMeta<'a> {
    #[serde(borrow)]
    pub forked_from_id: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
pub struct TurnContext<'a> {
    #[serde(borrow)]
    pub model: Option<Cow<'a, str>>,
}

/// What the model was sent, or sent: which fields there are depends on the kind.
#[derive(Debug, Deserialize)]
pub struct ResponseItem<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub call_id: Option<Cow<'a, str>>,
    /// Of a function: JSON, written as a text.
    #[serde(borrow)]
    pub arguments: Option<Cow<'a, str>>,
    /// Of a tool with its own syntax: that text.
    #[serde(borrow)]
    pub input: Option<Cow<'a, str>>,
    /// A text, or blocks of one.
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    /// Of a search in the web.
    #[serde(borrow)]
    pub action: Option<&'a RawValue>,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    #[serde(borrow)]
    pub origin: Option<Origin<'a>>,
}

/// Where a message comes from.
#[derive(Debug, Deserialize)]
pub struct Origin<'a> {
    #[serde(borrow)]
    pub turn_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub content_item_kinds: Vec<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub content_item_metadata: Vec<ItemOrigin<'a>>,
}

#[derive(Debug, Deserialize)]
pub struct ItemOrigin<'a> {
    #[serde(borrow)]
    pub provenance: Option<Provenance<'a>>,
}

#[derive(Debug, Deserialize)]
pub struct Provenance<'a> {
    pub hook: Option<bool>,
    /// A person's words have `user` here.
    #[serde(rename = "type", borrow)]
    pub kind: Option<Cow<'a, str>>,
}

/// A block of a message.
#[derive(Debug, Deserialize)]
pub struct Block<'a> {
    #[serde(borrow)]
    pub text: Option<Cow<'a, str>>,
}

/// What happened: which fields there are depends on the kind.
#[derive(Debug, Deserialize)]
pub struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub info: Option<&'a RawValue>,
    #[serde(borrow)]
    pub rate_limits: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
    pub model_context_window: Option<u64>,
}

/// Something of a turn that is over.
#[derive(Debug, Deserialize)]
pub struct Item<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub status: Option<Cow<'a, str>>,
}

/// The count behind an answer, or behind a compaction.
#[derive(Debug, Deserialize)]
pub struct TokenInfo {
    pub last_token_usage: Option<Counts>,
    pub model_context_window: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct UsageRecord<'a> {
    #[serde(borrow)]
    pub response_id: Option<Cow<'a, str>>,
    pub usage: Counts,
}

/// Tokens as they are written: the input includes both parts of the cache.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Counts {
    pub input_tokens: Option<u64>,
    pub cached_input_tokens: Option<u64>,
    pub cache_write_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
}

/// The account's limits, as the service last told them.
#[derive(Debug, Deserialize)]
pub struct RateLimits {
    pub primary: Option<Limit>,
    pub secondary: Option<Limit>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Limit {
    pub used_percent: Option<f64>,
    /// In seconds since 1970.
    pub resets_at: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct TurnError<'a> {
    #[serde(borrow)]
    pub message: Option<Cow<'a, str>>,
    /// A word, or an object with one field of that name.
    #[serde(borrow)]
    pub codex_error_info: Option<&'a RawValue>,
}

/// The line can't be read, or says what cannot be.
#[derive(Debug)]
pub struct Damaged;

pub fn parse<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Damaged> {
    serde_json::from_str(raw.get()).map_err(|_| Damaged)
}

/// A time as the CLI writes it; `None` for what is none.
pub fn time(timestamp: Option<&str>) -> Option<Time> {
    let timestamp: jiff::Timestamp = timestamp?.parse().ok()?;
    u64::try_from(timestamp.as_microsecond()).ok().map(Time)
}

/// A name or an id; nothing where it is too long to be one.
pub fn short(text: Option<&Cow<'_, str>>) -> Option<String> {
    text.filter(|text| !text.is_empty() && text.len() <= ID_BYTES).map(|text| text.to_string())
}

/// All the text in a message: one text, or blocks.
pub fn text(raw: Option<&RawValue>) -> Result<String, Damaged> {
    let Some(raw) = raw.map(RawValue::get) else { return Ok(String::new()) };
    if raw.starts_with('"') {
        return serde_json::from_str(raw).map_err(|_| Damaged);
    }
    if !raw.starts_with('[') {
        return Ok(String::new());
    }
    let blocks: Vec<Block<'_>> = serde_json::from_str(raw).map_err(|_| Damaged)?;
    let texts = blocks.into_iter().filter_map(|block| block.text);
    Ok(texts.collect::<Vec<_>>().join("\n"))
}
