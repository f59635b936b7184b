//! `show`: the whole agent in one JSON document, as in `ls`.

use serde_json::Value;

use crate::sealed::Sealed;

/// Promised to programs: each is there, even if it is null.
const FIELDS: [&str; 19] = [
    "id",
    "name",
    "state",
    "roster",
    "reason",
    "evidence",
    "since",
    "role",
    "parent",
    "harness",
    "host",
    "project",
    "session",
    "predecessor_id",
    "respawn_count",
    "created_at",
    "last_seen",
    "last_activity",
    "summary",
];
const SESSION_FIELDS: [&str; 6] = ["number", "id", "pid", "started_at", "ended_at", "exit"];
const EXIT_FIELDS: [&str; 2] = ["code", "signal"];

#[track_caller]
fn assert_has(object: &Value, fields: &[&str]) {
    for field in fields {
        assert!(object.get(field).is_some(), "no {field} in {object:#}");
    }
}

#[test]
fn every_promised_field_is_there() {
    let sealed = Sealed::up();
    sealed.spawn("lead", "read x");
    let repository = sealed.dir.join("repository");
    std::fs::create_dir_all(repository.join(".git")).expect("a directory");
    let dir = repository.display().to_string();
    let options =
        ["bob", "--role", "builder", "--parent", "lead", "--dir", &dir, "--env", "KEY=secret"];
    sealed.spawn_with(&options, &["/bin/sh", "-c", "read x; exit 4"]);
    let running: Value = sealed.json(&["show", "bob"]);
    assert_has(&running, &FIELDS);
    assert_has(&running["session"], &SESSION_FIELDS);
    assert_eq!(running["session"]["exit"], Value::Null);
    assert_eq!((&running["role"], &running["parent"]), (&"builder".into(), &"lead".into()));
    assert_eq!((&running["harness"], &running["host"]), (&"command".into(), &"shim".into()));
    assert_eq!(running["dir"], dir);
    assert_eq!(running["env_names"], serde_json::json!(["KEY"]));
    assert!(!running.to_string().contains("secret"));
    sealed.ok(["send", "bob", "go"]);
    sealed.watch().ended("bob", 1);
    let ended: Value = sealed.json(&["show", "bob"]);
    let exit = if ended["session"]["number"] == 1 {
        &ended["session"]["exit"]
    } else {
        &ended["previous_exit"]
    };
    assert_has(exit, &EXIT_FIELDS);
    assert_eq!(exit["code"], 4);
    let listed: Vec<Value> = sealed.json(&["ls"]);
    assert_eq!(listed.len(), 2);
    listed.iter().for_each(|agent| assert_has(agent, &FIELDS));
    // For people: the same facts, no JSON.
    let card = sealed.ok(["show", "bob"]);
    assert!(card.contains("builder") && card.contains("exit code 4"), "{card}");
}

/// An empty name is nobody's: the daemon is not taken for an older one that does not know the route.
#[test]
fn an_empty_name_is_not_found() {
    let sealed = Sealed::up();
    for verb in ["show", "logs", "why"] {
        let problem = sealed.refused(4, &[verb, ""]);
        assert_eq!(problem.kind, "no-such-agent", "{verb}: {problem:?}");
    }
    assert_eq!(sealed.refused(4, &["board", "show", ""]).kind, "no-such-post");
}

#[test]
fn a_misspelt_name_is_answered_with_those_that_may_have_been_meant() {
    let sealed = Sealed::up();
    for name in ["bob", "Bobby", "builder"] {
        sealed.spawn(name, "read x");
    }
    sealed.ok(["bury", "Bobby", "--summary", "done"]);
    for (target, hint) in
        [("bbo", "did you mean bob?"), ("BUIL", "did you mean builder?"), ("carol", "")]
    {
        for args in [&["show", target][..], &["stop", target], &["send", target, "x"]] {
            let problem = sealed.refused(4, args);
            assert_eq!((problem.kind.as_str(), problem.detail.as_str()), ("no-such-agent", hint));
            assert_eq!(problem.next, "run `perennial ls --all` to list every agent");
        }
    }
}
