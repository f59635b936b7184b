//! `--vocabulary` on `task` and `signal`: printed and read in the words of each seed.

use perennial_api::signal::Signal;
use perennial_api::task::Task;
use perennial_core::task::TaskState;
use serde_json::{Map, Value, json};

use crate::callers::{Who, ask_one};
use crate::mail::{within, worker};
use crate::sealed::{PROGRAM, Sealed};
use crate::task::{add, show};

type Document = Map<String, Value>;

/// The tasks that are listed, as the vocabulary has them.
#[track_caller]
fn listed(sealed: &Sealed, words: &[&str]) -> Vec<Document> {
    let list: Document = sealed.json(&[&["task", "ls"], words].concat());
    serde_json::from_value(list["tasks"].clone()).expect("documents")
}

/// One task in each state of the model, by its title; `bob` has what somebody has.
fn work() -> Sealed {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--role", "worker", "--", "sleep", "1000000"]);
    add(&sealed, "open", &["--to", "role:worker"]);
    let all = [
        ("split", &["split", "--into", "x", "--into", "y"][..]),
        ("verified", &["verify"]),
        ("dropped", &["drop", "-m", "not needed"]),
        ("blocked", &["block", "-m", "needs a key"]),
    ];
    for (title, words) in all {
        let id = add(&sealed, title, &[]).id;
        let words: Vec<&str> = [&["task", words[0], id.as_str()], &words[1..]].concat();
        sealed.ok(words);
    }
    add(
        &sealed,
        "taken",
        &["--to", "bob", "--step", "find", "--step", "mend", "--ref", "AUTH-123"],
    );
    // Without a check it waits for somebody's word.
    worker(&sealed, "kim", &[]);
    let claimed = add(&sealed, "claimed", &["--to", "kim"]).id;
    let said = within(&sealed, "kim", &format!("{PROGRAM} task done {claimed}"));
    assert!(said.contains("claimed"), "{said}");
    sealed
}

const TITLES: [&str; 7] = ["open", "taken", "claimed", "blocked", "split", "verified", "dropped"];

/// Whose words; the fields of a task's id and state; its states in the order of `TITLES`.
const VOCABULARIES: [(&str, &str, &str, &str); 5] = [
    ("haak", "situation_id", "state", "open taken claimed blocked split verified dropped"),
    ("julian", "taskId", "status", "open taken claimed blocked split verified dropped"),
    (
        "tavern",
        "queue_item",
        "state",
        "pending in-progress in-progress in-progress in-progress completed dropped",
    ),
    ("s3", "node_id", "status", "pending active active active active validated abandoned"),
    ("gastown", "bead", "state", "open open open open open closed closed"),
];

#[test]
fn every_state_of_a_task_is_printed_and_read_in_each_vocabulary() {
    let sealed = work();
    let ours: Vec<Task> = {
        let list: perennial_api::task::TaskList = sealed.json(&["task", "ls", "--all"]);
        list.tasks
    };
    // Every state of the model is among them.
    let mut states: Vec<&str> = ours.iter().map(|task| task.state.as_str()).collect();
    states.sort_unstable();
    states.dedup();
    let mut all = TaskState::WORDS;
    all.sort_unstable();
    assert_eq!(states, all);
    for (vocabulary, id, state, said) in VOCABULARIES {
        let words = TITLES.into_iter().zip(said.split(' '));
        let all = listed(&sealed, &["--all", "--vocabulary", vocabulary]);
        assert_eq!(all.len(), ours.len(), "{vocabulary}");
        for (title, word) in words {
            let task = ours.iter().find(|task| task.title == title).expect("listed");
            let one = all.iter().find(|one| one[id] == json!(task.id)).expect("listed");
            assert_eq!(one[state], word, "{vocabulary} {title}");
            let shown: Document =
                sealed.json(&["task", "show", &task.id, "--vocabulary", vocabulary]);
            assert_eq!(&shown, one, "{vocabulary} {title}");
            // The word finds it again, and nothing that has another.
            let found = listed(&sealed, &["--state", word, "--vocabulary", vocabulary]);
            assert!(found.contains(one), "{vocabulary} {word}");
            assert!(found.iter().all(|found| found[state] == word), "{vocabulary} {word}");
        }
        let table = sealed.ok(["task", "ls", "--all", "--vocabulary", vocabulary]);
        assert!(table.contains(id) && table.contains(state), "{table}");
        assert!(sealed.ok(["task", "show", &ours[0].id, "--vocabulary", vocabulary]).contains(id));
    }
}

#[test]
fn words_of_other_vocabularies_and_states_within_states() {
    let sealed = work();
    // The states within a state of Gas Town, and its roles.
    for (word, title) in
        [("pinned", "taken"), ("done", "claimed"), ("decomposed", "split"), ("blocked", "blocked")]
    {
        let found = listed(&sealed, &["--state", word, "--vocabulary", "gastown"]);
        assert_eq!((found.len(), &found[0]["title"]), (1, &json!(title)));
    }
    let polecats = listed(&sealed, &["--role", "polecat", "--vocabulary", "gastown"]);
    assert_eq!((polecats.len(), &polecats[0]["assignee"]), (1, &json!("role:polecat")));
    add(&sealed, "next", &["--to", "role:polecat", "--vocabulary", "gastown"]);
    assert_eq!(listed(&sealed, &["--role", "worker"]).len(), 2);
    // What has no word is refused, and `merged` has no source yet.
    assert!(listed(&sealed, &["--state", "merged", "--vocabulary", "s3"]).is_empty());
    for (words, says) in [
        (&["--state", "merged"][..], "no state 'merged'"),
        (&["--state", "taken", "--vocabulary", "tavern"], "Tavern has no state 'taken'"),
    ] {
        let problem = sealed.refused(2, &[&["task", "ls"], words].concat());
        assert!(problem.title.contains(says), "{problem:?}");
    }
    let asked = ask_one(&sealed, Who::Person, "/v1/tasks?vocabulary=latin");
    assert_eq!((asked.status, &asked.body["kind"]), (400, &json!("bad-vocabulary")));
}

/// The seeds' own names for a piece of work: HAAK's situation with its belongings, Gas Town's bead with its molecule, S3's
/// node with its bead, Tavern's queue item.
#[test]
fn the_work_of_the_seeds_examples_is_reproduced() {
    let sealed = work();
    let task = sealed.json::<perennial_api::task::TaskList>(&["task", "ls", "--agent", "bob"]);
    let task = show(&sealed, &task.tasks[0].id);
    let document = |vocabulary| -> Document {
        sealed.json(&["task", "show", &task.id, "--vocabulary", vocabulary])
    };
    let bead = json!({
        "bead": task.id,
        "title": "taken",
        "state": "open",
        "hook": "pinned",
        "assignee": "bob",
        "molecule": [{ "step": "find", "state": "open" }, { "step": "mend", "state": "open" }],
        "step": 1,
        "epic": null,
        "sub_tasks": [],
        "blockers": [],
        "notes": "in progress",
    });
    assert_eq!(Value::Object(document("gastown")), bead);
    let node = json!({
        "schema_version": "1.0",
        "identity_name": "bob",
        "node_id": task.id,
        "pipeline_id": null,
        "bead_id": "AUTH-123",
        "work_summary": "taken",
        "requested_at": task.added_at,
        "status": "active",
        "tests_status": null,
        "attempts": 0,
        "last_error": null,
        "target_dir": sealed.dir,
    });
    assert_eq!(Value::Object(document("s3")), node);
    let situation = json!({
        "situation_id": task.id,
        "state": "taken",
        "actor": "bob",
        "method": null,
        "domain": sealed.dir,
        "description": "taken",
        "registered": task.added_at,
        "updated": task.since,
    });
    assert_eq!(Value::Object(document("haak")), situation);
    let item = document("tavern");
    assert_eq!((&item["queue_item"], &item["agent"]), (&json!(task.id), &json!("bob")));
    // "Step 3 of 7": the molecule tracks which step is open.
    sealed.ok(["task", "step", &task.id]);
    assert_eq!(document("gastown")["step"], 2);
}

/// S3's source and target words select signals; its documents have the seed's fields; Julian's markers are read.
#[test]
fn signals_are_printed_and_read_in_each_vocabulary() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--", "sleep", "1000000"]);
    let signals = |words: &[&str]| -> Vec<Document> {
        let list: Document = sealed.json(&[&["signal", "ls"], words].concat());
        serde_json::from_value(list["signals"].clone()).expect("documents")
    };
    let s3 = |words: &[&str]| signals(&[words, &["--vocabulary", "s3"]].concat());
    let registered = s3(&["--from", "spawn"]);
    assert_eq!(registered.len(), 1, "{registered:?}");
    let one = &registered[0];
    assert_eq!(one["signal_type"], "AGENT_REGISTERED");
    assert_eq!((&one["source"], &one["target"]), (&json!("spawn"), &json!("guardian")));
    assert_eq!(one["payload"]["identity_name"], "bob");
    assert!(s3(&["--from", "runner"]).is_empty());
    // The runner that is meant is the one that the payload names.
    let conflict = |to: &str, vocabulary: &str| {
        let fields =
            r#"{"identity_name": "bob", "conflicting_files": ["a"], "resolution_hints": null}"#;
        let words = ["signal", "send", "MERGE_CONFLICT", "--to", to, "--payload", fields];
        sealed.json::<Signal>(&[&words[..], &["--vocabulary", vocabulary]].concat())
    };
    assert_eq!(conflict("runner", "s3").to, "bob");
    assert_eq!(conflict("polecat", "gastown").to, "bob");
    assert_eq!(s3(&["--from", "guardian", "--to", "runner"]).len(), 2);
    assert_eq!(s3(&["--to", "guardian"]).len(), 1);
    sealed.ok(["stop", "bob"]);
    assert_eq!(s3(&["--from", "runner"])[0]["signal_type"], "AGENT_TERMINATED");
    let julian = ["--kind", "[AGENT_REGISTERED]", "--vocabulary", "julian"];
    let marker = &signals(&julian)[0];
    assert_eq!(
        (&marker["type"], &marker["marker"]),
        (&json!("marker"), &json!("[AGENT_REGISTERED]"))
    );
    let gastown = ["--from", "polecat", "--vocabulary", "gastown"];
    assert_eq!(signals(&gastown)[0]["subject"], "AGENT_TERMINATED");
    for (vocabulary, field) in [
        ("haak", "signal"),
        ("tavern", "trigger"),
        ("julian", "marker"),
        ("s3", "signal_type"),
        ("gastown", "subject"),
    ] {
        let table = sealed.ok(["signal", "ls", "--vocabulary", vocabulary]);
        assert!(table.contains(field) && table.contains("AGENT_REGISTERED"), "{table}");
        let after = signals(&["--vocabulary", vocabulary, "-n", "1"]);
        assert!(after[0].contains_key(field));
        let first = &s3(&["--from", "spawn"])[0]["id"];
        let waited: Document = sealed.json(&[
            "signal",
            "wait",
            "--after",
            first.as_str().expect("an id"),
            "--vocabulary",
            vocabulary,
        ]);
        assert!(waited.contains_key(field), "{waited:?}");
    }
    // Without the vocabulary an agent may be called so.
    let problem = sealed.refused(4, &["signal", "ls", "--from", "spawn"]);
    assert!(problem.title.contains("spawn"), "{problem:?}");
}

/// Open loops are tasks, and are printed as such.
#[test]
fn loops_are_printed_in_each_vocabulary() {
    let sealed = work();
    assert!(sealed.ok(["loops", "--vocabulary", "s3"]).contains("no open loops"));
    sealed.ok(["bury", "bob"]);
    for (vocabulary, id, state, _) in VOCABULARIES {
        let left: Document = sealed.json(&["loops", "--vocabulary", vocabulary]);
        let left: Vec<Document> = serde_json::from_value(left["tasks"].clone()).expect("documents");
        assert_eq!(left.len(), 1, "{vocabulary}: {left:?}");
        let ours = show(&sealed, left[0][id].as_str().expect("an id"));
        assert_eq!((ours.title.as_str(), ours.open_loop.is_some()), ("taken", true));
        let table = sealed.ok(["loops", "--vocabulary", vocabulary]);
        assert!(table.contains(id) && table.contains(state), "{table}");
    }
}
