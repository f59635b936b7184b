//! Gemini's wire: its bytes, its errors, what is read of a request, and the requests that Gemini CLI
//! 0.61.0 makes beside its main loop (as it sent them, texts and tools shortened).

use serde_json::{Value, json};
use understudy::{
    Answer, Chunk, Kind, Part, Record, Role, Script, ToolCall, Turn, Understudy, Usage,
};

use crate::client::{Response, events, post};

const STREAM: &str = "/v1beta/models/model-1:streamGenerateContent?alt=sse";
const WHOLE: &str = "/v1beta/models/model-1:generateContent";

pub fn prompt(text: &str) -> Value {
    json!({
        "contents": [{ "role": "user", "parts": [{ "text": text }] }],
        "tools": [{ "functionDeclarations": [{ "name": "glob" }] }],
    })
}

pub fn text(response: &Response) -> String {
    events(response).iter().flat_map(texts).collect()
}

fn texts(answer: &Value) -> Vec<String> {
    let parts = answer["candidates"][0]["content"]["parts"].as_array().unwrap();
    let said = parts.iter().filter(|part| part["thought"] != true);
    said.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
}

fn everything() -> Turn {
    let call = |id: &str, path: &str| ToolCall {
        name: "read_file".into(),
        input: json!({ "file_path": path }),
        id: Some(id.into()),
    };
    Turn {
        thinking: Some("Hm.".into()),
        text: Some("Größe?".into()),
        tools: vec![call("a", "x"), call("b", "y")],
        usage: Usage { input: 3, output: 7, cache_read: 90_000, cache_creation: 400, thinking: 2 },
        chunk_chars: Chunk(4.try_into().unwrap()),
        ..Turn::default()
    }
}

/// Cached tokens are a part of the prompt; thinking is apart from the answer: nothing counts twice.
fn usage() -> Value {
    json!({
        "promptTokenCount": 90_403, "cachedContentTokenCount": 90_000, "candidatesTokenCount": 5,
        "thoughtsTokenCount": 2, "totalTokenCount": 90_410,
    })
}

fn calls() -> [Value; 2] {
    [("a", "x"), ("b", "y")].map(|(id, path)| {
        json!({ "functionCall": { "id": id, "name": "read_file", "args": { "file_path": path } } })
    })
}

#[test]
fn a_stream_is_said_as_the_api_says_it() {
    let server = Understudy::start(Script::new([everything()])).unwrap();
    let response = post(&server, STREAM, &prompt("hi"));
    assert_eq!((response.status, response.is_whole), (200, true));
    assert!(response.head.contains("content-type: text/event-stream"), "{}", response.head);
    let events = events(&response);
    let parts: Vec<Value> = events
        .iter()
        .map(|event| {
            let candidate = &event["candidates"][0];
            assert_eq!(
                (&candidate["index"], &event["modelVersion"]),
                (&0.into(), &"model-1".into())
            );
            assert_eq!(candidate["content"]["role"], "model");
            candidate["content"]["parts"].clone()
        })
        .collect();
    let [first, second] = calls();
    assert_eq!(
        parts,
        [
            json!([{ "text": "Hm.", "thought": true }]),
            json!([{ "text": "Größ" }]),
            json!([{ "text": "e?" }]),
            json!([first]),
            json!([second]),
            json!([{ "text": "" }]),
        ]
    );
    let (last, before) = events.split_last().unwrap();
    assert_eq!(
        (&last["candidates"][0]["finishReason"], &last["usageMetadata"]),
        (&"STOP".into(), &usage())
    );
    // Charged once, when all is said.
    assert!(before.iter().all(|event| event["usageMetadata"].is_null()));
    assert!(before.iter().all(|event| event["responseId"] == last["responseId"]));
}

#[test]
fn without_a_stream_the_answer_comes_in_one_piece() {
    let server = Understudy::start(Script::new([everything()])).unwrap();
    let response = post(&server, WHOLE, &prompt("hi"));
    assert!(response.head.contains("content-type: application/json"), "{}", response.head);
    let said: Value = serde_json::from_str(&response.body).unwrap();
    let [first, second] = calls();
    let parts = json!([{ "text": "Hm.", "thought": true }, { "text": "Größe?" }, first, second]);
    assert_eq!(said["candidates"][0]["content"]["parts"], parts);
    assert_eq!(said["usageMetadata"], usage());
}

#[test]
fn a_chosen_reason_to_stop_is_in_the_apis_words() {
    let turn = Turn { stop_reason: Some("max_tokens".into()), ..Turn::text("half") };
    let server = Understudy::start(Script::new([turn])).unwrap();
    let events = events(&post(&server, STREAM, &prompt("hi")));
    assert_eq!(events.last().unwrap()["candidates"][0]["finishReason"], "MAX_TOKENS");
}

#[test]
fn errors_are_worded_as_the_api_words_them() {
    let long = "The input token count exceeds the maximum number of tokens allowed.";
    let cases = [
        (Turn::rate_limited(30), 429, "RESOURCE_EXHAUSTED", "quota"),
        (Turn::error(503), 503, "UNAVAILABLE", "overloaded"),
        (Turn::error(401), 401, "UNAUTHENTICATED", "API key not valid"),
        (Turn::error(500), 500, "INTERNAL", "internal error"),
        (Turn { message: Some(long.into()), ..Turn::error(400) }, 400, "INVALID_ARGUMENT", long),
    ];
    let server = Understudy::start(Script::new(cases.clone().map(|case| case.0))).unwrap();
    for (_, status, name, words) in cases {
        let response = post(&server, STREAM, &prompt("hi"));
        assert_eq!(response.status, status);
        let error = &serde_json::from_str::<Value>(&response.body).unwrap()["error"];
        assert_eq!((&error["code"], &error["status"]), (&status.into(), &name.into()));
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
        // How long to wait is in the body, as the client wants it.
        let wait = if status == 429 { json!("30s") } else { Value::Null };
        assert_eq!(error["details"][0]["retryDelay"], wait);
        assert_eq!(response.head.contains("retry-after: 30"), status == 429);
    }
}

#[test]
fn tokens_are_counted_without_taking_a_turn() {
    let server = Understudy::start(Script::new([Turn::text("mine")])).unwrap();
    let body = prompt("hi");
    let response = post(&server, "/v1beta/models/model-1:countTokens", &body);
    let count = body.to_string().len().div_ceil(4);
    assert_eq!(response.body, json!({ "totalTokens": count }).to_string());
    assert_eq!(text(&post(&server, STREAM, &body)), "mine");
    assert_eq!(post(&server, "/v1beta/models/model-1:embedContent", &body).status, 404);
}

/// Asks as Gemini CLI did, and returns the text of the answer and what was written down.
fn ask(server: &Understudy, recorded: &str) -> (String, Record) {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let response = post(server, recorded["address"].as_str().unwrap(), &recorded["body"]);
    assert_eq!(response.status, 200, "{response:?}");
    let record = server.requests().pop().unwrap().as_ref().clone();
    let said = if record.request.stream {
        text(&response)
    } else {
        texts(&serde_json::from_str(&response.body).unwrap()).concat()
    };
    (said, record)
}

#[test]
fn side_requests_are_known_and_take_no_turn() {
    let mut next_speaker: Value =
        serde_json::from_str(include_str!("recorded/gemini/routing.json")).unwrap();
    // Read in the client's bundle, not recorded.
    next_speaker["body"]["generationConfig"]["responseJsonSchema"] = json!({
        "type": "object", "properties": {
            "reasoning": { "type": "string" },
            "next_speaker": { "type": "string", "enum": ["user", "model"] },
        },
    });
    let next_speaker = next_speaker.to_string();
    let cases = [
        (include_str!("recorded/gemini/routing.json"), Kind::Routing, r#""complexity_score":1"#),
        (next_speaker.as_str(), Kind::Classifier, r#""next_speaker":"user""#),
        (include_str!("recorded/gemini/title.json"), Kind::Title, "Understudy session"),
        (include_str!("recorded/gemini/search.json"), Kind::Probe, "ok"),
        (include_str!("recorded/gemini/compaction.json"), Kind::Compaction, "<state_snapshot>"),
        (
            include_str!("recorded/gemini/compaction_check.json"),
            Kind::Compaction,
            "<state_snapshot>",
        ),
    ];
    let count = cases.len();
    let server = Understudy::start(Script::new([Turn::text("for the main loop")])).unwrap();
    for (recorded, kind, words) in cases {
        let (said, record) = ask(&server, recorded);
        assert_eq!((record.request.kind, &record.answer), (kind, &Answer::Itself), "{said}");
        assert!(said.contains(words), "{kind:?}: {said}");
    }
    // The main loop's own: the program in its prompt, then the script's turn, still there.
    let (said, record) = ask(&server, include_str!("recorded/gemini/main.json"));
    assert!(matches!(record.answer, Answer::Prompt { turn: 0, .. }), "{said}: {record:?}");
    let (said, _) = ask(&server, include_str!("recorded/gemini/main_after_tools.json"));
    assert_eq!(said, "web done");
    assert_eq!(text(&post(&server, STREAM, &prompt("hi"))), "for the main loop");
    assert!(server.requests()[count..].iter().all(|record| record.request.kind == Kind::Main));
}

#[test]
fn a_turn_can_be_meant_for_a_side_request() {
    let turns = [Turn::text("ours").to(Kind::Compaction), Turn::error(503).to(Kind::Title)];
    let server = Understudy::start(Script::new(turns)).unwrap();
    let (said, _) = ask(&server, include_str!("recorded/gemini/compaction.json"));
    assert_eq!(said, "ours");
    let title: Value = serde_json::from_str(include_str!("recorded/gemini/title.json")).unwrap();
    assert_eq!(post(&server, WHOLE, &title["body"]).status, 503);
}

#[test]
fn what_the_model_saw_is_kept_in_a_neutral_form() {
    let server = Understudy::start(Script::default()).unwrap();
    let (_, record) = ask(&server, include_str!("recorded/gemini/main_after_tools.json"));
    let request = &record.request;
    assert_eq!((request.session.as_deref(), request.stream), (None, true));
    assert_eq!(request.model, "gemini-3.1-pro-preview");
    assert!(request.tools.contains(&"run_shell_command".to_owned()));
    assert!(request.system[0].starts_with("You are Gemini CLI"));
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    let Part::Call { name, input, .. } = &request.messages[1].parts[0] else {
        panic!("{request:?}")
    };
    assert_eq!((name.as_str(), input), ("google_web_search", &json!({ "query": "x" })));
    let failed: Vec<bool> = request.messages[2]
        .parts
        .iter()
        .map(|part| match part {
            Part::Result { failed, .. } => *failed,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(failed, [false, true]);
    assert!(request.contains("File not found"));
}

#[test]
fn words_that_the_client_said_in_the_models_place_are_no_turn() {
    let server = Understudy::start(Script::default()).unwrap();
    let mut body = prompt(r#"UNDERSTUDY: [{"text":"a"}]"#);
    let contents = body["contents"].as_array_mut().unwrap();
    let filler = "[The previous response was interrupted before it completed.]";
    contents.push(json!({ "role": "model", "parts": [{ "text": filler }] }));
    contents.push(json!({ "role": "user", "parts": [{ "text": "go on" }] }));
    assert_eq!(text(&post(&server, STREAM, &body)), "a");
}
