//! The ended leave memory: cost follows the living, and the dead are found when they are asked for.

use perennial_api::Agent;
use perennial_api::answer::{Health, Why};
use serde_json::Value;

use crate::sealed::Sealed;

fn counts(sealed: &Sealed) -> (u64, u64) {
    let doctor: Value = sealed.json(&["doctor"]);
    let health: Health = serde_json::from_value(doctor["health"].clone()).expect("a daemon");
    (health.agents.in_memory, health.agents.cemetery)
}

fn names(agents: &[Agent]) -> Vec<&str> {
    agents.iter().map(|agent| agent.name.as_str()).collect()
}

/// Spawned, run to its end and buried.
fn bury(sealed: &Sealed, name: &str) -> Agent {
    sealed.spawn_with(&[name, "--restart", "never"], &["/bin/sh", "-c", "echo was $0", name]);
    sealed.json(&["bury", name, "--summary", &format!("{name} is done")])
}

// The daemon once kept each of the dead for good, and `ls` listed them all.
#[test]
fn the_dead_leave_memory_while_the_daemon_runs() {
    let sealed = Sealed::up();
    sealed.spawn("living", "read x");
    // Each has a dozen events and more; after a thousand of them the ended leave.
    for n in 0..120 {
        bury(&sealed, &format!("dead-{n}"));
    }
    sealed.until("the ended leave", || counts(&sealed).0 < 100);
    let (in_memory, cemetery) = counts(&sealed);
    assert_eq!(cemetery, 120);
    assert_eq!(names(&sealed.json::<Vec<Agent>>(&["ls"])), ["living"]);
    assert_eq!(sealed.json::<Vec<Agent>>(&["ls", "--all"]).len(), 121, "{in_memory} in memory");
    // Whoever left and whoever did not: found alike.
    for n in [0, 50, 119] {
        let name = format!("dead-{n}");
        let dead = sealed.show(&name);
        assert_eq!((dead.state.as_str(), dead.summary), ("dead", Some(format!("{name} is done"))));
    }
    let table = sealed.ok(["ls"]);
    assert!(table.contains("1 living\n120 in the cemetery: "), "{table}");
}

#[test]
fn the_dead_are_found_by_name_by_turn_and_by_id_after_a_restart() {
    let sealed = Sealed::up();
    let first = bury(&sealed, "bob");
    let second = bury(&sealed, "Bob");
    bury(&sealed, "eve");
    let before: Vec<Agent> = sealed.json(&["ls", "--roster", "cemetery"]);
    sealed.ok(["down"]);
    sealed.start_daemon();
    assert_eq!(counts(&sealed), (0, 3));
    let mut after: Vec<Agent> = sealed.json(&["ls", "--roster", "cemetery"]);
    // The youngest first, now that they are read from the store.
    assert_eq!(names(&after), ["eve", "Bob", "bob"]);
    after.sort_by_key(|agent| agent.id.clone());
    let mut expected = before;
    expected.sort_by_key(|agent| agent.id.clone());
    assert_eq!(after, expected, "as they were shown when they died");
    assert_eq!(names(&sealed.json::<Vec<Agent>>(&["ls", "--state", "dead"])).len(), 3);
    assert!(sealed.json::<Vec<Agent>>(&["ls"]).is_empty());
    assert!(sealed.ok(["ls"]).contains("3 in the cemetery"));

    for (target, id) in [
        ("bob", &second.id),
        ("BOB~0", &second.id),
        ("bob~1", &first.id),
        (first.id.as_str(), &first.id),
    ] {
        assert_eq!(&sealed.show(target).id, id, "{target}");
    }
    for target in ["bob~2", "bob~x", "bo", "agt_00000000000000000000000009", "~", "bob~"] {
        assert_eq!(sealed.refused(4, &["show", target]).kind, "no-such-agent", "{target}");
    }
    assert!(sealed.ok(["logs", "bob~1"]).contains("was bob"));
    let why: Why = sealed.json(&["why", &first.id]);
    assert_eq!(why.story.last().map(|last| last.kind.as_str()), Some("moved"), "{why:?}");
    assert!(sealed.ok(["events", "--json"]).contains(r#""agent":"eve""#), "with its name");
    for args in [
        &["wake", "bob"][..],
        &["stop", "bob~1"],
        &["bury", &first.id, "--summary", "again"],
        &["rename", "eve", "adam"],
    ] {
        assert_eq!(sealed.refused(3, args).kind, "wrong-state", "{args:?}");
    }
    let orphan = ["spawn", "kid", "--parent", "eve", "--", "/bin/true"];
    assert_eq!(sealed.refused(3, &orphan).kind, "parent-gone");

    // A name is counted over memory and store.
    let third = sealed.spawn("bob", "read x");
    for (target, id) in [("bob", &third.id), ("bob~1", &second.id), ("bob~2", &first.id)] {
        assert_eq!(&sealed.show(target).id, id, "{target}");
    }
    // Killed before its end was kept: it is folded from the journal, and found all the same.
    sealed.ok(["bury", "bob", "--summary", "third"]);
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(counts(&sealed), (1, 4));
    for (target, id) in [("bob", &third.id), ("bob~1", &second.id), ("bob~2", &first.id)] {
        assert_eq!(&sealed.show(target).id, id, "{target}");
    }
    assert_eq!(sealed.json::<Vec<Agent>>(&["ls", "--all"]).len(), 4);
}
