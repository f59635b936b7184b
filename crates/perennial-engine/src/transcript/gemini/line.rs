//! One line as it is written: borrowed, and as much of it as anybody asks for.
//!
//! Never stricter than needed: fields of ours are typed, everything else is skipped unread.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transcript::field::{Name, Prose};

/// The file's beginning, a change of what is known of the conversation, or a message. Messages in a
/// changed history have the same form.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line<'a> {
    #[serde(rename = "$set", borrow)]
    pub set: Option<Patch<'a>>,
    /// The first message that the conversation no longer has.
    #[serde(rename = "$rewindTo", borrow)]
    pub rewind_to: Option<Name<'a>>,
    #[serde(borrow)]
    pub session_id: Option<Name<'a>>,
    #[serde(rename = "type", borrow)]
    pub kind: Option<Name<'a>>,
    #[serde(borrow)]
    pub id: Option<Name<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Name<'a>>,
    #[serde(borrow)]
    pub model: Option<Name<'a>>,
    /// One text, or parts.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    /// What was typed, where the content has more.
    #[serde(borrow)]
    pub display_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub thoughts: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_calls: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch<'a> {
    #[serde(borrow)]
    pub session_id: Option<Name<'a>>,
    #[serde(borrow)]
    pub messages: Option<Vec<&'a RawValue>>,
}

/// Any part of a content: which field there is says the kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part<'a> {
    #[serde(borrow)]
    pub text: Option<Prose<'a>>,
    #[serde(borrow)]
    pub function_response: Option<FunctionResponse<'a>>,
}

#[derive(Debug, Deserialize)]
pub struct FunctionResponse<'a> {
    #[serde(borrow)]
    pub id: Option<Name<'a>>,
    #[serde(borrow)]
    pub response: Option<Response<'a>>,
}

#[derive(Debug, Deserialize)]
pub struct Response<'a> {
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub struct ToolCall<'a> {
    #[serde(borrow)]
    pub id: Name<'a>,
    #[serde(borrow)]
    pub name: Name<'a>,
    #[serde(borrow)]
    pub args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub status: Option<Name<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Name<'a>>,
}
