//! One line: its fields, and the step that it is.

use perennial_core::time::Time;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transcript::field::{self, Name, Prose};
use crate::transcript::step::{
    Compaction, CompactionTrigger, Content, ErrorKind, Excerpt, StepId, Tokens, Usage,
};

/// No request has this many; what says so is broken. Sums of them stay far from the end of `u64`.
const TOKENS_MAX: u64 = 1 << 32;

/// The line can't be read, or says what cannot be.
#[derive(Debug, PartialEq, Eq)]
pub struct Damaged;

/// Each field only where its kind has one; others are passed over.
#[derive(Debug, Deserialize)]
pub struct Line<'a> {
    #[serde(borrow)]
    kind: Name<'a>,
    #[serde(borrow)]
    id: Name<'a>,
    #[serde(borrow)]
    at: Option<Name<'a>>,
    #[serde(borrow)]
    text: Option<Prose<'a>>,
    #[serde(borrow)]
    call: Option<Name<'a>>,
    #[serde(borrow)]
    tool: Option<Name<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
    #[serde(borrow)]
    error: Option<Name<'a>>,
    #[serde(borrow)]
    until: Option<Name<'a>>,
    #[serde(borrow)]
    trigger: Option<Name<'a>>,
    tokens_before: Option<u64>,
    tokens_after: Option<u64>,
    #[serde(borrow)]
    model: Option<Name<'a>>,
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl<'a> Line<'a> {
    pub fn read(text: &'a [u8]) -> Result<Line<'a>, Damaged> {
        serde_json::from_slice(text).map_err(|_| Damaged)
    }

    pub fn id(&self) -> StepId {
        StepId::of(self.id.as_str())
    }

    pub fn time(&self) -> Option<Time> {
        field::time(self.at.as_ref())
    }

    /// `None`: a kind that nobody has heard of.
    pub fn content(&self) -> Result<Option<Content>, Damaged> {
        Ok(Some(match self.kind.as_str() {
            "prompt" => Content::Prompt(Excerpt::of_prompt(&self.prose())),
            "text" => Content::Text(Excerpt::of(&self.prose())),
            "added" => Content::Added(Excerpt::of(&self.prose())),
            "thinking" => Content::Thinking,
            "tool-call" => Content::ToolCall {
                call: self.call()?,
                tool: self.tool.as_ref().map_or("", Name::as_str).to_owned(),
                arguments: self.arguments.map(|raw| Excerpt::of(raw.get())).unwrap_or_default(),
            },
            "tool-result" => Content::ToolResult {
                call: self.call()?,
                is_error: self.is_error,
                text: Excerpt::of(&self.prose()),
            },
            "usage" => Content::Usage(self.usage()?),
            "compaction" => Content::Compaction(Compaction {
                trigger: match self.trigger.as_ref().map(Name::as_str) {
                    Some("automatic") => CompactionTrigger::Automatic,
                    Some("manual") => CompactionTrigger::Manual,
                    Some(_) | None => CompactionTrigger::Unstated,
                },
                pre_tokens: self.tokens_before,
                post_tokens: self.tokens_after,
            }),
            "error" => Content::Error {
                kind: error_kind(self.error.as_ref().map_or("", Name::as_str)),
                text: Excerpt::of(&self.prose()),
                retry_at: field::time(self.until.as_ref()),
            },
            "rate-limit" => Content::RateLimit {
                until: field::time(self.until.as_ref()),
                text: Excerpt::of(&self.prose()),
            },
            "interrupted" => Content::Interrupted,
            _ => return Ok(None),
        }))
    }

    fn prose(&self) -> std::borrow::Cow<'_, str> {
        self.text.as_ref().map(Prose::text).unwrap_or_default()
    }

    /// A call or a result that names none belongs to nothing.
    fn call(&self) -> Result<String, Damaged> {
        self.call.as_ref().map(|call| call.as_str().to_owned()).ok_or(Damaged)
    }

    fn usage(&self) -> Result<Usage, Damaged> {
        let tokens = |count: Option<u64>| match count.unwrap_or(0) {
            count if count < TOKENS_MAX => Ok(count),
            _ => Err(Damaged),
        };
        Ok(Usage {
            message: self.id.as_str().to_owned(),
            model: self.model.as_ref().map_or("", Name::as_str).to_owned(),
            tokens: Tokens {
                input: tokens(self.input)?,
                output: tokens(self.output)?,
                cache_read: tokens(self.cache_read)?,
                cache_write_short: tokens(self.cache_write)?,
                cache_write_long: 0,
            },
            ..Usage::default()
        })
    }
}

/// By the words that `logs --json` has for them.
fn error_kind(word: &str) -> ErrorKind {
    match word {
        "overloaded" => ErrorKind::Overloaded,
        "authentication" => ErrorKind::Authentication,
        "billing" => ErrorKind::Billing,
        "context-overflow" => ErrorKind::ContextOverflow,
        "thrashing" => ErrorKind::Thrashing,
        "invalid-request" => ErrorKind::InvalidRequest,
        "server" => ErrorKind::Server,
        "connection" => ErrorKind::Connection,
        _ => ErrorKind::Unclassified,
    }
}
