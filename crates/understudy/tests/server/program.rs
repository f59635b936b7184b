//! Programs in prompts: many sessions at once, failures in between, what follows the program.

use serde_json::{Value, json};
use understudy::{MARK, Script, Turn, Understudy};

use crate::client::{call, post, prompt, text};

/// Adds the model's words and a tool's result, as a client does.
fn go_on(body: &mut Value, said: &str) {
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": said }));
    let result = json!({ "type": "tool_result", "tool_use_id": "t", "content": "done" });
    messages.push(json!({ "role": "user", "content": [result] }));
}

#[test]
fn a_program_runs_to_its_end_and_the_script_goes_on() {
    let server = Understudy::start(Script::new([Turn::text("script")])).unwrap();
    let mut body = prompt(&format!("{MARK} [{{\"text\":\"a\"}},{{\"text\":\"b\"}}]"));
    let mut said = Vec::new();
    for _ in 0..3 {
        let words = text(&post(&server, "/v1/messages", &body));
        go_on(&mut body, &words);
        said.push(words);
    }
    assert_eq!(said, ["a", "b", "script"]);
}

#[test]
fn asked_again_it_says_the_same_again() {
    let server = Understudy::start(Script::default()).unwrap();
    let body = prompt(&format!("{MARK} [{{\"text\":\"a\"}},{{\"text\":\"b\"}}]"));
    for _ in 0..3 {
        assert_eq!(text(&post(&server, "/v1/messages", &body)), "a");
    }
}

#[test]
fn a_failed_turn_is_over_when_the_same_session_tries_again() {
    let server = Understudy::start(Script::default()).unwrap();
    let program = r#"[{"status":529,"repeat":2},{"text":"lost","cut":true},{"text":"a"}]"#;
    let mut body = prompt(&format!("{MARK} {program}"));
    let ask = |session: &str, body: &Value| {
        call(&server, "/v1/messages", &[("x-claude-code-session-id", session)], body).response()
    };
    let outcomes: Vec<(u16, bool)> = (0..4)
        .map(|_| ask("one", &body))
        .map(|response| (response.status, response.is_whole))
        .collect();
    assert_eq!(outcomes, [(529, true), (529, true), (200, false), (200, true)]);
    // The same prompt, resumed: a client joins what follows to it, and it is still that program.
    let joined = body["messages"][0]["content"].as_str().unwrap().to_owned() + "\n";
    let mut resumed = body.clone();
    resumed["messages"][0]["content"] =
        json!([{ "type": "text", "text": joined }, { "type": "text", "text": "again" }]);
    assert_eq!(text(&ask("one", &resumed)), "a");
    // Another session with the same prompt begins at the beginning.
    assert_eq!(ask("two", &body).status, 529);
    go_on(&mut body, "a");
    assert!(text(&ask("one", &body)).contains("no line"));
}

#[test]
fn a_resumed_client_goes_on_where_its_conversation_stands() {
    let server = Understudy::start(Script::default()).unwrap();
    let mut body = prompt(&format!("{MARK} [{{\"text\":\"a\"}},{{\"text\":\"b\"}}]"));
    go_on(&mut body, "a");
    // As Claude Code does after kill -9: words of its own, then the new prompt.
    let messages = body["messages"].as_array_mut().unwrap();
    let filler = json!([{ "type": "text", "text": "No response requested." }]);
    messages.push(json!({ "role": "assistant", "content": filler }));
    messages.push(json!({ "role": "user", "content": "carry on" }));
    assert_eq!(text(&post(&server, "/v1/messages", &body)), "b");
}

#[test]
fn many_sessions_run_their_programs_side_by_side() {
    let server = Understudy::start(Script::default()).unwrap();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let server = &server;
            scope.spawn(move || {
                let turns: Vec<Value> =
                    (0..5).map(|turn| json!({ "text": format!("{number}.{turn}") })).collect();
                let mut body = prompt(&format!("{MARK}{}", Value::from(turns)));
                for turn in 0..5 {
                    let said = text(&post(server, "/v1/messages", &body));
                    assert_eq!(said, format!("{number}.{turn}"));
                    go_on(&mut body, &said);
                }
            });
        }
    });
    assert_eq!(server.requests().len(), 80);
}
