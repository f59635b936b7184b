//! `checkpoints`: where an agent's work stood, listed and shown, for those who may see it.

use perennial_api::Agent;
use perennial_api::checkpoint::{Checkpoint, CheckpointCard};

use crate::callers::{Who, ask_one};
use crate::checkpoint::{agent, repository};
use crate::sealed::Sealed;

#[test]
fn they_are_listed_newest_first_and_outlive_the_daemon() {
    let sealed = Sealed::up();
    let dir = repository(&sealed);
    agent(&sealed, "bob", &dir, "read x");
    assert_eq!(sealed.ok(["checkpoints", "bob"]), "no checkpoints yet\n");
    let none = sealed.refused(4, &["checkpoints", "bob", "--last"]);
    assert_eq!(none.kind, "no-checkpoint");
    for note in ["one", "two", "three"] {
        sealed.ok(["checkpoint", "bob", "-m", note]);
        std::fs::write(dir.join(note), note).expect("written");
    }
    sealed.kill_daemon();
    sealed.start_daemon();
    let all: Vec<Checkpoint> = sealed.json(&["checkpoints", "bob"]);
    let listed: Vec<_> = all.iter().map(|one| (one.number, one.snapshot)).collect();
    assert_eq!(listed, [(3, Some(3)), (2, Some(2)), (1, Some(1))]);
    let some: Vec<Checkpoint> = sealed.json(&["checkpoints", "bob", "--limit", "1"]);
    assert_eq!(some[0].number, 3);
    let some = sealed.ok(["checkpoints", "bob", "-n", "1"]);
    assert!(some.ends_with("there are older ones: -n lists more\n"), "{some}");
    assert!(!sealed.ok(["checkpoints", "bob", "-n", "3"]).contains("older ones"));
    for bad in [["--limit", "0"], ["--limit", "-1"]] {
        let ran = sealed.run([&["checkpoints", "bob"][..], &bad].concat());
        assert!(ran.code == 2 && ran.stderr.contains("from 1 to 1000"), "{ran:?}");
    }
    let ran = sealed.run(["checkpoints", "bob", "abc"]);
    assert!(ran.code == 2 && ran.stderr.contains("a number such as 3"), "{ran:?}");
    let empty = sealed.refused(2, &["checkpoint", "bob", "-m", ""]);
    assert!(empty.next.contains("say something"), "{empty:?}");
    let last: CheckpointCard = sealed.json(&["checkpoints", "bob", "--last"]);
    assert_eq!(last.note.as_deref(), Some("three"));
    let card: CheckpointCard = sealed.json(&["checkpoints", "bob", "2"]);
    assert_eq!((card.checkpoint.number, card.note.as_deref()), (2, Some("two")));
    let shown = sealed.ok(["checkpoints", "bob", "2"]);
    for words in
        ["checkpoint 2", "by you", "main at ", "new.txt (added)", "How to go on (by Perennial):"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(sealed.ok(["checkpoints", "bob"]).starts_with("N  TAKEN"));
    let refused = sealed.refused(4, &["checkpoints", "bob", "9"]);
    assert!(refused.detail.contains("numbered 1 to 3"), "{refused:?}");
    sealed.ok(["bury", "bob"]);
    for (words, title) in [
        (&["checkpoint", "bob"][..], "no checkpoint of bob can be taken"),
        (&["snapshot", "take", "bob"], "no snapshot of bob can be taken, or restored in its place"),
        (&["handoff", "bob"], "bob can't be handed off"),
    ] {
        let refused = sealed.refused(3, words);
        assert_eq!((refused.title.as_str(), refused.detail.as_str()), (title, "it is dead"));
    }
}

#[test]
fn only_persons_the_agent_itself_and_those_above_it_read_them() {
    let sealed = Sealed::up();
    let lead = sealed.spawn("lead", "read x");
    let other = sealed.spawn("other", "read x");
    let child = sealed.spawn_with(&["child", "--parent", "lead"], &["/bin/cat"]);
    sealed.ok(["checkpoint", "child", "-m", "secret-note"]);
    let callers: [(Who<'_>, bool); 5] = [
        (Who::Person, true),
        (Who::Agent(&child), true),
        (Who::Agent(&lead), true),
        (Who::Agent(&other), false),
        (Who::Viewer, false),
    ];
    for (who, sees) in callers {
        for path in ["/v1/agents/child/checkpoints", "/v1/agents/child/checkpoint"] {
            let answer = ask_one(&sealed, who, path);
            assert_eq!(answer.status == 200, sees, "{path}: {answer:?}");
            assert!(sees || !answer.body.to_string().contains("secret-note"), "{answer:?}");
        }
        let shown = ask_one(&sealed, who, "/v1/agents/child");
        let agent: Agent = serde_json::from_value(shown.body).expect("an agent");
        let last = agent.checkpoint.expect("everybody sees that there is one");
        assert_eq!(last.summary.is_some(), sees);
        assert_eq!(agent.withheld.iter().any(|one| one == "checkpoint.summary"), !sees);
    }
}
