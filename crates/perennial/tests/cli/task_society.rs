//! Tasks with a real agent CLI: the scripted model itself takes, claims and splits them.

use perennial_api::escalation::Escalation;
use perennial_api::signal::SignalList;
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

// covers: T-14, G-07
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

/// The model itself signals, adds a task with an estimate, and by its own calls brings about each escalation that follows
/// from a rule about tasks.
// covers: G-08, S-08
#[test]
fn claude_signals_adds_an_estimated_task_and_sets_off_every_rule_by_its_own_calls() {
    let stage = Stage::new(&Harness::named("claude"));
    verb(&stage, &["spawn", "lead", "--", "sleep", "1000000"]);
    let small = add(&stage, &["sort the imports", "--estimate-steps", "1"]);
    let whole = add(&stage, &["port the parser"]);
    let waiting = add(&stage, &["release it", "--depends-on", &whole.id]);
    let signal = json!({ "action": "send", "kind": "NEEDS_REVIEW", "payload": { "summary": "see the plan" } });
    let step = |text: &str| task(&json!({ "action": "step", "text": text }));
    let turns = json!([
        { "tools": [{ "name": "mcp__perennial__signal", "input": signal }] },
        task(&json!({ "action": "add", "title": "write the guide", "estimate_steps": 3, "reference": "DOC-7",
            "scope": ["docs"], "depends_on": [whole.id], "parent": whole.id })),
        step("one"),
        step("two"),
        step("three"),
        task(&json!({ "action": "block", "on": "outside", "text": "needs a licence key" })),
        task(&json!({ "action": "take", "id": whole.id })),
        task(&json!({ "action": "split", "items": ["the lexer", "the grammar"] })),
        { "text": "Split." },
    ]);
    spawn(&stage, "bob", &["--parent", "lead", "--task", &small.id], &turns);
    stage.until("it is split", || show(&stage, &whole.id).state == "split");
    // Each is told to who is above, once, by the rule that asked for it.
    let escalations = || -> Vec<Escalation> {
        serde_json::from_str(&verb(&stage, &["--json", "escalations"])).expect("escalations")
    };
    let mut told: Vec<(String, String, Vec<String>)> =
        escalations().into_iter().map(|one| (one.cause, one.from, one.steps)).collect();
    told.sort();
    let to_lead = |cause: &str| (cause.to_owned(), "bob".to_owned(), vec!["lead".to_owned()]);
    assert_eq!(
        told,
        [to_lead("blocked-outside"), to_lead("scope-grew"), to_lead("split-has-dependants")]
    );
    let signals: SignalList =
        serde_json::from_str(&verb(&stage, &["--json", "signal", "ls", "--kind", "NEEDS_REVIEW"]))
            .expect("signals");
    let [sent] = &signals.signals[..] else { panic!("{signals:?}") };
    assert_eq!((sent.from.as_str(), sent.to.as_str()), ("bob", "lead"));
    assert_eq!(sent.payload["summary"], "see the plan");
    // The task is as the model said, and a part of the other.
    let parts = show(&stage, &whole.id).parts;
    let guide = show(&stage, &parts[0]);
    assert_eq!((guide.title.as_str(), guide.estimate_steps), ("write the guide", Some(3)));
    assert_eq!(
        (guide.reference.as_deref(), &guide.scope[..]),
        (Some("DOC-7"), &["docs".to_owned()][..])
    );
    assert_eq!((&guide.depends_on, guide.added_by.as_str()), (&vec![whole.id.clone()], "bob"));
    assert_eq!(show(&stage, &waiting.id).waits_for, [whole.id]);
    let small = show(&stage, &small.id);
    assert_eq!((small.exceeds_estimate, small.blocked_on.as_deref()), (true, Some("outside")));
    // What is verified needs nobody's attention any more.
    verb(&stage, &["task", "verify", &small.id]);
    let left = escalations().into_iter().filter(|one| one.state == "open").map(|one| one.cause);
    assert_eq!(left.collect::<Vec<_>>(), ["split-has-dependants"]);
}
