//! `ls`: who needs you first; rosters, states, projects, and who is stale.

use std::process::Stdio;

use perennial_api::Agent;
use rustix::process::Signal;

use crate::processes::{self, running, signal};
use crate::sealed::{Sealed, pid};
use crate::watch::time;

fn names(agents: &[Agent]) -> Vec<&str> {
    agents.iter().map(|agent| agent.name.as_str()).collect()
}

#[test]
fn who_needs_you_comes_first_and_filters_filter() {
    let sealed = Sealed::up();
    let tree = |name: &str| {
        let dir = sealed.dir.join(name);
        std::fs::create_dir_all(dir.join("src")).expect("a directory");
        dir.display().to_string()
    };
    let (one, two) = (tree("one"), tree("two"));
    sealed.spawn_with(&["zoe", "--dir", &one], &["/bin/sh", "-c", "read x"]);
    sealed.spawn_with(&["Ann", "--dir", &two], &["/bin/sh", "-c", "read x"]);
    sealed.spawn("asleep", "read x");
    sealed.spawn("buried", "read x");
    sealed.spawn_with(&["needy", "--restart", "never"], &["/bin/sh", "-c", "exit 9"]);
    sealed.watch().ended("needy", 1);
    sealed.ok(["stop", "asleep"]);
    sealed.ok(["bury", "buried", "--summary", "done"]);
    let listed: Vec<Agent> = sealed.json(&["ls"]);
    assert_eq!(names(&listed), ["needy", "Ann", "zoe", "asleep"]);
    let all: Vec<Agent> = sealed.json(&["ls", "--all"]);
    assert_eq!(names(&all), ["needy", "Ann", "zoe", "asleep", "buried"]);
    assert_eq!(
        all.iter().map(|agent| agent.needs_you).collect::<Vec<_>>(),
        [true, false, false, false, false]
    );
    for (args, expected) in [
        (&["--roster", "living"][..], &["Ann", "zoe"][..]),
        (&["--roster", "freezer"], &["needy", "asleep"]),
        (&["--roster", "cemetery"], &["buried"]),
        (&["--state", "sleeping"], &["needy", "asleep"]),
        (&["--state", "frozen"], &[]),
        (&["--project", &one], &["zoe"]),
        (&["--project", "two"], &["Ann"]),
        (&["--project", "nowhere"], &[]),
        (&["--roster", "living", "--project", &two], &["Ann"]),
    ] {
        let listed: Vec<Agent> = sealed.json(&[&["ls"], args].concat());
        assert_eq!(names(&listed), expected, "{args:?}");
    }
    for args in [["--roster", "underworld"], ["--state", "bored"]] {
        assert_eq!(sealed.run(["ls"].iter().chain(&args)).code, 2);
    }
    let table = sealed.ok(["ls"]);
    let places: Vec<_> =
        ["needy", "Ann", "zoe", "asleep"].iter().map(|name| table.find(name)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{table}");
}

// covers: S-02, J-04
#[test]
fn who_is_not_confirmed_is_unknown_and_stale_and_an_idle_one_never() {
    let sealed = Sealed::up();
    let idle = sealed.spawn("idle", "read x");
    let mute = sealed.spawn("mute", "read x");
    let gone = sealed.spawn("gone", "read x");
    assert!(sealed.json::<Vec<Agent>>(&["ls", "--stale=0"]).is_empty());
    // Holders that live and do not answer, and a daemon that knows nothing of them but its journal.
    let (shim, doomed) = (sealed.shim(&mute), sealed.shim(&gone));
    assert!(signal(shim, Signal::STOP) && signal(doomed, Signal::STOP));
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("the idle one is confirmed", || sealed.show("idle").state == "working");
    for name in ["mute", "gone"] {
        let agent = sealed.show(name);
        assert_eq!(agent.state, "unknown", "{agent:?}");
        assert!(
            ["daemon-started", "holder-unreachable"].contains(&agent.reason.as_str()),
            "{agent:?}"
        );
    }
    let stale: Vec<Agent> = sealed.json(&["ls", "--stale=0"]);
    assert_eq!(names(&stale), ["gone", "mute"]);
    assert!(sealed.json::<Vec<Agent>>(&["ls", "--stale"]).is_empty(), "300 s are not over");
    sealed.until("doctor warns", || {
        let doctor = sealed.run(["doctor"]);
        doctor.stdout.contains("mute does not answer")
    });
    assert_eq!(sealed.show("mute").reason, "holder-unreachable");

    // Confirmed again: it is what it was, and was never restarted.
    assert!(signal(shim, Signal::CONT));
    sealed.until("it is confirmed", || sealed.show("mute").state == "working");
    let now = sealed.show("mute");
    assert_eq!((pid(&now), now.respawn_count), (pid(&mute), 0));
    assert!(time(now.last_seen.as_ref().expect("seen")) > time(&mute.created_at));
    // Confirmation lost and the process gone: a crash.
    processes::kill(doomed);
    let mut watch = sealed.watch();
    let (_, exit) = watch.ended("gone", 1);
    assert_eq!(exit, serde_json::json!({"unknown": "holder-died"}));
    watch.running("gone", 2);
    assert!(sealed.json::<Vec<Agent>>(&["ls", "--stale=0"]).is_empty());
    assert_eq!(pid(&sealed.show("idle")), pid(&idle));
    assert!(processes::is_alive(running(pid(&idle))));
    sealed.assert_nobody_doubled();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sealed = Sealed::up();
    for n in 0..30 {
        sealed.spawn_with(&[&format!("a{n}"), "--restart", "never"], &["true"]);
    }
    let mut child = sealed
        .command(["ls", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    drop(child.stdout.take());
    let ran = crate::sealed::ended(child, "ls");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}
