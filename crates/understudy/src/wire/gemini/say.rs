//! Speaks a turn on Gemini's wire: server-sent events, JSON in one piece, or an error.
//!
//! Invariant: what a turn costs is told once, with the last piece, so that an answer that is cut off
//! was not charged.

use serde_json::{Value, json};

use crate::ids::Ids;
use crate::request::Request;
use crate::turn::{ToolCall, Turn, Usage};
use crate::wire::{Frame, Reply, STREAM, json_of, pieces, whole};

pub fn reply(turn: &Turn, request: &Request, ids: &Ids) -> Reply {
    if let Some(status) = turn.status {
        return whole(status, &error(status, turn));
    }
    let id = ids.next("resp");
    let answer = |parts: Value, is_last: bool| {
        let mut answer = json!({
            "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }],
            "modelVersion": request.model, "responseId": id,
        });
        if is_last {
            answer["candidates"][0]["finishReason"] = finish_reason(turn).into();
            answer["usageMetadata"] = spent(turn.usage);
        }
        answer
    };
    if !request.stream {
        let parts = parts(turn, usize::MAX.try_into().expect("not zero"), ids);
        return whole(200, &answer(parts.into(), true));
    }
    let mut parts = parts(turn, turn.chunk_chars.0, ids);
    if parts.is_empty() {
        parts.push(json!({ "text": "" }));
    }
    let frame = |answer: Value, is_piece| Frame {
        text: format!("data: {}\r\n\r\n", json_of(&answer)),
        is_piece,
    };
    let mut frames: Vec<Frame> =
        parts.into_iter().map(|part| frame(answer(json!([part]), false), true)).collect();
    frames.push(frame(answer(json!([{ "text": "" }]), true), false));
    Reply { status: 200, content_type: STREAM, frames }
}

/// The server's own refusal, for example of a program that is not valid.
pub fn refusal(message: &str) -> Reply {
    whole(400, &error(400, &Turn { message: Some(message.into()), ..Turn::default() }))
}

fn error(status: u16, turn: &Turn) -> Value {
    let (name, message) = usual(status);
    let name = turn.error_type.as_deref().unwrap_or(name);
    let message = turn.message.as_deref().unwrap_or(message);
    let mut error = json!({ "code": status, "message": message, "status": name });
    // The client reads how long to wait in the body; it does not look at the header.
    if let Some(wait_s) = turn.headers.get("retry-after") {
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{wait_s}s"),
        }]);
    }
    json!({ "error": error })
}

/// How the API names and words an error of this status.
fn usual(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
        403 => ("PERMISSION_DENIED", "The caller does not have permission"),
        404 => ("NOT_FOUND", "Requested entity was not found."),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        400..=499 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
        503 | 529 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
        504 => ("DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
        _ => ("INTERNAL", "An internal error has occurred."),
    }
}

/// A call of a tool ends an answer like any other word.
fn finish_reason(turn: &Turn) -> String {
    match turn.stop_reason.as_deref() {
        None | Some("end_turn" | "tool_use") => "STOP".into(),
        Some(other) => other.to_uppercase(),
    }
}

/// Cached tokens are a part of the prompt here; thinking is counted beside the answer.
fn spent(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_creation;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output.saturating_sub(usage.thinking),
        "thoughtsTokenCount": usage.thinking,
        "totalTokenCount": prompt + usage.output.max(usage.thinking),
    })
}

fn parts(turn: &Turn, chunk: std::num::NonZeroUsize, ids: &Ids) -> Vec<Value> {
    let pieces = |text: &Option<String>| -> Vec<String> {
        text.iter().flat_map(|text| pieces(text, chunk)).collect()
    };
    let thoughts = pieces(&turn.thinking);
    let thoughts = thoughts.iter().map(|piece| json!({ "text": piece, "thought": true }));
    let texts = pieces(&turn.text);
    let texts = texts.iter().map(|piece| json!({ "text": piece }));
    let calls = turn.tools.iter().map(|ToolCall { name, input, id }| {
        let id = id.clone().unwrap_or_else(|| ids.next("call"));
        json!({ "functionCall": { "id": id, "name": name, "args": input } })
    });
    thoughts.chain(texts).chain(calls).collect()
}
