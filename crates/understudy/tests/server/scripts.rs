//! Which turn answers: order, names, sessions, matches, repetitions, kinds.

use serde_json::json;
use understudy::{Answer, End, Kind, PATIENCE, Part, Repeat, Role, Script, Turn, Understudy};

use crate::client::{call, get, post, prompt, text};

const FIXED: &str = "The understudy has no line here.";

fn says(server: &Understudy, path: &str, words: &str) -> String {
    text(&post(server, path, &prompt(words)))
}

#[test]
fn turns_come_in_order_and_then_a_fixed_answer() {
    let turns = [Turn::text("a").repeat(Repeat::Times(2)), Turn::text("b")];
    let server = Understudy::start(Script::new(turns)).unwrap();
    let said: Vec<String> = (0..4).map(|_| says(&server, "/v1/messages", "hi")).collect();
    assert_eq!(said, ["a", "a", "b", FIXED]);
    let answers: Vec<Answer> =
        server.requests().iter().map(|record| record.answer.clone()).collect();
    let turn = |turn| Answer::Script { name: String::new(), turn };
    assert_eq!(answers, [turn(0), turn(0), turn(1), Answer::Fixed]);
}

#[test]
fn a_name_in_the_address_has_a_script_of_its_own() {
    let server = Understudy::start(Script::new([Turn::text("everybody")])).unwrap();
    server.script("alice", [Turn::text("alice")]);
    server.script("bob", [Turn::text("bob")]);
    assert_eq!(says(&server, "/s/bob/v1/messages", "hi"), "bob");
    assert_eq!(says(&server, "/s/alice/v1/messages", "hi"), "alice");
    // Over is over: everybody's turn is not for her, nor for a name without a script.
    assert_eq!(says(&server, "/s/alice/v1/messages", "hi"), FIXED);
    assert_eq!(says(&server, "/s/carol/v1/messages", "hi"), FIXED);
    assert_eq!(says(&server, "/v1/messages", "hi"), "everybody");
    assert_eq!(server.url_of("bob"), format!("{}/s/bob", server.url()));
}

#[test]
fn a_session_has_a_script_of_its_own() {
    let server = Understudy::start(Script::new([Turn::text("everybody")])).unwrap();
    server.script("5e55", [Turn::text("session")]);
    let headers = [("X-Claude-Code-Session-Id", "5e55"), ("x-api-key", "secret")];
    let response = call(&server, "/v1/messages", &headers, &prompt("hi")).response();
    assert_eq!(text(&response), "session");
    let other = [("X-Claude-Code-Session-Id", "other")];
    let response = call(&server, "/v1/messages", &other, &prompt("hi")).response();
    assert_eq!(text(&response), "everybody");
    let log = get(&server, "/log");
    assert_eq!(log[0]["session"], "5e55");
    assert!(!log.to_string().contains("secret"), "{log}");
}

#[test]
fn a_turn_that_does_not_match_waits_for_its_prompt() {
    let turns = [
        Turn::text("saved").matching("checkpoint").repeat(Repeat::ALWAYS),
        Turn::text("first"),
        Turn::text("second"),
    ];
    let server = Understudy::start(Script::new(turns)).unwrap();
    let prompts = ["go", "write the checkpoint", "go", "the checkpoint, again", "go"];
    let said: Vec<String> =
        prompts.iter().map(|words| says(&server, "/v1/messages", words)).collect();
    assert_eq!(said, ["first", "saved", "second", "saved", FIXED]);
}

#[test]
fn what_the_model_saw_is_kept_in_a_neutral_form() {
    let server = Understudy::start(Script::default()).unwrap();
    let body = json!({
        "model": "m", "stream": true, "system": [{ "type": "text", "text": "be brief" }],
        "tools": [{ "name": "Bash" }, { "name": "Read" }],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "look" }, { "type": "image", "source": {} }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "x" },
                { "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "ls" } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1",
                "is_error": true, "content": [{ "type": "text", "text": "no such file" }] }] },
            { "role": "system", "content": "a note" },
        ],
    });
    post(&server, "/v1/messages", &body);
    let records = server.requests();
    let request = &records[0].request;
    assert_eq!(request.kind, Kind::Main);
    assert_eq!(request.system, ["be brief"]);
    assert_eq!(request.tools, ["Bash", "Read"]);
    let parts: Vec<(Role, &[Part])> =
        request.messages.iter().map(|message| (message.role, &*message.parts)).collect();
    let input = json!({ "command": "ls" });
    assert_eq!(
        parts,
        [
            (Role::User, &[Part::Text("look".into()), Part::Unread("image".into())][..]),
            (
                Role::Assistant,
                &[
                    Part::Thinking("hm".into()),
                    Part::Call { id: "t1".into(), name: "Bash".into(), input }
                ]
            ),
            (
                Role::User,
                &[Part::Result { id: "t1".into(), text: "no such file".into(), failed: true }]
            ),
            (Role::System, &[Part::Text("a note".into())]),
        ]
    );
    assert_eq!(request.prompt().unwrap(), "look");
    assert!(request.contains("no such file") && request.contains("be brief"));
    server.wait_for(|record| record.end == Some(End::Whole), PATIENCE).unwrap();
    // The same over HTTP, from a number on.
    assert_eq!(get(&server, "/log")[0]["messages"][2]["parts"][0]["result"]["failed"], true);
    assert_eq!(get(&server, "/log?since=1"), json!([]));
}

#[test]
fn a_script_is_a_file_and_can_be_replaced_over_http() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("script.json");
    let text = r#"{ "turns": [{ "text": "from the file" }],
        "scripts": { "alice": [{ "text": "hers", "repeat": "always" }] } }"#;
    std::fs::write(&path, text).unwrap();
    let server = Understudy::start(Script::read(&path).unwrap()).unwrap();
    assert_eq!(says(&server, "/v1/messages", "hi"), "from the file");
    assert_eq!(says(&server, "/s/alice/v1/messages", "hi"), "hers");
    assert_eq!(post(&server, "/script", &json!([{ "text": "new" }])).status, 204);
    assert_eq!(post(&server, "/script/alice", &json!([{ "text": "newer" }])).status, 204);
    assert_eq!(says(&server, "/v1/messages", "hi"), "new");
    assert_eq!(says(&server, "/s/alice/v1/messages", "hi"), "newer");
    assert_eq!(post(&server, "/script", &json!([{ "txet": "new" }])).status, 422);
    std::fs::write(&path, r#"{ "turns": [{ "txet": "misspelt" }] }"#).unwrap();
    assert!(Script::read(&path).is_err());
}

#[test]
fn it_listens_on_loopback_only() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = Understudy::start_on(address.parse().unwrap(), Script::default());
        assert!(matches!(refused, Err(understudy::StartError::NotLoopback { .. })), "{address}");
    }
}

#[test]
fn dropped_it_is_gone() {
    let server = Understudy::start(Script::default()).unwrap();
    let address = server.url().trim_start_matches("http://").to_owned();
    drop(server);
    assert!(std::net::TcpStream::connect(address).is_err());
}
