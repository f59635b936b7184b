//! Verbs about several agents: names and patterns, each answered, all at the same time.

use std::time::{Duration, Instant};

use perennial_api::{Agent, Problem};

use crate::sealed::Sealed;

const DEAF: &str = "trap '' INT; while :; do sleep 0.1; done";

/// The states of these agents.
fn states(sealed: &Sealed, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| sealed.show(name).state).collect()
}

#[test]
fn a_pattern_names_everybody_whose_name_it_matches_in_order() {
    let sealed = Sealed::up();
    for name in ["web-2", "Web-1", "db", "gone-web"] {
        sealed.spawn(name, "read x");
    }
    sealed.ok(["bury", "gone-web", "--summary", "no pattern finds it"]);
    let told = sealed.ok(["stop", "db", "WEB-*", "web-2", "*b"]);
    let whom: Vec<&str> = told.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(whom, ["db", "Web-1", "web-2"], "each once: {told}");
    let woken: Vec<Agent> = sealed.json(&["wake", "web-?"]);
    let woken: Vec<(&str, &str)> =
        woken.iter().map(|agent| (agent.name.as_str(), agent.state.as_str())).collect();
    assert_eq!(woken, [("Web-1", "working"), ("web-2", "working")]);
    let restarted: Vec<Agent> = sealed.json(&["restart", "web-[12]", "db"]);
    assert!(restarted.iter().all(|agent| agent.state == "working"), "{restarted:?}");
    sealed.ok(["bury", "web-1", "db", "--summary", "together"]);
    assert_eq!(states(&sealed, &["web-1", "db", "web-2"]), ["dead", "dead", "working"]);
    let id = sealed.show("web-2").id;
    let once: Vec<Agent> = sealed.json(&["restart", "web-2", &id, "WEB-2"]);
    assert_eq!(once.len(), 1, "{once:?}");
    // One that is named is as ever: an object, or a problem of its own.
    let one: Agent = sealed.json(&["stop", "web-2"]);
    assert_eq!(one.state, "sleeping");
}

#[test]
fn one_that_fails_stops_nothing_and_the_highest_exit_code_counts() {
    let sealed = Sealed::up();
    for name in ["ada", "bob"] {
        sealed.spawn(name, "read x");
    }
    sealed.ok(["stop", "ada"]);
    // Refused for bob, who runs (3); nobody is called eve (4).
    let ran = sealed.run(["--json", "wake", "bob", "eve", "ada"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let problems: Vec<Problem> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).expect("a problem")).collect();
    let kinds: Vec<&str> = problems.iter().map(|problem| problem.kind.as_str()).collect();
    assert_eq!(kinds, ["running", "no-such-agent"]);
    let woken: Vec<Agent> = serde_json::from_str(&ran.stdout).expect("an array");
    assert_eq!(woken.len(), 1);
    assert_eq!(woken[0].name, "ada");
    let none = sealed.refused(4, &["stop", "web-*"]);
    assert_eq!(none.kind, "no-match");
    assert_eq!(states(&sealed, &["ada", "bob"]), ["working", "working"]);
}

/// Each takes two seconds to end (INT, then TERM).
#[test]
fn several_are_stopped_at_the_same_time() {
    let sealed = Sealed::up();
    for n in 0..6 {
        sealed.spawn(&format!("deaf-{n}"), DEAF);
    }
    let begun = Instant::now();
    let stopped: Vec<Agent> = sealed.json(&["stop", "deaf-*"]);
    assert_eq!(stopped.len(), 6);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(7), "one after another: {took:?}");
}

#[test]
fn logs_of_several_are_printed_below_their_names() {
    let sealed = Sealed::up();
    for name in ["web-1", "web-2"] {
        sealed.spawn_with(&[name, "--restart", "never"], &["echo", &format!("I am {name}")]);
        sealed.watch().ended(name, 1);
    }
    let told = sealed.ok(["logs", "web-*"]);
    assert_eq!(told, "==> web-1 <==\nI am web-1\n==> web-2 <==\nI am web-2\n");
    let ran = sealed.run(["--json", "logs", "web-2", "eve"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stdout.starts_with("{\"agent\":\"web-2\"}\n"), "{ran:?}");
    assert_eq!(sealed.run(["logs", "web-*", "--follow"]).code, 2);
}
