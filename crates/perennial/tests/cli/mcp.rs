//! `mcp`: a session's own server, while the daemon is away.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::mail::{within, worker};
use crate::sealed::{PROGRAM, Sealed};
use crate::task::{add, show};

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

/// What an agent gets for a call of the tool `task`, by the server that its own session runs.
#[track_caller]
fn task_tool(sealed: &Sealed, who: &str, arguments: &Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "task", "arguments": arguments } });
    std::fs::write(sealed.dir.join("call"), format!("{call}\n")).expect("written");
    let told = within(sealed, who, &format!("{PROGRAM} mcp < call"));
    let answer: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}"));
    // Arguments that are none are refused by the protocol itself.
    let Some(text) = answer["result"]["content"][0]["text"].as_str() else { return answer };
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

/// A task that an agent adds by its tool has what the shell's verb gives it, within the same limits.
#[test]
fn an_agent_adds_a_whole_task_and_lists_the_loops_it_was_told_of() {
    let sealed = Sealed::up();
    worker(&sealed, "ada", &[]);
    let (first, whole) = (add(&sealed, "first", &[]), add(&sealed, "whole", &[]));
    let added = task_tool(
        &sealed,
        "ada",
        &json!({ "action": "add", "title": "mine", "items": ["look"], "estimate_tokens": 5000,
            "depends_on": [first.id], "parent": whole.id, "reference": "AUTH-1", "scope": ["src/a"] }),
    );
    let id = added["tasks"][0]["id"].as_str().unwrap_or_else(|| panic!("{added}"));
    let mine = show(&sealed, id);
    assert_eq!((mine.estimate_tokens, mine.estimate_steps), (Some(5000), None));
    assert_eq!((&mine.depends_on, mine.parent.as_ref()), (&vec![first.id], Some(&whole.id)));
    assert_eq!(
        (mine.reference.as_deref(), &mine.scope[..]),
        (Some("AUTH-1"), &["src/a".to_owned()][..])
    );
    let seen = task_tool(&sealed, "ada", &json!({ "action": "show", "id": whole.id }));
    assert_eq!(seen["task"]["parts"][0]["state"], "open", "{seen}");
    // The limits of the shell's verb are its limits.
    for (wrong, says) in [
        (json!({ "scope": ["../up"] }), "stay within the project"),
        (json!({ "parent": "tsk_00000000000000000000000000" }), "no"),
        (json!({ "check_command": ["sh"] }), "check_command"),
        (json!({ "reference": "x".repeat(501) }), "reference"),
    ] {
        let mut call = json!({ "action": "add", "title": "wrong" });
        call.as_object_mut().expect("an object").extend(wrong.as_object().expect("one").clone());
        let refused = task_tool(&sealed, "ada", &call).to_string();
        assert!(refused.contains(says), "{refused}");
    }
    // What the buried left is listed to whoever was told of it, and to nobody else.
    worker(&sealed, "kim", &[]);
    sealed.ok(["spawn", "bob", "--parent", "ada", "--", "sleep", "1000000"]);
    let left = add(&sealed, "left behind", &["--to", "bob"]);
    let loops = |who| task_tool(&sealed, who, &json!({ "action": "loops" }))["loops"].clone();
    assert_eq!(loops("ada"), json!([]));
    sealed.ok(["bury", "bob"]);
    assert_eq!(
        (&loops("ada")[0]["id"], &loops("ada")[0]["left_by"]),
        (&json!(left.id), &json!("bob"))
    );
    assert_eq!(loops("kim"), json!([]));
    task_tool(&sealed, "ada", &json!({ "action": "take", "id": left.id }));
    assert_eq!(loops("ada"), json!([]));
}
