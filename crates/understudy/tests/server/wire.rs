//! The bytes of Anthropic's wire, whole.

use serde_json::{Value, json};
use understudy::{Chunk, Script, ToolCall, Turn, Understudy, Usage};

use crate::client::{post, prompt};

/// Ids that are made up differ from server to server; nothing else does.
fn with_plain_ids(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("msg_").or_else(|| rest.find("req_")) {
        plain += &rest[..at + 4];
        plain += "ID";
        rest = rest[at + 4..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    plain + rest
}

fn everything() -> Turn {
    Turn {
        thinking: Some("Hm.".into()),
        text: Some("Größe?".into()),
        tools: vec![ToolCall {
            name: "Bash".into(),
            input: json!({ "command": "ls" }),
            id: Some("toolu_1".into()),
        }],
        usage: Usage { input: 3, output: 7, cache_read: 90_000, cache_creation: 400, thinking: 0 },
        chunk_chars: Chunk(4.try_into().unwrap()),
        ..Turn::default()
    }
}

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_ID","type":"message","role":"assistant","model":"model-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":400,"cache_read_input_tokens":90000,"cache_creation":{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"dW5kZXJzdHVkeQ=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Größ"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"e?"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"co"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"mman"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"d\":\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"ls\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":3,"cache_creation_input_tokens":400,"cache_read_input_tokens":90000,"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_stream_is_said_as_the_api_says_it() {
    let server = Understudy::start(Script::new([everything()])).unwrap();
    let response = post(&server, "/v1/messages?beta=true", &prompt("hi"));
    assert_eq!((response.status, response.is_whole), (200, true));
    assert!(response.head.contains("content-type: text/event-stream"), "{}", response.head);
    assert!(response.head.contains("request-id: req_"), "{}", response.head);
    assert_eq!(with_plain_ids(&response.body), STREAM);
}

#[test]
fn without_a_stream_the_message_comes_in_one_piece() {
    let server = Understudy::start(Script::new([everything()])).unwrap();
    let mut body = prompt("hi");
    body["stream"] = false.into();
    let response = post(&server, "/v1/messages", &body);
    assert!(response.head.contains("content-type: application/json"), "{}", response.head);
    let said: Value = serde_json::from_str(&with_plain_ids(&response.body)).unwrap();
    assert_eq!(
        said,
        json!({
            "id": "msg_ID", "type": "message", "role": "assistant", "model": "model-1",
            "content": [
                { "type": "thinking", "thinking": "Hm.", "signature": "dW5kZXJzdHVkeQ==" },
                { "type": "text", "text": "Größe?" },
                { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": "ls" } },
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {
                "input_tokens": 3, "cache_creation_input_tokens": 400,
                "cache_read_input_tokens": 90_000, "output_tokens": 7, "service_tier": "standard",
                "cache_creation": { "ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 0 },
            },
        })
    );
}

#[test]
fn a_turn_without_words_and_a_chosen_reason_to_stop() {
    let turns =
        [Turn::default(), Turn { stop_reason: Some("max_tokens".into()), ..Turn::text("half") }];
    let server = Understudy::start(Script::new(turns)).unwrap();
    let names = |body: &str| -> Vec<String> {
        body.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
    };
    let empty = post(&server, "/v1/messages", &prompt("hi"));
    assert_eq!(names(&empty.body), ["message_start", "message_delta", "message_stop"]);
    assert!(empty.body.contains(r#""stop_reason":"end_turn""#), "{}", empty.body);
    let chosen = post(&server, "/v1/messages", &prompt("hi"));
    assert!(chosen.body.contains(r#""stop_reason":"max_tokens""#), "{}", chosen.body);
}

#[test]
fn tokens_are_counted_without_taking_a_turn() {
    let server = Understudy::start(Script::new([Turn::text("mine")])).unwrap();
    let body = prompt("hi");
    let response = post(&server, "/v1/messages/count_tokens?beta=true", &body);
    let count = body.to_string().len().div_ceil(4);
    assert_eq!(response.body, json!({ "input_tokens": count }).to_string());
    assert_eq!(crate::client::text(&post(&server, "/v1/messages", &body)), "mine");
}

#[test]
fn made_up_ids_differ_between_servers() {
    let said = || {
        let server = Understudy::start(Script::new([Turn::tool("Bash", json!({}))])).unwrap();
        post(&server, "/v1/messages", &prompt("hi")).body
    };
    let (one, other) = (said(), said());
    assert_ne!(one, other);
    assert!(one.contains("toolu_") && other.contains("toolu_"));
}
