//! Rest with a real agent CLI: a task that is verified ends its worker's session, and the next task wakes it.

use perennial_api::agent::Agent;
use perennial_api::task::Task;
use serde_json::{Value, json};
use understudy::{Repeat, Turn};

use crate::claude::{Stage, turns};
use crate::vocabulary::is_told;

const ROLES: &str = "[role.keeper]\nspan = \"persistent\"\n\n[role.worker]\nspan = \"mortal\"\n";

/// A call of the tool `task`, as the model writes it.
fn task(input: &Value) -> Value {
    json!({ "tools": [{ "name": "mcp__perennial__task", "input": input }] })
}

fn done() -> String {
    let claimed = task(&json!({ "action": "done", "text": "mended" }));
    turns(&json!([claimed, { "text": "Claimed." }]))
}

fn add(stage: &Stage, words: &[&str]) -> Task {
    let words = [&["task", "add"], words].concat();
    stage.sealed.json::<Vec<Task>>(&words).swap_remove(0)
}

fn shown(stage: &Stage, id: &str) -> Task {
    stage.sealed.json(&["task", "show", id])
}

fn is(agent: &Agent, state: &str, reason: &str) -> bool {
    (agent.state.as_str(), agent.reason.as_str()) == (state, reason)
}

/// Claude takes a task and claims it; the check passes: it hibernates. Mail does not wake it, a task does, and it goes on in
/// its conversation. A stop while it hibernates leaves it to the operator.
// covers: T-10, G-12
#[test]
fn claude_hibernates_when_its_task_is_verified_and_the_next_task_wakes_it() {
    let stage = Stage::with_config(ROLES);
    let made = add(&stage, &["mend the fence", "--check-command", "true"]);
    let free = ["--permission-mode", "manual"];
    let options = [&free[..], &["--role", "keeper", "--task", &made.id]].concat();
    stage.spawn("bob", &options, &done());
    stage.sealed.until("it is verified", || shown(&stage, &made.id).state == "verified");
    stage.sealed.until("it rests", || is(&stage.sealed.show("bob"), "hibernating", "task-done"));
    is_told(&stage.sealed, "bob", "hibernating", None);
    let why = stage.sealed.ok(["why", "bob"]);
    assert!(why.contains("until a task lies on its queue"), "{why}");
    assert!(stage.sealed.ok(["mail", "read"]).contains("it hibernates"));
    let conversation = stage.conversation("bob");
    stage.sealed.until("its session is over", || {
        stage.sealed.show("bob").session.is_some_and(|session| session.phase == "ended")
    });
    stage.sealed.ok(["mail", "send", "bob", "-s", "hello", "-m", "no hurry"]);
    assert!(is(&stage.sealed.show("bob"), "hibernating", "task-done"));
    let next = add(&stage, &["paint the gate", "--to", "bob"]);
    stage.sealed.until("it is told", || {
        stage.main_requests().iter().any(|request| request.contains("paint the gate"))
    });
    stage.sealed.until("it waits", || stage.sealed.show("bob").state == "waiting");
    is_told(&stage.sealed, "bob", "waiting", Some("waiting"));
    let bob = stage.sealed.show("bob");
    assert_eq!(bob.session.map(|session| session.number), Some(2));
    assert_eq!(stage.conversation("bob"), conversation);
    let next = shown(&stage, &next.id);
    assert_eq!((next.state.as_str(), next.sessions, next.sessions_unplanned), ("taken", 1, 0));
    assert_eq!(next.last_sessions[0].why, "wake");
    stage.sealed.ok(["task", "done", &next.id, "-m", "fine"]);
    stage.sealed.until("it rests again", || stage.sealed.show("bob").state == "hibernating");
    stage.sealed.ok(["stop", "bob"]);
    add(&stage, &["one more", "--to", "bob"]);
    assert!(is(&stage.sealed.show("bob"), "sleeping", "stopped"));
}

/// A mortal worker is dead when its work is done, and its parent is told.
// covers: T-10
#[test]
fn a_mortal_claude_is_dead_completed_and_its_parent_is_told() {
    let stage = Stage::with_config(ROLES);
    stage.sealed.ok(["spawn", "ada", "--", "sleep", "1000000"]);
    let made = add(&stage, &["mend the fence", "--check-command", "true"]);
    let free = ["--permission-mode", "manual"];
    let options =
        [&free[..], &["--role", "worker", "--parent", "ada", "--task", &made.id]].concat();
    stage.spawn("bob", &options, &done());
    stage.sealed.until("it is dead", || is(&stage.sealed.show("bob"), "dead", "completed"));
    is_told(&stage.sealed, "bob", "dead", Some("expired"));
    let told = stage.sealed.ok(["mail", "ls", "ada"]);
    assert!(told.contains("completed: bob"), "{told}");
    let shown = shown(&stage, &made.id);
    assert_eq!((shown.state.as_str(), shown.sessions), ("verified", 1));
}

/// A task that is too much for a session, which notes how far it is and hands itself off: the next one is told the open step
/// and the last note, and the task says why there was a next one.
// covers: G-04, G-07, G-12
#[test]
fn partial_work_is_kept_as_a_note_and_the_next_session_is_told_it() {
    let stage = Stage::with_config(ROLES);
    let made = add(&stage, &["port the parser", "--step", "lexer", "--step", "grammar"]);
    let call = |tool: &str, input: Value| Turn::tool(format!("mcp__perennial__{tool}"), input);
    // Not in the prompt, which the briefing repeats.
    stage.model.script_everybody(vec![
        call("task", json!({ "action": "step" })).matching("Port it."),
        call("task", json!({ "action": "note", "text": "tokens are done, strings are not" })),
        call("handoff", json!({ "subject": "the parser", "notes": "strings next" })),
        Turn::text("So far."),
        Turn::text("Going on.").repeat(Repeat::ALWAYS),
    ]);
    let free = ["--permission-mode", "manual"];
    let options = [&free[..], &["--role", "keeper", "--task", &made.id]].concat();
    stage.spawn("bob", &options, "Port it.");
    stage.sealed.until("it is noted", || shown(&stage, &made.id).notes == 1);
    stage.sealed.until("the next one waits", || {
        let bob = stage.sealed.show("bob");
        bob.state == "waiting" && bob.session.is_some_and(|session| session.number == 2)
    });
    stage.sealed.until("it is told", || {
        let is_told = |request: &String| {
            request.contains("You are a continuation of session 1")
                && request.contains("Open step 2 of 2")
                && request.contains("strings are not")
        };
        stage.main_requests().iter().any(is_told)
    });
    let task = stage.sealed.ok(["task", "show", &made.id]);
    assert!(task.contains("bob.1 taken, bob.2 handoff"), "{task}");
    let listed = stage.sealed.ok(["task", "ls"]);
    assert!(listed.contains("2 sessions"), "{listed}");
}
