//! `wake`: the next session of an agent that has none.

use crate::sealed::{Sealed, pid};

#[test]
fn a_stopped_agent_gets_its_next_session_and_keeps_its_identity() {
    let sealed = Sealed::up();
    let first = sealed.spawn("bob", "read x");
    sealed.ok(["stop", "bob"]);
    let told = sealed.ok(["wake", "bob"]);
    assert!(told.starts_with("bob is working (session 2, pid "), "{told}");
    let second = sealed.show("bob");
    assert_eq!(second.id, first.id);
    assert_ne!(pid(&second), pid(&first));
    // A bare command has no conversation that it could leave, and is not said to.
    sealed.ok(["restart", "bob", "--fresh"]);
    let why = sealed.ok(["why", "bob"]);
    assert!(why.contains("session 3") && !why.contains("conversation"), "{why}");
}

#[test]
fn an_agent_that_is_awake_is_refused_with_what_why_and_what_to_do_next() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    assert_eq!(sealed.refused(3, &["wake", "bob"]).kind, "running");
    let told = sealed.run(["wake", "bob"]).stderr;
    let labels: Vec<&str> = told.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(labels, ["error", "why", "next"], "{told}");
}

/// N8: the child that failed to execute its program was still in its cgroup when that was to be removed.
#[test]
fn no_empty_cgroup_stays_behind_a_program_that_is_gone() {
    let sealed = Sealed::up();
    let program = sealed.dir.join("program");
    std::fs::copy("/bin/sleep", &program).expect("a program");
    let path = program.to_str().expect("Unicode");
    sealed.spawn_with(&["bob", "--restart", "never"], &[path, "1000000"]);
    sealed.ok(["stop", "bob"]);
    assert_eq!(sealed.cgroups(), [""; 0].map(std::path::PathBuf::from));
    std::fs::remove_file(&program).expect("gone");
    for _ in 0..5 {
        sealed.run(["wake", "bob"]);
        assert_eq!(sealed.cgroups(), [""; 0].map(std::path::PathBuf::from));
    }
    // One that a killed shim left is removed by the next daemon.
    let Some(left) = sealed.cgroup_of("left-behind") else { return };
    std::fs::create_dir(&left).expect("an empty cgroup");
    sealed.ok(["down"]);
    sealed.start_daemon();
    assert!(!left.exists());
}
