//! Texts to the real agent CLI while everything around it is killed: none lost, none twice.

use rustix::process::Signal;
use serde_json::json;

use crate::claude::{Stage, bash, turns};
use crate::processes::{running, signal};
use crate::sealed::pid;

const FREE: [&str; 3] = ["--permission-mode", "bypassPermissions", "--trust"];

/// How often the last request of the main loop holds this.
fn told(stage: &Stage, text: &str) -> usize {
    stage.main_requests().last().map_or(0, |request| request.matches(text).count())
}

/// C1: in a tool call, and killed before it ends: the text was only in the client's memory.
#[test]
fn a_text_sent_in_a_tool_call_survives_the_clients_death() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([{ "tools": bash("touch begun; sleep 30") }, { "text": "Slept." }]);
    stage.spawn("ada", &FREE, &turns(&program));
    watch.moved("ada", "working", "in-turn");
    stage.sealed.until("it is in the tool call", || stage.sealed.dir.join("begun").exists());
    stage.sealed.ok(["send", "ada", "remember-the-milk"]);
    stage.until_it_waits("ada", "\"state\":\"offered\"");
    assert!(signal(running(pid(&stage.sealed.show("ada"))), Signal::KILL));
    stage.told("remember-the-milk");
    stage.until_it_waits("ada", "\"state\":\"seen\"");
    stage.sealed.ok(["send", "ada", "--wait", "the-last-one"]);
    stage.told("the-last-one");
    assert_eq!(told(&stage, "remember-the-milk"), 1);
}

/// C3: two at once are two messages, in order.
#[test]
fn two_at_once_are_two_messages() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Hello." }])));
    watch.moved("ada", "waiting", "idle");
    std::thread::scope(|scope| {
        for text in ["first-half", "second-half"] {
            let sealed = &stage.sealed;
            scope.spawn(move || sealed.ok(["send", "ada", "--wait", text]));
        }
    });
    stage.sealed.ok(["send", "ada", "--wait", "the-last-one"]);
    stage.told("the-last-one");
    assert_eq!((told(&stage, "first-half"), told(&stage, "second-half")), (1, 1));
    let glued = |request: &String| {
        request.contains("first-halfsecond") || request.contains("second-halffirst")
    };
    assert!(!stage.main_requests().iter().any(glued));
}

/// C2: a menu that a person opened is not answered, and the text comes once it is closed.
#[test]
fn a_menu_that_is_open_is_not_answered() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Hello." }])));
    watch.moved("ada", "waiting", "idle");
    let mut terminal = crate::terminal::Terminal::run(stage.command(&["attach", "ada"]));
    terminal.wait("detach:");
    terminal.wait("Hello.");
    terminal.type_keys("/model");
    terminal.wait("/model");
    terminal.type_keys("\r");
    terminal.wait("Select");
    stage.sealed.ok(["send", "ada", "not-a-choice"]);
    stage.until_it_waits("ada", "\"state\":\"waiting\"");
    terminal.type_keys("\x1b");
    stage.told("not-a-choice");
    terminal.type_keys("\x1c\x1c");
    terminal.end();
}

/// A hook of the user's own blocks what has this word in it.
const BLOCKING: &str = "grep -q FORBIDDEN && { echo 'not in this project' >&2; exit 2; }; exit 0";

/// The client puts a blocked prompt back into its line: it is not typed again, nothing is glued to it, and
/// what was sent behind it arrives.
#[test]
fn a_text_that_a_hook_of_the_users_blocks_is_told_and_holds_back_no_other() {
    let stage = Stage::new();
    let hook = json!([{ "hooks": [{ "type": "command", "command": BLOCKING }] }]);
    let settings = json!({ "hooks": { "UserPromptSubmit": hook } });
    let own = stage.sealed.dir.join(".claude");
    std::fs::create_dir_all(&own).expect("made");
    std::fs::write(own.join("settings.json"), settings.to_string()).expect("written");
    let mut watch = stage.sealed.watch();
    // The prompt that it is started with comes back, too.
    stage.spawn("ada", &FREE, "FORBIDDEN at the start");
    let idle = watch.moved("ada", "waiting", "idle");
    stage.sealed.ok(["send", "ada", "--wait", "the first one"]);
    stage.told("the first one");
    // One that is blocked in the client's queue is written down nowhere, and typed again after a minute.
    watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    let id = stage.sealed.ok(["--json", "send", "ada", "FORBIDDEN fruit"]);
    let id: serde_json::Value = serde_json::from_str(&id).expect("JSON");
    let id = id["id"].as_str().expect("an id").to_owned();
    stage.sealed.ok(["send", "ada", "--wait", "the one behind it"]);
    stage.told("the one behind it");
    let sent = stage.sealed.ok(["sent", "ada", "--json"]);
    assert!(sent.contains("The hook said: not in this project"), "{sent}");
    let why = stage.sealed.ok(["why", "ada"]);
    assert!(why.contains("not in this project"), "{why}");
    let offers = |events: &str| events.matches("message-offered").count();
    let events = stage.sealed.ok(["events", "--json"]);
    assert_eq!((offers(&events), events.matches("message-blocked").count()), (3, 1), "{events}");
    assert!(!stage.main_requests().iter().any(|request| request.contains("FORBIDDEN")));
    stage.sealed.ok(["unsend", &id]);
    assert!(stage.sealed.ok(["sent", "ada"]).contains("withdrawn"));
}
