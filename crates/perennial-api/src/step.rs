//! What happened in an agent's conversations, step by step, in words of no vendor.
//!
//! All text in it was written by a model, by what it called, or by whoever prompted it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Moment;

/// `GET /v1/agents/{target}/steps`: the steps after a place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Steps {
    pub steps: Vec<Step>,
    /// Where to go on: the next request's `from`.
    pub next: String,
    /// There is more already.
    pub more: bool,
    /// Files of subagents that are not read, because there are too many.
    pub left_out: u64,
}

/// One step. Fields that its kind does not have are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Step {
    /// `prompt`, `text`, `told` (by Perennial: briefings, notices, mail), `thinking`, `tool-call`, `tool-result`,
    /// `error`, `rate-limit`, `compaction`, `interrupted` or `conversation`; a newer daemon may know more.
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Option<Moment>,
    /// The vendor's id of the conversation.
    pub conversation: String,
    /// Part of a subagent's work, not of the conversation itself.
    pub is_subagent: bool,
    /// The subagent, by the name of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The vendor's id of the step, and of the one that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What was said, returned or went wrong: its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How much of text or arguments was left out at the end.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_bytes: u64,
    /// Which call a `tool-call` is, and a `tool-result` belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Of a `tool-call`; a text where they were cut.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// Of a `tool-result`: whether the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Of an `error`: `overloaded`, `authentication`, `billing`, `context-overflow`, `thrashing`,
    /// `invalid-request`, `server`, `connection` or `unclassified`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When a `rate-limit` ends, or an `error` is tried again, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub until: Option<Moment>,
    /// Of a `compaction`: `automatic` or `manual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
