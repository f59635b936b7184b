//! `mcp`: a session's own server, while the daemon is away.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::sealed::Sealed;

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(sealed: &Sealed, arguments: &[&str]) -> Server {
        let mut command = sealed.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Server { child, input, output }
    }

    fn say(&mut self, method: &str, parameters: &Value) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        writeln!(self.input, "{message}").expect("it reads");
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn end(self) {
        let Server { mut child, input, output: _ } = self;
        drop(input);
        assert!(child.wait().expect("it ends").success());
    }
}

/// MC1, MC2: it says what it is and which tools there are, and a call waits for the daemon that comes.
#[test]
fn a_session_knows_its_tools_without_a_daemon_and_a_call_waits_for_one() {
    let sealed = Sealed::new();
    let mut server = Server::start(&sealed, &["mcp"]);
    server.say("initialize", &json!({ "protocolVersion": "2025-06-18" }));
    let answer = server.answer();
    assert_eq!(answer["result"]["serverInfo"]["name"], "perennial", "{answer}");
    server.say("tools/list", &json!({}));
    let tools = server.answer()["result"]["tools"].as_array().cloned().unwrap_or_default();
    assert!(tools.iter().any(|tool| tool["name"] == "task"), "{tools:?}");
    server.say("tools/call", &json!({ "name": "roster", "arguments": {} }));
    sealed.start_daemon();
    let answer = server.answer();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    // The daemon has its own reason to refuse: this server runs in no session.
    assert!(!text.is_empty() && !text.contains("not running"), "{answer}");
    // It is killed and comes back: nothing had been sent.
    sealed.kill_daemon();
    server.say("tools/call", &json!({ "name": "report", "arguments": { "phase": "testing" } }));
    sealed.start_daemon();
    let answer = server.answer();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(!text.is_empty() && !text.contains("not running"), "{answer}");
    server.end();
}
