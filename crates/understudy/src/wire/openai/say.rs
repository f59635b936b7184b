//! Speaks a turn on OpenAI's wire: server-sent events, JSON in one piece, or an error.

use serde_json::{Value, json};

use super::item::{self, Item};
use crate::ids::Ids;
use crate::request::Request;
use crate::time::now_ms;
use crate::turn::{Turn, Usage};
use crate::wire::{Frame, Reply, STREAM, json_of, whole};

/// How the API calls a prompt that does not fit.
const TOO_LONG: &str = "context_length_exceeded";

pub fn reply(turn: &Turn, request: &Request, ids: &Ids) -> Reply {
    let id = ids.next("resp");
    let response = begin(request, &id);
    if let Some(status) = turn.status {
        return if request.stream && is_too_long(turn) {
            too_long(turn, response)
        } else {
            whole(status, &error(status, turn))
        };
    }
    let answer = id.trim_start_matches("resp_");
    let items = item::items(turn, request, answer, ids);
    if request.stream {
        let frames = stream(turn, &response, &items);
        return Reply { status: 200, content_type: STREAM, frames };
    }
    whole(200, &end(turn, response, &items))
}

/// The server's own refusal, for example of a program that is not valid.
pub fn refusal(message: &str) -> Reply {
    whole(400, &error(400, &Turn { message: Some(message.into()), ..Turn::default() }))
}

fn error(status: u16, turn: &Turn) -> Value {
    let (kind, code, message) = usual(status);
    let (kind, code) = match turn.error_type.as_deref() {
        // A subscription's limit has its name as its type, a rate limit as its code.
        Some(named) => (named, Some(named)),
        None => (kind, code),
    };
    let message = turn.message.as_deref().unwrap_or(message);
    let mut error = json!({ "message": message, "type": kind, "param": null, "code": code });
    let wait_s = turn.headers.get("retry-after").and_then(|wait| wait.parse::<u64>().ok());
    if let (Some("usage_limit_reached"), Some(wait_s)) = (code, wait_s) {
        error["resets_at"] = (now_ms() / 1000 + wait_s).into();
    }
    json!({ "error": error })
}

/// How the API names, codes and words an error of this status.
fn usual(status: u16) -> (&'static str, Option<&'static str>, &'static str) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided"),
        403 => ("invalid_request_error", Some("forbidden"), "Not allowed"),
        404 => ("invalid_request_error", Some("not_found"), "Not found"),
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached"),
        503 | 529 => ("server_error", Some("server_is_overloaded"), "Our servers are overloaded"),
        400..=499 => ("invalid_request_error", None, "Invalid request"),
        _ => ("server_error", None, "The server had an error while processing your request"),
    }
}

fn is_too_long(turn: &Turn) -> bool {
    let is_said = turn.message.as_ref().is_some_and(|why| why.starts_with("prompt is too long"));
    turn.error_type.as_deref() == Some(TOO_LONG) || turn.error_type.is_none() && is_said
}

/// In a stream the API begins to answer before it finds the prompt too long.
fn too_long(turn: &Turn, mut response: Value) -> Reply {
    let created = json!({ "type": "response.created", "response": response });
    let usual = "Your input exceeds the context window of this model.";
    let message = turn.message.as_deref().unwrap_or(usual);
    response["status"] = "failed".into();
    response["error"] = json!({ "code": TOO_LONG, "message": message });
    let failed = json!({ "type": "response.failed", "response": response });
    let frames = numbered(vec![(created, false), (failed, false)]);
    Reply { status: 200, content_type: STREAM, frames }
}

fn begin(request: &Request, id: &str) -> Value {
    json!({
        "id": id, "object": "response", "created_at": now_ms() / 1000,
        "status": "in_progress", "model": request.model, "output": [], "usage": null,
    })
}

fn end(turn: &Turn, mut response: Value, items: &[Item]) -> Value {
    response["output"] = items.iter().map(Item::whole).collect();
    response["usage"] = spent(turn.usage);
    match cut_short(turn) {
        None => response["status"] = "completed".into(),
        Some(reason) => {
            response["status"] = "incomplete".into();
            response["incomplete_details"] = json!({ "reason": reason });
        }
    }
    response
}

/// Why the answer is not complete, if it is not.
fn cut_short(turn: &Turn) -> Option<&str> {
    match turn.stop_reason.as_deref() {
        None | Some("end_turn" | "tool_use") => None,
        Some("max_tokens") => Some("max_output_tokens"),
        Some(other) => Some(other),
    }
}

/// Cached tokens are a part of the input here, and thinking is a part of the output.
fn spent(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_creation;
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_creation,
        },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.thinking },
        "total_tokens": input + usage.output,
    })
}

fn stream(turn: &Turn, response: &Value, items: &[Item]) -> Vec<Frame> {
    let event = |name: &str, response: &Value| {
        (json!({ "type": format!("response.{name}"), "response": response }), false)
    };
    let mut events = vec![event("created", response), event("in_progress", response)];
    for (index, item) in items.iter().enumerate() {
        events.extend(item.events(index, turn));
    }
    let response = end(turn, response.clone(), items);
    let name = if cut_short(turn).is_some() { "incomplete" } else { "completed" };
    events.push(event(name, &response));
    numbered(events)
}

fn numbered(events: Vec<item::Event>) -> Vec<Frame> {
    let frame = |(number, (mut event, is_piece)): (usize, item::Event)| {
        event["sequence_number"] = number.into();
        let name = event["type"].as_str().unwrap_or_default();
        Frame { text: format!("event: {name}\ndata: {}\n\n", json_of(&event)), is_piece }
    };
    events.into_iter().enumerate().map(frame).collect()
}
