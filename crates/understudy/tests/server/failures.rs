//! Errors, cut and silent streams: what a client sees of each.

use serde_json::{Value, json};
use understudy::{End, PATIENCE, Script, Turn, Understudy};

use crate::client::{call, post, prompt, text};

#[test]
fn errors_are_worded_as_the_api_words_them() {
    let named = Turn {
        error_type: Some("billing_error".into()),
        message: Some("no money".into()),
        ..Turn::error(402)
    };
    let cases = [
        (Turn::rate_limited(30), 429, "rate_limit_error", "rate limit"),
        (Turn::error(529), 529, "overloaded_error", "Overloaded"),
        (Turn::error(401), 401, "authentication_error", "invalid x-api-key"),
        (Turn::error(500), 500, "api_error", "Internal server error"),
        (
            Turn::prompt_too_long(210_000, 200_000),
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
        (named, 402, "billing_error", "no money"),
    ];
    let server = Understudy::start(Script::new(cases.clone().map(|case| case.0))).unwrap();
    for (_, status, kind, words) in cases {
        let response = post(&server, "/v1/messages", &prompt("hi"));
        assert_eq!(response.status, status);
        let body: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!(kind)));
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert_eq!(response.head.contains("retry-after: 30"), status == 429, "{}", response.head);
    }
}

#[test]
fn a_cut_stream_ends_in_the_middle_and_without_an_end() {
    let turns = [Turn::text("some words").cut(), Turn::text("more words").cut()];
    let server = Understudy::start(Script::new(turns)).unwrap();
    let response = post(&server, "/v1/messages", &prompt("hi"));
    assert_eq!((response.status, response.is_whole), (200, false));
    assert!(response.body.contains("some words"), "{}", response.body);
    assert!(!response.body.contains("message_stop"), "{}", response.body);
    server.wait_for(|record| record.end == Some(End::Cut), PATIENCE).unwrap();
    // The same in one piece: half a message.
    let mut body = prompt("hi");
    body["stream"] = false.into();
    let response = post(&server, "/v1/messages", &body);
    assert!(!response.is_whole && !response.body.is_empty(), "{response:?}");
}

#[test]
fn a_silent_stream_is_open_and_says_nothing() {
    let server = Understudy::start(Script::new([Turn::text("never").silent()])).unwrap();
    let mut silent = call(&server, "/v1/messages", &[], &prompt("hi"));
    silent.read_until("text/event-stream");
    // The server is not busy with it, and it has no end until the client gives up.
    let other = post(&server, "/v1/messages", &prompt("hi"));
    assert!(text(&other).contains("no line"), "{other:?}");
    assert_eq!(server.requests()[0].end, None);
    drop(silent);
    let first = server.wait_for(|record| record.end == Some(End::ClientGone), PATIENCE).unwrap();
    assert_eq!(first.number, 0);
}

#[test]
fn what_cannot_be_read_or_sent_is_refused_and_not_answered() {
    let server = Understudy::start(Script::default()).unwrap();
    let bad_prompt = prompt("UNDERSTUDY: [{\"txet\":1}]");
    let bad_header = prompt(r#"UNDERSTUDY: [{"text":"a","headers":{"a b":"c"}}]"#);
    let bodies = [json!({ "no": "messages" }), json!([]), bad_prompt, bad_header];
    for body in bodies {
        let response = post(&server, "/v1/messages", &body);
        assert_eq!(response.status, 400, "{body}");
        assert!(response.body.contains("understudy: "), "{}", response.body);
    }
}
