//! The model's service in trouble, with real Claude Code sessions: told as it is, and no restart.

use perennial_core::hearing::REMINDER_CALLS;
use serde_json::json;
use understudy::{Kind, Repeat, Turn};

use crate::claude::{Stage, bash, turns};

/// A session whose every request, to its last retry, is answered so.
#[track_caller]
fn ends(turn: Turn, reason: &str) -> Stage {
    let stage = Stage::saying([turn.repeat(Repeat::ALWAYS)]);
    let mut watch = stage.sealed.watch();
    let options = ["--permission-mode", "manual", "--env", "CLAUDE_CODE_MAX_RETRIES=1"];
    stage.spawn("ada", &options, "try it");
    watch.moved("ada", "working", "in-turn");
    watch.moved("ada", "waiting", reason);
    let ada = stage.sealed.show("ada");
    assert_eq!((ada.state.as_str(), ada.reason.as_str()), ("waiting", reason));
    assert_eq!((ada.respawn_count, ada.session.map(|session| session.number)), (0, Some(1)));
    // It was no crash, and the agent can be prodded.
    stage.sealed.ok(["send", "ada", "once more"]);
    // The client may be idle for a moment between the turn that failed and this one.
    stage.told("once more");
    stage.sealed.until("its turn is over", || stage.sealed.show("ada").reason == "idle");
    watch.drain();
    assert!(!watch.seen.iter().any(|seen| seen.event.kind == "session-ended"), "{watch:#?}");
    stage
}

#[test]
fn a_rate_limit_is_no_crash() {
    ends(Turn::rate_limited(1), "limit-reached");
}

#[test]
fn an_overloaded_service_is_no_crash() {
    let stage = ends(Turn::error(529), "service-failed");
    assert!(stage.main_requests().len() >= 3, "one try, one retry, and the next turn");
}

#[test]
fn a_socket_that_is_cut_every_time_is_no_crash() {
    ends(Turn::text("Cut off in the middle.").cut(), "service-failed");
}

#[test]
fn a_key_that_is_refused_is_no_crash() {
    ends(Turn::error(401), "service-failed");
}

#[test]
fn a_prompt_that_is_too_long_is_told_though_no_hook_is_called() {
    ends(Turn::prompt_too_long(1_200_000, 1_000_000), "service-failed");
}

// covers: H-04
#[test]
fn a_reminder_comes_once_with_so_many_tool_calls() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([
        { "tools": bash("echo again"), "repeat": REMINDER_CALLS + 3 },
        { "text": "Enough." },
    ]);
    stage.spawn("ada", &["--permission-mode", "bypassPermissions", "--trust"], &turns(&program));
    watch.moved("ada", "waiting", "idle");
    let reminder = format!("[Perennial clock] {REMINDER_CALLS} tool calls in this session.");
    let told: Vec<usize> = stage
        .model
        .requests()
        .iter()
        .filter(|record| record.request.kind == Kind::Main)
        .map(|record| record.request.messages.iter().map(|one| one.text()))
        .map(|texts| texts.map(|text| text.matches(&reminder).count()).sum())
        .collect();
    // With the results of that call at the earliest, and in the conversation from then on.
    let calls = usize::try_from(REMINDER_CALLS).expect("few");
    assert_eq!(told.len(), calls + 4, "{told:?}");
    assert_eq!(told[..calls].iter().sum::<usize>(), 0, "{told:?}");
    assert!(told[calls..].iter().all(|count| *count == 1), "{told:?}");
}
