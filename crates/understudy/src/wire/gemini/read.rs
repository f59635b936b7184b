//! Reads a request of Gemini's wire. The client sends no id of its conversation.

use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::{Call, Method, side};
use crate::request::{Kind, Message, Part, Request, Role};
use crate::wire::chosen;

/// What Gemini CLI says in the model's place when it resumes a conversation that was cut off.
const FILLER: &str = "[The previous response was interrupted before it completed.]";

/// Keys and tokens are never among them.
const HEADERS: &[&str] = &["user-agent", "x-goog-api-client"];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    contents: Vec<Content>,
    #[serde(default)]
    system_instruction: Content,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    generation_config: Value,
}

#[derive(Debug, Default, Deserialize)]
struct Content {
    role: Option<String>,
    #[serde(default)]
    parts: Vec<Value>,
}

pub fn read(call: &Call, headers: &HeaderMap, body: &[u8]) -> Result<Request, serde_json::Error> {
    let body: Body = serde_json::from_slice(body)?;
    let system = body.system_instruction.parts.iter().map(|value| part(value, Role::System));
    let schema = ["responseJsonSchema", "responseSchema"]
        .iter()
        .find_map(|key| body.generation_config.get(key));
    let mut request = Request {
        model: call.model.clone(),
        stream: call.method == Method::Stream,
        system: system.filter_map(|part| Some(part.words()?.into())).collect(),
        messages: body.contents.iter().map(message).collect(),
        tools: body.tools.iter().flat_map(names).collect(),
        schema: schema.cloned(),
        headers: chosen(headers, HEADERS),
        ..Request::default()
    };
    request.kind = match call.method {
        Method::Stream | Method::Generate => side::kind(&request),
        Method::CountTokens => Kind::TokenCount,
    };
    Ok(request)
}

/// The functions by their names, and what the API does itself by its key.
fn names(tool: &Value) -> Vec<String> {
    match tool["functionDeclarations"].as_array() {
        Some(functions) => {
            let names = functions.iter().filter_map(|function| function["name"].as_str());
            names.map(str::to_owned).collect()
        }
        None => tool.as_object().into_iter().flat_map(|tool| tool.keys().cloned()).collect(),
    }
}

fn message(content: &Content) -> Message {
    let role = match content.role.as_deref() {
        Some("model") => Role::Assistant,
        _ => Role::User,
    };
    Message { role, parts: content.parts.iter().map(|value| part(value, role)).collect() }
}

fn part(value: &Value, role: Role) -> Part {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(said) = value["text"].as_str() {
        return match role {
            _ if value["thought"] == true => Part::Thinking(said.into()),
            Role::Assistant if said == FILLER => Part::Filler(said.into()),
            Role::Assistant | Role::User | Role::System => Part::Text(said.into()),
        };
    }
    if let Some(call) = value.get("functionCall") {
        let input = call["args"].clone();
        return Part::Call { id: text(&call["id"]), name: text(&call["name"]), input };
    }
    if let Some(result) = value.get("functionResponse") {
        let response = &result["response"];
        let failed = !response["error"].is_null();
        let said = if failed { &response["error"] } else { &response["output"] };
        let said = said.as_str().map_or_else(|| response.to_string(), str::to_owned);
        return Part::Result { id: text(&result["id"]), text: said, failed };
    }
    let keys = value.as_object().into_iter().flat_map(|part| part.keys());
    Part::Unread(keys.cloned().collect::<Vec<_>>().join(","))
}
