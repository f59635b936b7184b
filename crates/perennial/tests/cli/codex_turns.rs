//! Codex's turns that end otherwise than by an answer: broken off, given up, refused.

use rustix::process::Signal;
use serde_json::json;

use crate::claude::{state, turns};
use crate::codex::{Stage, exec};
use crate::processes::{running, signal};
use crate::sealed::pid;

/// The command runs on in the background, and the program announces that it is busy as long as it does.
#[test]
fn a_turn_that_was_broken_off_in_a_tool_is_over_and_the_next_one_is_seen() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let call = |said: &str| turns(&json!([{ "tools": exec("sleep 600") }, { "text": said }]));
    stage.spawn("ada", &[], &call("Never."));
    state(&mut watch, "ada", "working", "in-turn");
    stage
        .sealed
        .until("the tool runs", || stage.sealed.ok(["logs", "ada"]).contains("exec_command"));
    stage.sealed.ok(["send", "ada", "--key", "Escape"]);
    state(&mut watch, "ada", "waiting", "idle");
    let held = json!([{ "text": "These words are said. ", "gate": "held", "gate_at": "middle" }]);
    stage.sealed.ok(["send", "ada", &turns(&held)]);
    state(&mut watch, "ada", "working", "in-turn");
    stage.model.wait_until_held("held").expect("a turn");
    stage.sealed.ok(["send", "ada", "--key", "Escape"]);
    state(&mut watch, "ada", "waiting", "idle");
    stage.model.release("held");
    // Nothing was going on when it died: nobody is to go on with what was cancelled.
    let asked = stage.main_requests().len();
    assert!(signal(running(pid(&stage.sealed.show("ada"))), Signal::KILL));
    watch.running("ada", 2);
    state(&mut watch, "ada", "waiting", "idle");
    assert_eq!(stage.main_requests().len(), asked, "the cancelled turn was begun again");
}

/// The program gives the turn up at a limit, and does not go on by itself when that is lifted.
#[test]
fn a_turn_that_was_given_up_at_a_limit_needs_a_person() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &[], &turns(&json!([{ "status": 429 }, { "text": "Never." }])));
    state(&mut watch, "ada", "waiting", "limit-reached");
    assert!(stage.sealed.show("ada").needs_you);
    let why = stage.sealed.ok(["why", "ada"]);
    assert!(why.contains("gave up its turn") && !why.contains("it continues when"), "{why}");
    stage.sealed.ok(["send", "ada", &turns(&json!([{ "text": "Better." }]))]);
    stage.told("Better.");
    state(&mut watch, "ada", "waiting", "idle");
}

#[test]
fn a_turn_that_the_vendor_refused_says_why() {
    let too_long = "prompt is too long: 210000 tokens > 200000 maximum";
    for (turn, words) in [
        (json!({ "status": 401 }), "refused access"),
        (json!({ "status": 400, "message": too_long }), "the conversation is too long"),
    ] {
        let stage = Stage::new();
        let mut watch = stage.sealed.watch();
        stage.spawn("ada", &[], &turns(&json!([turn, { "text": "Never." }])));
        state(&mut watch, "ada", "waiting", "service-failed");
        let shown = stage.sealed.show("ada").reason_text;
        assert!(shown.contains(words), "{shown}");
    }
}
