//! One turn of the model: what it says, does and costs, or how it fails.
//!
//! Neutral: no vendor's wire is known here. The same turn can be spoken in any of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::Kind;

/// A turn as a script writes it; every field may be left out, a misspelt one is refused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub tools: Vec<ToolCall>,
    pub usage: Usage,
    /// By default `tool_use` with tools, else `end_turn`; each wire has its own word for it.
    pub stop_reason: Option<String>,

    /// Which kind of request it answers.
    pub to: Kind,
    /// Only for requests whose newest prompt, or what came after it, contains this.
    #[serde(rename = "match")]
    pub matching: Option<String>,
    pub repeat: Repeat,

    /// Held here until released by this name.
    pub gate: Option<String>,
    pub gate_at: GateAt,
    /// Before the first byte.
    pub delay_ms: u64,
    /// Between two pieces of text.
    pub chunk_delay_ms: u64,
    pub chunk_chars: Chunk,

    /// An error instead of an answer.
    pub status: Option<u16>,
    pub error_type: Option<String>,
    pub message: Option<String>,
    /// Sent with the answer or the error.
    pub headers: BTreeMap<String, String>,
    /// The connection is dropped in the middle of the stream.
    pub cut: bool,
    /// The stream is opened and stays open, and nothing is ever said.
    pub silent: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// `NAMESPACE.NAME` where the wire has namespaces.
    pub name: String,
    /// An object, or a string for a tool that takes free text.
    pub input: Value,
    /// Made up if not given.
    #[serde(default)]
    pub id: Option<String>,
}

/// Tokens, as the client will believe them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_creation: u64,
    /// How much of `output` was thinking, on the wires that tell it.
    pub thinking: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Usage { input: 100, output: 10, cache_read: 0, cache_creation: 0, thinking: 0 }
    }
}

/// How often a turn is given before the script goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Repeat {
    Times(u64),
    Word(RepeatWord),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepeatWord {
    Always,
}

impl Repeat {
    pub const ALWAYS: Repeat = Repeat::Word(RepeatWord::Always);

    pub fn times(self) -> u64 {
        match self {
            Repeat::Times(times) => times,
            Repeat::Word(RepeatWord::Always) => u64::MAX,
        }
    }
}

impl Default for Repeat {
    fn default() -> Self {
        Repeat::Times(1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAt {
    /// Before the first byte.
    #[default]
    Start,
    /// When half of the stream is said.
    Middle,
}

/// How many characters of text one piece of the stream carries; never none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Chunk(pub std::num::NonZeroUsize);

impl Default for Chunk {
    fn default() -> Self {
        Chunk(const { std::num::NonZeroUsize::new(24).unwrap() })
    }
}

impl Turn {
    pub fn text(text: impl Into<String>) -> Turn {
        Turn { text: Some(text.into()), ..Turn::default() }
    }

    pub fn tool(name: impl Into<String>, input: Value) -> Turn {
        let call = ToolCall { name: name.into(), input, id: None };
        Turn { tools: vec![call], ..Turn::default() }
    }

    /// An error by its status; the wire names it and words it.
    pub fn error(status: u16) -> Turn {
        Turn { status: Some(status), ..Turn::default() }
    }

    pub fn rate_limited(retry_after_s: u64) -> Turn {
        Turn::error(429).header("retry-after", retry_after_s.to_string())
    }

    pub fn prompt_too_long(tokens: u64, maximum: u64) -> Turn {
        let message = format!("prompt is too long: {tokens} tokens > {maximum} maximum");
        Turn { message: Some(message), ..Turn::error(400) }
    }

    #[must_use]
    pub fn usage(self, usage: Usage) -> Turn {
        Turn { usage, ..self }
    }

    #[must_use]
    pub fn gate(self, name: impl Into<String>) -> Turn {
        Turn { gate: Some(name.into()), ..self }
    }

    #[must_use]
    pub fn gate_in_the_middle(self, name: impl Into<String>) -> Turn {
        Turn { gate: Some(name.into()), gate_at: GateAt::Middle, ..self }
    }

    #[must_use]
    pub fn matching(self, words: impl Into<String>) -> Turn {
        Turn { matching: Some(words.into()), ..self }
    }

    #[must_use]
    pub fn repeat(self, repeat: Repeat) -> Turn {
        Turn { repeat, ..self }
    }

    #[must_use]
    pub fn to(self, kind: Kind) -> Turn {
        Turn { to: kind, ..self }
    }

    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Turn {
        self.headers.insert(name.into(), value.into());
        self
    }

    #[must_use]
    pub fn cut(self) -> Turn {
        Turn { cut: true, ..self }
    }

    #[must_use]
    pub fn silent(self) -> Turn {
        Turn { silent: true, ..self }
    }

    /// It never becomes a message of the conversation, so that nobody can count it there.
    pub(crate) fn leaves_no_message(&self) -> bool {
        self.status.is_some() || self.cut || self.silent
    }
}
