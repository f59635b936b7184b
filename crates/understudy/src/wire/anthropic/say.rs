//! Speaks a turn on Anthropic's wire: server-sent events, JSON in one piece, or an error.

use serde::Serialize;
use serde_json::{Value, json};

use crate::ids::Ids;
use crate::request::Request;
use crate::turn::{ToolCall, Turn, Usage};
use crate::wire::{Frame, Reply, STREAM, json_of, pieces, whole};

/// Opaque to clients; they only send it back.
const SIGNATURE: &str = "dW5kZXJzdHVkeQ==";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event<'a> {
    MessageStart { message: Message<'a> },
    ContentBlockStart { index: usize, content_block: Block },
    Ping,
    ContentBlockDelta { index: usize, delta: Delta },
    ContentBlockStop { index: usize },
    MessageDelta { delta: Stop<'a>, usage: Spent },
    MessageStop,
}

#[derive(Serialize)]
struct Message<'a> {
    id: String,
    #[serde(rename = "type")]
    what: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<Block>,
    #[serde(flatten)]
    stop: Stop<'a>,
    usage: Spent,
}

#[derive(Serialize)]
struct Stop<'a> {
    stop_reason: Option<&'a str>,
    stop_sequence: Option<&'a str>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Thinking { thinking: String, signature: String },
    Text { text: String },
    ToolUse { id: String, name: String, input: Value },
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
}

#[derive(Serialize)]
struct Spent {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    /// Only where a message begins, or is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_creation: Option<Cached>,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'static str>,
}

#[derive(Serialize)]
struct Cached {
    ephemeral_5m_input_tokens: u64,
    ephemeral_1h_input_tokens: u64,
}

pub fn reply(turn: &Turn, request: &Request, ids: &Ids) -> Reply {
    if let Some(status) = turn.status {
        return error(status, turn.error_type.as_deref(), turn.message.as_deref(), ids);
    }
    if request.stream {
        let frames = stream(turn, request, ids);
        return Reply { status: 200, content_type: STREAM, frames };
    }
    let mut message = begin(turn, request, ids);
    message.content = blocks(turn, ids);
    message.stop.stop_reason = Some(stop_reason(turn));
    message.usage.output_tokens = turn.usage.output;
    whole(200, &message)
}

/// The server's own refusal, for example of a program that is not valid.
pub fn refusal(message: &str, ids: &Ids) -> Reply {
    error(400, None, Some(message), ids)
}

fn error(status: u16, kind: Option<&str>, message: Option<&str>, ids: &Ids) -> Reply {
    let (usual_kind, usual_message) = usual(status);
    let body = json!({
        "type": "error",
        "error": {
            "type": kind.unwrap_or(usual_kind),
            "message": message.unwrap_or(usual_message),
        },
        "request_id": ids.next("req"),
    });
    whole(status, &body)
}

/// How the API names and words an error of this status.
fn usual(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "not allowed"),
        404 => ("not_found_error", "not found"),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "This request would exceed your account's rate limit."),
        529 => ("overloaded_error", "Overloaded"),
        400..=499 => ("invalid_request_error", "invalid request"),
        _ => ("api_error", "Internal server error"),
    }
}

fn begin<'a>(turn: &Turn, request: &'a Request, ids: &Ids) -> Message<'a> {
    let Usage { cache_creation, .. } = turn.usage;
    let cached = Cached { ephemeral_5m_input_tokens: cache_creation, ephemeral_1h_input_tokens: 0 };
    Message {
        id: ids.next("msg"),
        what: "message",
        role: "assistant",
        model: &request.model,
        content: Vec::new(),
        stop: Stop { stop_reason: None, stop_sequence: None },
        usage: Spent {
            cache_creation: Some(cached),
            service_tier: Some("standard"),
            // The API counts one before the first token is out.
            ..spent(turn.usage, 1)
        },
    }
}

fn spent(usage: Usage, output_tokens: u64) -> Spent {
    Spent {
        input_tokens: usage.input,
        cache_creation_input_tokens: usage.cache_creation,
        cache_read_input_tokens: usage.cache_read,
        cache_creation: None,
        output_tokens,
        service_tier: None,
    }
}

fn stop_reason(turn: &Turn) -> &str {
    let usual = if turn.tools.is_empty() { "end_turn" } else { "tool_use" };
    turn.stop_reason.as_deref().unwrap_or(usual)
}

fn blocks(turn: &Turn, ids: &Ids) -> Vec<Block> {
    let thinking = turn.thinking.iter().map(|thinking| Block::Thinking {
        thinking: thinking.clone(),
        signature: SIGNATURE.into(),
    });
    let text = turn.text.iter().map(|text| Block::Text { text: text.clone() });
    let tools = turn.tools.iter().map(|ToolCall { name, input, id }| Block::ToolUse {
        id: id.clone().unwrap_or_else(|| ids.next("toolu")),
        name: name.clone(),
        input: input.clone(),
    });
    thinking.chain(text).chain(tools).collect()
}

fn stream(turn: &Turn, request: &Request, ids: &Ids) -> Vec<Frame> {
    let mut frames = vec![frame(&Event::MessageStart { message: begin(turn, request, ids) })];
    for (index, block) in blocks(turn, ids).into_iter().enumerate() {
        let (content_block, deltas) = unfold(block, turn);
        frames.push(frame(&Event::ContentBlockStart { index, content_block }));
        if index == 0 {
            frames.push(frame(&Event::Ping));
        }
        let deltas = deltas.into_iter().map(|delta| Event::ContentBlockDelta { index, delta });
        frames.extend(deltas.map(|event| frame(&event)));
        frames.push(frame(&Event::ContentBlockStop { index }));
    }
    let delta = Stop { stop_reason: Some(stop_reason(turn)), stop_sequence: None };
    let usage = spent(turn.usage, turn.usage.output);
    frames.push(frame(&Event::MessageDelta { delta, usage }));
    frames.push(frame(&Event::MessageStop));
    frames
}

/// A block as it begins, empty, and the pieces that fill it.
fn unfold(block: Block, turn: &Turn) -> (Block, Vec<Delta>) {
    let pieces = |text: &str| pieces(text, turn.chunk_chars.0).into_iter();
    match block {
        Block::Thinking { thinking, signature } => {
            let thoughts = pieces(&thinking).map(|thinking| Delta::Thinking { thinking });
            let deltas = thoughts.chain([Delta::Signature { signature }]).collect();
            (Block::Thinking { thinking: String::new(), signature: String::new() }, deltas)
        }
        Block::Text { text } => {
            let deltas = pieces(&text).map(|text| Delta::Text { text }).collect();
            (Block::Text { text: String::new() }, deltas)
        }
        Block::ToolUse { id, name, input } => {
            // The API begins every input with an empty piece.
            let json = [String::new()].into_iter().chain(pieces(&input.to_string()));
            let deltas = json.map(|partial_json| Delta::InputJson { partial_json }).collect();
            (Block::ToolUse { id, name, input: json!({}) }, deltas)
        }
    }
}

fn frame(event: &Event<'_>) -> Frame {
    let name = match event {
        Event::MessageStart { .. } => "message_start",
        Event::ContentBlockStart { .. } => "content_block_start",
        Event::Ping => "ping",
        Event::ContentBlockDelta { .. } => "content_block_delta",
        Event::ContentBlockStop { .. } => "content_block_stop",
        Event::MessageDelta { .. } => "message_delta",
        Event::MessageStop => "message_stop",
    };
    let text = format!("event: {name}\ndata: {}\n\n", json_of(event));
    Frame { text, is_piece: matches!(event, Event::ContentBlockDelta { .. }) }
}
