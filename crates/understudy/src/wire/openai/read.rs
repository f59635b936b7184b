//! Reads a request of OpenAI's wire.
//!
//! Items are joined to messages: what the model said until somebody else spoke is one, and so are
//! the tool results that follow each other. A message of a person or of the client stays as it is.
//! Calls of one answer are together even where the client put results between them, as Codex does
//! after a kill: an item's id tells which answer it was part of.

use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::side;
use crate::request::{Kind, Message, Part, Request, Role};
use crate::wire::{chosen, header};

/// What a conversation begins with that was compacted by the client.
const SUMMARY: &str = "Another language model started to solve this problem";

/// Keys and tokens are never among them.
const HEADERS: &[&str] = &[
    "originator",
    "thread-id",
    "user-agent",
    "x-codex-parent-thread-id",
    "x-codex-turn-metadata",
    "x-openai-subagent",
];

#[derive(Debug, Deserialize)]
struct Body {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    instructions: Option<String>,
    input: Input,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    text: Value,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Items(Vec<Value>),
}

pub fn read(headers: &HeaderMap, body: &[u8]) -> Result<Request, serde_json::Error> {
    let body: Body = serde_json::from_slice(body)?;
    let mut request = Request {
        kind: Kind::Main,
        session: header(headers, "session-id"),
        model: body.model,
        stream: body.stream,
        system: body.instructions.into_iter().collect(),
        schema: body.text.pointer("/format/schema").cloned(),
        headers: chosen(headers, HEADERS),
        ..Request::default()
    };
    let items = match body.input {
        Input::Text(text) => {
            let parts = vec![Part::Text(text)];
            request.messages.push(Message { role: Role::User, parts });
            Vec::new()
        }
        Input::Items(items) => items,
    };
    let later = items.iter().filter(|item| item["type"] == "additional_tools");
    let offered = later.filter_map(|item| item["tools"].as_array()).flatten();
    let descriptions = body.tools.iter().filter_map(|tool| tool["description"].as_str());
    request.descriptions = descriptions.map(str::to_owned).collect();
    request.tools = body.tools.iter().chain(offered).flat_map(names).collect();
    let mut answer = None;
    for item in &items {
        let (role, parts) = parts(item);
        let own = answer_of(item).filter(|_| role == Role::Assistant);
        if let (Some(own), Some((last, at))) = (own, answer)
            && own == last
        {
            let message: &mut Message = &mut request.messages[at];
            message.parts.extend(parts);
            continue;
        }
        if begins_anew(item, &parts) {
            request.inherited = request.messages.len();
        }
        let is_message = matches!(item_type(item), "message" | "agent_message");
        match request.messages.last_mut() {
            Some(last) if last.role == role && joins(last, is_message) => last.parts.extend(parts),
            _ => request.messages.push(Message { role, parts }),
        }
        answer = own.map(|own| (own, request.messages.len() - 1)).or(answer);
    }
    request.kind = side::kind(&request);
    Ok(request)
}

/// The tools of a namespace are named after it; those of `functions` stand for themselves.
fn names(tool: &Value) -> Vec<String> {
    let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default();
    let Some(inner) = tool["tools"].as_array() else {
        return vec![name.into()];
    };
    let inner = inner.iter().filter_map(|tool| tool["name"].as_str());
    inner.map(|tool| joined(Some(name).filter(|name| *name != "functions"), tool)).collect()
}

fn joined(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.into(), |namespace| format!("{namespace}.{name}"))
}

/// Whether what is before this item belongs to another conversation: one that was compacted, or
/// that of the agent which started this one.
fn begins_anew(item: &Value, parts: &[Part]) -> bool {
    match item_type(item) {
        "message" => {
            parts.iter().filter_map(Part::words).any(|words| words.starts_with(SUMMARY))
                && item["role"] == "user"
        }
        "agent_message" => parts
            .iter()
            .filter_map(Part::words)
            .any(|words| words.starts_with("Message Type: NEW_TASK")),
        "compaction" => true,
        _ => false,
    }
}

fn joins(last: &Message, is_message: bool) -> bool {
    let is_result = |part: &Part| matches!(part, Part::Result { .. });
    last.role == Role::Assistant || !is_message && last.parts.iter().all(is_result)
}

/// Of an id such as `fc_ANSWER_2`, as the items of our own answers have it.
fn answer_of(item: &Value) -> Option<&str> {
    let (before, _number) = item["id"].as_str()?.rsplit_once('_')?;
    Some(before.split_once('_')?.1)
}

fn item_type(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("message")
}

fn parts(item: &Value) -> (Role, Vec<Part>) {
    let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let name = || joined(item["namespace"].as_str(), item["name"].as_str().unwrap_or_default());
    match item_type(item) {
        "message" => {
            let role = match item["role"].as_str() {
                Some("assistant") => Role::Assistant,
                Some("developer" | "system") => Role::System,
                _ => Role::User,
            };
            (role, contents(&item["content"]))
        }
        "agent_message" => (Role::User, contents(&item["content"])),
        "reasoning" => (Role::Assistant, vec![Part::Thinking(texts(&item["summary"]).join("\n"))]),
        "function_call" => {
            // What is not JSON stays a string.
            let input = serde_json::from_str(&text("arguments"));
            let input = input.unwrap_or_else(|_| item["arguments"].clone());
            (Role::Assistant, vec![Part::Call { id: text("call_id"), name: name(), input }])
        }
        "custom_tool_call" => {
            let input = item["input"].clone();
            (Role::Assistant, vec![Part::Call { id: text("call_id"), name: name(), input }])
        }
        "tool_search_call" => {
            let (name, input) = ("tool_search".into(), item["arguments"].clone());
            (Role::Assistant, vec![Part::Call { id: text("call_id"), name, input }])
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = &item["output"];
            let said = output.as_str().map_or_else(|| texts(output).join("\n"), str::to_owned);
            // The wire does not say whether a call failed.
            let result = Part::Result { id: text("call_id"), text: said, failed: false };
            (Role::User, vec![result])
        }
        "tool_search_output" => {
            let found: Vec<String> =
                item["tools"].as_array().into_iter().flatten().flat_map(names).collect();
            let said = found.join("\n");
            (Role::User, vec![Part::Result { id: text("call_id"), text: said, failed: false }])
        }
        // A summary that the server made: its own words come back.
        "compaction" => (Role::System, vec![Part::Text(text("encrypted_content"))]),
        other => (Role::System, vec![Part::Unread(other.into())]),
    }
}

fn contents(content: &Value) -> Vec<Part> {
    if let Some(text) = content.as_str() {
        return vec![Part::Text(text.into())];
    }
    content.as_array().into_iter().flatten().map(part).collect()
}

fn part(content: &Value) -> Part {
    // What one agent writes to another counts as encrypted; here it is plain.
    match content["text"].as_str().or(content["encrypted_content"].as_str()) {
        Some(text) => Part::Text(text.into()),
        None => Part::Unread(content["type"].as_str().unwrap_or_default().into()),
    }
}

fn texts(contents: &Value) -> Vec<&str> {
    contents.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
}
