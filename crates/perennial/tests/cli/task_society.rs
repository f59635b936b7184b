//! Tasks with a real agent CLI: the scripted model itself takes, claims and splits them.

use perennial_api::task::{Task, TaskList};
use serde_json::{Value, json};

use crate::conformance::harness::Harness;
use crate::conformance::stage::{Stage, prompt};
use crate::sealed::finish;

/// A call of the tool `task`, as the model writes it.
fn task(input: &Value) -> Value {
    json!({ "tools": [{ "name": "mcp__perennial__task", "input": input }] })
}

#[track_caller]
fn verb(stage: &Stage, words: &[&str]) -> String {
    let ran = finish(stage.command(words));
    assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
    ran.stdout
}

#[track_caller]
fn add(stage: &Stage, words: &[&str]) -> Task {
    let said = verb(stage, &[&["--json", "task", "add"], words].concat());
    let tasks: Vec<Task> = serde_json::from_str(&said).expect("tasks");
    tasks.into_iter().next().expect("a task")
}

#[track_caller]
fn show(stage: &Stage, id: &str) -> Task {
    serde_json::from_str(&verb(stage, &["--json", "task", "show", id])).expect("a task")
}

#[track_caller]
fn spawn(stage: &Stage, name: &str, more: &[&str], turns: &Value) {
    let prompt = prompt(turns);
    let mut words = vec!["spawn", name, "--harness", "claude", "--prompt", &prompt];
    words.extend(stage.conformance.free.iter().map(String::as_str));
    words.extend(more);
    verb(stage, &words);
}

fn was_told(stage: &Stage, words: &str) -> bool {
    stage.requests().iter().any(|record| record.request.contains(words))
}

// covers: T-13
#[test]
fn claude_gets_its_task_back_with_the_checks_output_and_then_has_it_verified() {
    let stage = Stage::new(&Harness::named("claude"));
    let check = "sh check.sh";
    std::fs::write(stage.work.join("check.sh"), "echo 7 tests failed; test -e good\n")
        .expect("written");
    let made = add(&stage, &["make it green", "--step", "mend", "--check-command", check]);
    let id = made.id;
    let turns =
        json!([task(&json!({ "action": "done", "text": "green" })), { "text": "Claimed." }]);
    spawn(&stage, "bob", &["--task", &id], &turns);
    stage.until("it comes back", || show(&stage, &id).rounds == 1);
    assert!(was_told(&stage, "Your task: tsk_") && was_told(&stage, "Open step 1 of 1"));
    // The output comes by mail, as its next turn or in it.
    stage.until("the model is told", || was_told(&stage, "7 tests failed"));
    std::fs::write(stage.work.join("good"), "").expect("written");
    let turns = json!([
        task(&json!({ "action": "step" })),
        task(&json!({ "action": "done", "text": "green now" })),
        { "text": "Claimed again." },
    ]);
    verb(&stage, &["send", "bob", "--wait", &prompt(&turns)]);
    stage.until("it is verified", || show(&stage, &id).state == "verified");
    let done = show(&stage, &id);
    assert_eq!((done.verified_by.as_deref(), done.steps_done), (Some("check"), 1));
    // Its first turn at least, of which nothing was known when it claimed.
    assert!(done.tokens.is_some_and(|tokens| tokens > 0), "{done:?}");
}

// covers: T-14
#[test]
fn claude_splits_its_task_and_its_parent_takes_up_what_it_leaves() {
    let stage = Stage::new(&Harness::named("claude"));
    let config = stage.sealed.home.config.join("config.toml");
    std::fs::write(config, "raise_loops_after_s = 2\n").expect("written");
    stage.sealed.kill_daemon();
    stage.sealed.start_daemon();
    let made = add(&stage, &["port the parser"]);
    spawn(&stage, "ada", &[], &json!([{ "text": "Ready." }]));
    let turns = json!([
        task(&json!({ "action": "split", "items": ["the lexer", "the grammar"] })),
        { "text": "Split." },
    ]);
    spawn(&stage, "bob", &["--parent", "ada", "--task", &made.id], &turns);
    stage.until("it is split", || show(&stage, &made.id).state == "split");
    let parts = show(&stage, &made.id).parts;
    let first = show(&stage, &parts[0]);
    assert_eq!((first.title.as_str(), first.assignee.as_deref()), ("the lexer", Some("bob")));
    verb(&stage, &["bury", "bob"]);
    let loops = || -> TaskList {
        serde_json::from_str(&verb(&stage, &["--json", "loops"])).expect("loops")
    };
    assert!(
        loops().tasks.iter().all(|task| task.open_loop.as_ref().is_some_and(|it| it.to == "ada"))
    );
    stage.until("its parent is told", || was_told(&stage, "unfinished tasks to you"));
    // Nobody has taken it up: it comes back, by the clock, into the parent's conversation.
    let raised = || show(&stage, &parts[0]).open_loop.map_or(0, |it| it.raised);
    stage.until("it is raised again", || raised() >= 2);
    stage.until("its parent is told again", || was_told(&stage, "still open"));
    let turns = json!([
        task(&json!({ "action": "take", "id": parts[0] })),
        { "text": "Mine now." },
    ]);
    verb(&stage, &["send", "ada", "--wait", &prompt(&turns)]);
    stage.until("it is taken", || show(&stage, &parts[0]).assignee.as_deref() == Some("ada"));
    assert!(loops().tasks.iter().all(|task| task.id != parts[0]));
}
