//! Requests beside the main loop, as Claude Code 2.1.325 sent them (texts and tools shortened):
//! each is known for what it is, answered, and takes no turn.

use serde_json::Value;
use understudy::{Answer, Kind, Script, Turn, Understudy};

use crate::client::{post, text};

fn recorded(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn side_requests_are_known_and_take_no_turn() {
    let mut suggestion = recorded(include_str!("recorded/main.json"));
    let asked = "[SUGGESTION MODE: Suggest what the user might naturally type next …]";
    suggestion["messages"][0]["content"][1]["text"] = asked.into();
    let cases = [
        (recorded(include_str!("recorded/title.json")), Kind::Title, r#"{"title":"#),
        (recorded(include_str!("recorded/compaction.json")), Kind::Compaction, "<summary>"),
        (
            recorded(include_str!("recorded/classifier.json")),
            Kind::Classifier,
            r#"{"state":"done""#,
        ),
        (recorded(include_str!("recorded/label.json")), Kind::Probe, "ok"),
        (suggestion, Kind::Suggestion, ""),
    ];
    let server = Understudy::start(Script::new([Turn::text("for the main loop")])).unwrap();
    for (mut body, kind, words) in cases {
        body["stream"] = true.into();
        let said = text(&post(&server, "/v1/messages?beta=true", &body));
        assert!(said.contains(words), "{kind:?}: {said}");
        assert_eq!(said.is_empty(), words.is_empty(), "{kind:?}: {said}");
        let record = server.requests().pop().unwrap();
        assert_eq!((record.request.kind, &record.answer), (kind, &Answer::Itself));
    }
    // The main loop's own: the program in its prompt, then the script's turn, still there.
    let body = recorded(include_str!("recorded/main.json"));
    let response = post(&server, "/v1/messages", &body);
    assert!(response.body.contains(r#""name":"Bash""#), "{}", response.body);
    let body = recorded(include_str!("recorded/main_after_tool.json"));
    assert_eq!(text(&post(&server, "/v1/messages", &body)), "There are none.");
    let plain = crate::client::prompt("hi");
    assert_eq!(text(&post(&server, "/v1/messages", &plain)), "for the main loop");
    assert!(server.requests()[5..].iter().all(|record| record.request.kind == Kind::Main));
}

#[test]
fn a_turn_can_be_meant_for_a_side_request() {
    let turns = [
        Turn::text("<summary>ours</summary>").to(Kind::Compaction),
        Turn::error(529).to(Kind::Title),
        Turn::text("main"),
    ];
    let server = Understudy::start(Script::new(turns)).unwrap();
    assert_eq!(text(&post(&server, "/v1/messages", &crate::client::prompt("hi"))), "main");
    let title = recorded(include_str!("recorded/title.json"));
    assert_eq!(post(&server, "/v1/messages", &title).status, 529);
    let compaction = recorded(include_str!("recorded/compaction.json"));
    let said = text(&post(&server, "/v1/messages", &compaction));
    assert_eq!(said, "<summary>ours</summary>");
}
