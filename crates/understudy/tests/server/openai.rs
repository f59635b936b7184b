//! OpenAI's wire: its bytes, its errors, what is read of a request, and the requests that Codex
//! 0.166.0 makes beside its main loop (as it sent them, texts and tools shortened).

use serde_json::{Value, json};
use understudy::{
    Answer, Chunk, Kind, Message, Part, Record, Role, Script, ToolCall, Turn, Understudy, Usage,
};

use crate::client::{Response, call, events, get, post, send};

const ADDRESS: &str = "/v1/responses";

pub fn prompt(text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    json!({
        "model": "model-1", "stream": true,
        "tools": [{ "type": "function", "name": "exec_command" }],
        "input": [{ "type": "message", "role": "user", "content": content }],
    })
}

pub fn text(response: &Response) -> String {
    let events = events(response);
    let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    deltas.map(|event| event["delta"].as_str().unwrap()).collect()
}

fn everything() -> Turn {
    let call = |name: &str, input: Value| ToolCall { name: name.into(), input, id: None };
    Turn {
        thinking: Some("Hm.".into()),
        text: Some("Größe?".into()),
        tools: vec![
            ToolCall { id: Some("call_1".into()), ..call("exec_command", json!({ "cmd": "ls" })) },
            call("apply_patch", "*** Begin Patch".into()),
            call("collaboration.spawn_agent", json!({ "task_name": "kid" })),
            call("tool_search", json!({ "query": "mail" })),
        ],
        usage: Usage { input: 3, output: 7, cache_read: 90_000, cache_creation: 400, thinking: 2 },
        chunk_chars: Chunk(4.try_into().unwrap()),
        ..Turn::default()
    }
}

/// Without what differs from run to run.
fn plain(mut item: Value) -> Value {
    let id = item["id"].as_str().unwrap().to_owned();
    item["id"] = id.split('_').next().unwrap().into();
    if item["call_id"].as_str().is_some_and(|id| id != "call_1") {
        item["call_id"] = "call".into();
    }
    item
}

fn whole_items() -> Value {
    json!([
        { "type": "reasoning", "id": "rs", "encrypted_content": "dW5kZXJzdHVkeQ==",
            "summary": [{ "type": "summary_text", "text": "Hm." }] },
        { "type": "message", "id": "msg", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": "Größe?", "annotations": [] }] },
        { "type": "function_call", "id": "fc", "call_id": "call_1", "name": "exec_command",
            "arguments": r#"{"cmd":"ls"}"#, "status": "completed" },
        { "type": "custom_tool_call", "id": "ctc", "call_id": "call", "name": "apply_patch",
            "input": "*** Begin Patch", "status": "completed" },
        { "type": "function_call", "id": "fc", "call_id": "call", "name": "spawn_agent",
            "namespace": "collaboration", "arguments": r#"{"task_name":"kid"}"#,
            "status": "completed" },
        { "type": "tool_search_call", "id": "tsc", "call_id": "call", "execution": "client",
            "arguments": { "query": "mail" }, "status": "completed" },
    ])
}

/// Cached tokens are a part of the input, and thinking is one of the output: nothing counts twice.
fn usage() -> Value {
    json!({
        "input_tokens": 90_403, "output_tokens": 7, "total_tokens": 90_410,
        "input_tokens_details": { "cached_tokens": 90_000, "cache_write_tokens": 400 },
        "output_tokens_details": { "reasoning_tokens": 2 },
    })
}

#[test]
fn a_stream_is_said_as_the_api_says_it() {
    let server = Understudy::start(Script::new([everything()])).unwrap();
    let response = post(&server, ADDRESS, &prompt("hi"));
    assert_eq!((response.status, response.is_whole), (200, true));
    assert!(response.head.contains("content-type: text/event-stream"), "{}", response.head);
    assert!(response.head.contains("x-request-id: req_"), "{}", response.head);
    let events = events(&response);
    let names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let named = response.body.lines().filter_map(|line| line.strip_prefix("event: "));
    assert_eq!(named.collect::<Vec<_>>(), names);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    let of = |index: usize| -> Vec<&str> {
        let of = events.iter().filter(|event| event["output_index"] == index);
        of.map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect()
    };
    assert_eq!(names[..2], ["response.created", "response.in_progress"]);
    let expected: [&[&str]; 4] = [
        &[
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
        ],
        &[
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
        ],
        &[
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.delta",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
        ],
        &[
            "output_item.added",
            "custom_tool_call_input.delta",
            "custom_tool_call_input.delta",
            "custom_tool_call_input.delta",
            "custom_tool_call_input.delta",
            "custom_tool_call_input.done",
            "output_item.done",
        ],
    ];
    for (index, expected) in expected.iter().enumerate() {
        assert_eq!(of(index), *expected);
    }
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    let done: Value = done.map(|event| plain(event["item"].clone())).collect();
    assert_eq!(done, whole_items());
    let last = &events.last().unwrap()["response"];
    assert_eq!((&last["status"], &last["model"]), (&"completed".into(), &"model-1".into()));
    assert_eq!(last["usage"], usage());
}

#[test]
fn without_a_stream_the_response_comes_in_one_piece() {
    let server = Understudy::start(Script::new([everything()])).unwrap();
    let mut body = prompt("hi");
    body["stream"] = false.into();
    let response = post(&server, ADDRESS, &body);
    assert!(response.head.contains("content-type: application/json"), "{}", response.head);
    let said: Value = serde_json::from_str(&response.body).unwrap();
    let items: Value = said["output"].as_array().unwrap().iter().cloned().map(plain).collect();
    assert_eq!((items, &said["usage"]), (whole_items(), &usage()));
}

#[test]
fn an_answer_that_was_cut_short_says_why() {
    let turn = Turn { stop_reason: Some("max_tokens".into()), ..Turn::text("half") };
    let server = Understudy::start(Script::new([turn])).unwrap();
    let events = events(&post(&server, ADDRESS, &prompt("hi")));
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"], json!({ "reason": "max_output_tokens" }));
}

#[test]
fn errors_are_worded_as_the_api_words_them() {
    let limit = Turn {
        error_type: Some("usage_limit_reached".into()),
        message: Some("no more".into()),
        ..Turn::rate_limited(3600)
    };
    let cases = [
        (Turn::rate_limited(30), 429, "requests", json!("rate_limit_exceeded"), "Rate limit"),
        (limit, 429, "usage_limit_reached", json!("usage_limit_reached"), "no more"),
        (Turn::error(401), 401, "invalid_request_error", json!("invalid_api_key"), "API key"),
        (Turn::error(503), 503, "server_error", json!("server_is_overloaded"), "overloaded"),
        (Turn::error(500), 500, "server_error", Value::Null, "error"),
    ];
    let server = Understudy::start(Script::new(cases.clone().map(|case| case.0))).unwrap();
    for (turn, status, kind, code, words) in cases {
        let response = post(&server, ADDRESS, &prompt("hi"));
        assert_eq!(response.status, status);
        let error = &serde_json::from_str::<Value>(&response.body).unwrap()["error"];
        assert_eq!((&error["type"], &error["code"]), (&kind.into(), &code));
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
        let wait = turn.headers.get("retry-after").map(|wait| format!("retry-after: {wait}"));
        assert!(wait.is_none_or(|wait| response.head.contains(&wait)), "{}", response.head);
        assert_eq!(error["resets_at"].is_u64(), kind == "usage_limit_reached");
    }
}

#[test]
fn a_prompt_that_is_too_long_fails_within_the_stream() {
    let turns = [Turn::prompt_too_long(300_000, 272_000)];
    let server = Understudy::start(Script::new(turns)).unwrap();
    let response = post(&server, ADDRESS, &prompt("hi"));
    let events = events(&response);
    let last = events.last().unwrap();
    assert_eq!((response.status, &last["type"]), (200, &"response.failed".into()));
    assert_eq!(last["response"]["error"]["code"], "context_length_exceeded");
}

#[test]
fn a_websocket_is_refused_and_models_are_none() {
    let server = Understudy::start(Script::default()).unwrap();
    for prefix in ["", "/s/alice"] {
        let upgrade = send(&server, "GET", &format!("{prefix}{ADDRESS}"), &[], "");
        assert_eq!(upgrade.response().status, 426);
        assert_eq!(get(&server, &format!("{prefix}/v1/models"))["models"], json!([]));
    }
    assert!(server.requests().is_empty());
}

/// Asks as Codex did, and returns what was written down.
fn ask(server: &Understudy, recorded: &str) -> (Response, Record) {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let headers = recorded["headers"].as_object().unwrap();
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    let response = call(server, ADDRESS, &headers, &recorded["body"]).response();
    assert_eq!(response.status, 200, "{response:?}");
    (response, server.requests().pop().unwrap().as_ref().clone())
}

#[test]
fn side_requests_are_known_and_take_no_turn() {
    let cases = [
        (include_str!("recorded/codex/title.json"), Kind::Title, r#"{"title":"#),
        (include_str!("recorded/codex/compaction.json"), Kind::Compaction, "summary"),
        (include_str!("recorded/codex/review.json"), Kind::Review, r#""outcome":"allow""#),
        (include_str!("recorded/codex/memory.json"), Kind::Memory, "ok"),
    ];
    let server = Understudy::start(Script::new([Turn::text("for the main loop")])).unwrap();
    for (recorded, kind, words) in cases {
        let (response, record) = ask(&server, recorded);
        assert_eq!((record.request.kind, &record.answer), (kind, &Answer::Itself));
        assert!(text(&response).contains(words), "{kind:?}: {}", text(&response));
    }
    // The client that speaks to the vendor itself wants its conversation back as one item.
    let (response, record) = ask(&server, include_str!("recorded/codex/compaction_item.json"));
    assert_eq!(record.request.kind, Kind::Compaction);
    let events = events(&response);
    let output = &events.last().unwrap()["response"]["output"];
    assert_eq!((output.as_array().unwrap().len(), &output[0]["type"]), (1, &"compaction".into()));
    // The main loop's own: the program in its prompt, then the script's turn, still there.
    let (response, _) = ask(&server, include_str!("recorded/codex/main.json"));
    assert!(response.body.contains("*** Begin Patch"), "{}", response.body);
    let (response, _) = ask(&server, include_str!("recorded/codex/main_after_tools.json"));
    assert_eq!(text(&response), "done");
    let (response, _) = ask(&server, include_str!("recorded/codex/code_mode.json"));
    assert_eq!(text(&response), "done");
    assert_eq!(text(&post(&server, ADDRESS, &prompt("hi"))), "for the main loop");
    assert!(server.requests()[5..].iter().all(|record| record.request.kind == Kind::Main));
}

#[test]
fn a_turn_can_be_meant_for_a_side_request() {
    let turns = [Turn::text("ours").to(Kind::Compaction), Turn::text("deny").to(Kind::Review)];
    let server = Understudy::start(Script::new(turns)).unwrap();
    let (response, _) = ask(&server, include_str!("recorded/codex/review.json"));
    assert_eq!(text(&response), "deny");
    let (response, _) = ask(&server, include_str!("recorded/codex/compaction_item.json"));
    assert!(response.body.contains(r#""encrypted_content":"ours""#), "{}", response.body);
}

#[test]
fn a_program_is_over_after_a_compaction_and_for_a_subagent() {
    let server = Understudy::start(Script::default()).unwrap();
    for recorded in [
        include_str!("recorded/codex/main_after_compaction.json"),
        include_str!("recorded/codex/subagent.json"),
    ] {
        let (_, record) = ask(&server, recorded);
        assert!(record.request.contains(understudy::MARK), "the prompt was kept");
        assert_eq!((record.request.kind, record.answer), (Kind::Main, Answer::Fixed));
    }
}

#[test]
fn what_the_model_saw_is_kept_in_a_neutral_form() {
    let server = Understudy::start(Script::default()).unwrap();
    let (_, record) = ask(&server, include_str!("recorded/codex/main_after_tools.json"));
    let request = &record.request;
    assert_eq!(request.session.as_deref(), Some("01a1e871-1ffc-77a2-b52d-b27a2301ac5d"));
    assert_eq!(request.model, "gpt-5.5");
    assert_eq!(request.tools[..3], ["exec_command", "write_stdin", "request_user_input"]);
    assert!(request.prompt().unwrap().starts_with("go UNDERSTUDY:"));
    let [
        ..,
        Message { role: Role::Assistant, parts: said },
        Message { role: Role::User, parts: heard },
    ] = request.messages.as_slice()
    else {
        panic!("{request:?}")
    };
    let [Part::Thinking(thought), Part::Call { id: patch, .. }, Part::Call { id, name, input }] =
        said.as_slice()
    else {
        panic!("{said:?}")
    };
    assert_eq!((thought.as_str(), name.as_str()), ("hm", "exec_command"));
    assert_eq!(input, &json!({ "cmd": "echo two" }));
    let results: Vec<&str> = heard
        .iter()
        .map(|part| match part {
            Part::Result { id, .. } => id.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(results, [patch, id]);
    assert!(request.contains("Process exited with code 0"));
    let roles = request.messages.iter().map(|message| message.role);
    assert_eq!(roles.take(3).collect::<Vec<_>>(), [Role::System, Role::System, Role::User]);
    let (_, record) = ask(&server, include_str!("recorded/codex/subagent.json"));
    assert!(record.request.tools.contains(&"collaboration.spawn_agent".to_owned()));
    assert!(record.request.tools.contains(&"exec".to_owned()));
}

#[test]
fn calls_of_one_answer_are_one_turn_also_with_results_in_between() {
    let server = Understudy::start(Script::default()).unwrap();
    let call = json!({ "name": "exec_command", "input": {} });
    let program = json!([{ "tools": [call, call] }, { "text": "next" }]);
    let mut body = prompt(&format!("{}{program}", understudy::MARK));
    let said = events(&post(&server, ADDRESS, &body));
    let calls = said.last().unwrap()["response"]["output"].as_array().unwrap();
    let items = body["input"].as_array_mut().unwrap();
    // As Codex resumes after it was killed in both.
    for call in calls {
        let id = &call["call_id"];
        items.push(call.clone());
        items.push(json!({ "type": "function_call_output", "call_id": id, "output": "aborted" }));
    }
    assert_eq!(text(&post(&server, ADDRESS, &body)), "next");
    let record = server.requests().pop().unwrap();
    let counts = record.request.messages.iter().map(|message| message.parts.len());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 2]);
}
