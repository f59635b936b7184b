//! Reads a request of Anthropic's wire.

use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::{Path, side};
use crate::request::{Kind, Message, Part, Request, Role};
use crate::wire::{chosen, header};

/// What Claude Code says in the model's place when it resumes a conversation that was cut off.
const FILLER: &str = "No response requested.";

/// Keys and tokens are never among them.
const HEADERS: &[&str] = &[
    "anthropic-beta",
    "anthropic-version",
    "user-agent",
    "x-app",
    "x-claude-code-session-id",
    "x-stainless-retry-count",
];

#[derive(Debug, Deserialize)]
pub(super) struct Body {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    system: Content,
    messages: Vec<WireMessage>,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    output_config: Value,
}

#[derive(Debug, Deserialize)]
struct WireMessage {
    role: Role,
    content: Content,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

impl Default for Content {
    fn default() -> Self {
        Content::Blocks(Vec::new())
    }
}

#[derive(Debug, Deserialize)]
struct Tool {
    #[serde(default)]
    name: String,
}

pub fn read(path: Path, headers: &HeaderMap, body: &[u8]) -> Result<Request, serde_json::Error> {
    let body: Body = serde_json::from_slice(body)?;
    let mut request = Request {
        kind: Kind::Main,
        session: header(headers, "x-claude-code-session-id"),
        model: body.model,
        stream: body.stream,
        system: parts(&body.system).iter().filter_map(|part| Some(part.words()?.into())).collect(),
        messages: body
            .messages
            .iter()
            .map(|message| Message { role: message.role, parts: parts_of(message) })
            .collect(),
        inherited: 0,
        tools: body.tools.into_iter().map(|tool| tool.name).collect(),
        descriptions: Vec::new(),
        schema: body.output_config.pointer("/format/schema").cloned(),
        headers: chosen(headers, HEADERS),
    };
    request.kind = match path {
        Path::Messages => side::kind(&request),
        Path::CountTokens => Kind::TokenCount,
    };
    Ok(request)
}

fn parts_of(message: &WireMessage) -> Vec<Part> {
    let fill = |part| match part {
        Part::Text(text) if message.role == Role::Assistant && text == FILLER => Part::Filler(text),
        part => part,
    };
    parts(&message.content).into_iter().map(fill).collect()
}

fn parts(content: &Content) -> Vec<Part> {
    match content {
        Content::Text(text) => vec![Part::Text(text.clone())],
        Content::Blocks(blocks) => blocks.iter().map(part).collect(),
    }
}

fn part(block: &Value) -> Part {
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "text" => Part::Text(text("text")),
        "thinking" => Part::Thinking(text("thinking")),
        "tool_use" => {
            Part::Call { id: text("id"), name: text("name"), input: block["input"].clone() }
        }
        "tool_result" => Part::Result {
            id: text("tool_use_id"),
            text: result_text(&block["content"]),
            failed: block["is_error"].as_bool().unwrap_or_default(),
        },
        other => Part::Unread(other.into()),
    }
}

/// A tool's result is a string, or blocks of which some are text.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
