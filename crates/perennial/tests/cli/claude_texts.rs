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
