//! What has to be the same on every wire: one table of wires, and each rule checked on all of them.

use serde_json::{Value, json};
use understudy::{Answer, End, Kind, MARK, PATIENCE, Repeat, Script, Turn, Understudy};

use crate::client::{Response, call, events, post, prompt, text};

struct Wire {
    address: &'static str,
    /// A request of the main loop.
    prompt: fn(&str) -> Value,
    /// The text that a stream spells.
    text: fn(&Response) -> String,
    /// The model's words and a tool's result, as a client adds them.
    go_on: fn(&mut Value, &str),
    /// What only a whole stream has.
    ending: &'static str,
}

const WIRES: [Wire; 3] = [
    Wire {
        address: "/v1/messages",
        prompt,
        text,
        go_on: |body, said| {
            let messages = body["messages"].as_array_mut().unwrap();
            messages.push(json!({ "role": "assistant", "content": said }));
            let result = json!({ "type": "tool_result", "tool_use_id": "t", "content": "done" });
            messages.push(json!({ "role": "user", "content": [result] }));
        },
        ending: "message_stop",
    },
    Wire {
        address: "/v1/responses",
        prompt: crate::openai::prompt,
        text: crate::openai::text,
        go_on: |body, said| {
            let items = body["input"].as_array_mut().unwrap();
            let content = json!([{ "type": "output_text", "text": said }]);
            items.push(json!({ "type": "message", "role": "assistant", "content": content }));
            items.push(json!({ "type": "function_call", "call_id": "t", "name": "exec_command",
                "arguments": "{}" }));
            items.push(json!({ "type": "function_call_output", "call_id": "t", "output": "done" }));
        },
        ending: "response.completed",
    },
    Wire {
        address: "/v1beta/models/model-1:streamGenerateContent?alt=sse",
        prompt: crate::gemini::prompt,
        text: crate::gemini::text,
        go_on: |body, said| {
            let contents = body["contents"].as_array_mut().unwrap();
            contents.push(json!({ "role": "model", "parts": [{ "text": said },
                { "functionCall": { "id": "t", "name": "glob", "args": {} } }] }));
            contents.push(json!({ "role": "user", "parts": [{ "functionResponse":
                { "id": "t", "name": "glob", "response": { "output": "done" } } }] }));
        },
        ending: "finishReason",
    },
];

impl Wire {
    fn ask(&self, server: &Understudy, body: &Value) -> Response {
        post(server, self.address, body)
    }

    fn says(&self, server: &Understudy, body: &Value) -> String {
        (self.text)(&self.ask(server, body))
    }
}

#[test]
fn one_server_speaks_all_of_them_at_once() {
    let turns = [Turn::text("the same words, whoever asks").repeat(Repeat::ALWAYS)];
    let server = Understudy::start(Script::new(turns)).unwrap();
    for wire in &WIRES {
        assert_eq!(wire.says(&server, &(wire.prompt)("hi")), "the same words, whoever asks");
        let record = server.requests().pop().unwrap();
        assert_eq!(record.request.kind, Kind::Main);
        assert_eq!(record.request.prompt().unwrap(), "hi");
        assert_eq!(record.request.model, "model-1");
        server.script("alice", [Turn::text("hers")]);
        let named = post(&server, &format!("/s/alice{}", wire.address), &(wire.prompt)("hi"));
        assert_eq!((wire.text)(&named), "hers");
        assert_eq!(server.requests().pop().unwrap().name.as_deref(), Some("alice"));
    }
}

#[test]
fn a_program_goes_on_where_the_conversation_stands() {
    for wire in &WIRES {
        let server = Understudy::start(Script::new([Turn::text("script")])).unwrap();
        let program =
            r#"[{"text":"a"},{"status":503},{"text":"lost words","cut":true},{"text":"b"}]"#;
        let mut body = (wire.prompt)(&format!("{MARK} {program}"));
        assert_eq!(wire.says(&server, &body), "a");
        (wire.go_on)(&mut body, "a");
        assert_eq!(wire.ask(&server, &body).status, 503);
        let cut = wire.ask(&server, &body);
        assert_eq!((cut.status, cut.is_whole), (200, false));
        assert!(cut.body.contains("lost words") && !cut.body.contains(wire.ending), "{cut:?}");
        assert_eq!(wire.says(&server, &body), "b");
        (wire.go_on)(&mut body, "b");
        assert_eq!(wire.says(&server, &body), "script");
        server.wait_for(|record| record.end == Some(End::Cut), PATIENCE).unwrap();
    }
}

#[test]
fn without_a_session_failed_turns_count_at_their_name_only() {
    for wire in &WIRES {
        let server = Understudy::start(Script::default()).unwrap();
        let body = (wire.prompt)(&format!(r#"{MARK} [{{"status":503}},{{"text":"a"}}]"#));
        for name in ["one", "two"] {
            let address = format!("/s/{name}{}", wire.address);
            assert_eq!(post(&server, &address, &body).status, 503);
            assert_eq!((wire.text)(&post(&server, &address, &body)), "a");
        }
    }
}

#[test]
fn a_turn_is_held_at_its_start_and_in_its_middle() {
    for wire in &WIRES {
        let words = "one two three four, and so on and on";
        let turns = [Turn::text(words).gate("g"), Turn::text(words).gate_in_the_middle("g")];
        let server = Understudy::start(Script::new(turns)).unwrap();
        for heard in [None, Some("one two three")] {
            let mut held = call(&server, wire.address, &[], &(wire.prompt)("hi"));
            server.wait_until_held("g").unwrap();
            if let Some(heard) = heard {
                held.read_until(heard);
            }
            server.release("g");
            assert_eq!((wire.text)(&held.response()), words);
        }
        // Without a word there is a middle, too.
        server.script("quiet", [Turn::default().gate_in_the_middle("q")]);
        let address = format!("/s/quiet{}", wire.address);
        let quiet = call(&server, &address, &[], &(wire.prompt)("hi"));
        server.wait_until_held("q").unwrap();
        server.release("q");
        assert!(quiet.response().body.contains(wire.ending));
    }
}

#[test]
fn a_silent_turn_says_nothing_until_the_client_leaves() {
    for wire in &WIRES {
        let server = Understudy::start(Script::new([Turn::text("never").silent()])).unwrap();
        let mut silent = call(&server, wire.address, &[], &(wire.prompt)("hi"));
        silent.read_until("text/event-stream");
        assert_eq!(server.requests()[0].end, None);
        drop(silent);
        server.wait_for(|record| record.end == Some(End::ClientGone), PATIENCE).unwrap();
    }
}

#[test]
fn what_cannot_be_read_or_sent_is_refused() {
    for wire in &WIRES {
        let server = Understudy::start(Script::default()).unwrap();
        let bad_prompt = (wire.prompt)(&format!(r#"{MARK} [{{"txet":1}}]"#));
        let bad_header =
            (wire.prompt)(&format!(r#"{MARK} [{{"text":"a","headers":{{"a b":"c"}}}}]"#));
        for body in [json!({ "no": "messages" }), json!([]), bad_prompt, bad_header] {
            let response = wire.ask(&server, &body);
            assert_eq!(response.status, 400, "{body}");
            let said: Value = serde_json::from_str(&response.body).unwrap();
            let message = said["error"]["message"].as_str().unwrap();
            assert!(message.starts_with("understudy: "), "{message}");
        }
    }
}

#[test]
fn a_turn_in_pieces_and_one_without_words() {
    for wire in &WIRES {
        let text = "Größe? 0123456789 0123456789 0123456789";
        let server = Understudy::start(Script::new([Turn::text(text), Turn::default()])).unwrap();
        let response = wire.ask(&server, &(wire.prompt)("hi"));
        assert_eq!((wire.text)(&response), text);
        assert!(events(&response).len() >= 3, "{response:?}");
        let response = wire.ask(&server, &(wire.prompt)("hi"));
        assert_eq!((response.status, (wire.text)(&response).as_str()), (200, ""));
        assert!(response.body.contains(wire.ending), "{response:?}");
        let answers: Vec<bool> = server
            .requests()
            .iter()
            .map(|record| matches!(record.answer, Answer::Script { .. }))
            .collect();
        assert_eq!(answers, [true, true]);
    }
}
