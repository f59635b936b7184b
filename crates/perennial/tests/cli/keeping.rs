//! Uncommitted work is kept by itself: before every planned end, and after a harness has crashed.

use perennial_api::Agent;
use perennial_api::snapshot::Snapshot;

use crate::own_harness::{heard, own_harness};
use crate::sealed::Sealed;
use crate::snapshot::{Project, git};
use crate::watch::Watch;

/// An agent CLI in the project's work tree.
fn harness_in(project: &Project) -> Watch {
    own_harness(&project.sealed, "exec sleep 600", str::to_owned);
    let mut watch = project.sealed.watch();
    let dir = project.dir.to_str().expect("text");
    project.sealed.ok(["spawn", "bob", "--harness", "claude", "--dir", dir]);
    heard(&mut watch, "bob");
    watch
}

fn causes(project: &Project) -> Vec<String> {
    let mut listed: Vec<Snapshot> = project.snapshots();
    listed.reverse();
    listed.into_iter().map(|one| one.why).collect()
}

fn state_of(project: &Project) -> [String; 3] {
    let stash = git(&project.dir, "stash list");
    [git(&project.dir, "status --porcelain=v2 --branch"), git(&project.dir, "show-ref"), stash]
}

/// Point 10 for stop, restart and bury: each has a snapshot of what was there, and changes nothing of it.
#[test]
fn every_verb_that_ends_a_session_keeps_what_is_not_committed() {
    let project = Project::new();
    let sealed = &project.sealed;
    let mut watch = harness_in(&project);
    let before = git(&project.dir, "status --porcelain=v2 --branch");
    sealed.ok(["restart", "bob"]);
    watch.running("bob", 2);
    assert_eq!(causes(&project), ["planned-end"]);
    let [status, refs, _] = state_of(&project);
    assert_eq!(status, before);
    assert!(refs.contains("refs/perennial/base/"), "{refs}");

    // Nothing has changed: the last one serves.
    sealed.ok(["stop", "bob"]);
    assert_eq!(causes(&project).len(), 1);
    let told = sealed.ok(["why", "bob"]);
    assert!(told.contains("nothing has changed since snapshot 1"), "{told}");

    project.write("new.txt", "changed by somebody\n");
    sealed.ok(["wake", "bob"]);
    watch.running("bob", 3);
    sealed.ok(["bury", "bob"]);
    assert_eq!(causes(&project), ["planned-end", "planned-end"]);
    assert_eq!(project.read("new.txt"), "changed by somebody\n");
    let card = sealed.ok(["snapshot", "show", "bob"]);
    assert!(card.contains("session's end"), "{card}");
}

#[test]
fn what_a_crash_left_is_kept_before_the_next_session_starts() {
    let project = Project::new();
    let sealed = &project.sealed;
    let mut watch = harness_in(&project);
    let agent: Agent = sealed.json(&["show", "bob"]);
    let pid = agent.session.and_then(|session| session.pid).expect("it runs");
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    watch.running("bob", 2);
    assert_eq!(causes(&project), ["crash"]);
    let events = sealed.ok(["why", "bob"]);
    let place = |words: &str| events.find(words).unwrap_or_else(|| panic!("{words}: {events}"));
    // The newest comes first.
    assert!(place("session 2 running") < place("snapshot 1 taken"), "{events}");
}

/// A command in no repository is stopped as it always was, and nothing is recorded of snapshots.
#[test]
fn outside_of_git_a_stop_costs_nothing() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--", "/bin/sh", "-c", "read x"]);
    sealed.ok(["stop", "bob"]);
    let told = sealed.ok(["why", "bob"]);
    assert!(!told.contains("snapshot"), "{told}");
}

/// Agents of many projects are stopped at once, more than snapshots are taken at a time: each has its own, and none is missed.
#[test]
fn none_is_missed_when_many_are_stopped_at_once() {
    let sealed = Sealed::up();
    let names: Vec<String> = (0..12).map(|n| format!("a{n}")).collect();
    for name in &names {
        let dir = sealed.dir.join(name);
        std::fs::create_dir(&dir).expect("made");
        git(&dir, "init -q -b main .");
        std::fs::write(dir.join("work.txt"), name).expect("written");
        let dir = dir.to_str().expect("text");
        sealed.ok(["spawn", name, "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    }
    sealed.ok(["stop", "--all"]);
    for name in &names {
        let listed: Vec<Snapshot> = sealed.json(&["snapshot", "ls", name]);
        let told: Vec<(&str, u64)> = listed.iter().map(|one| (&*one.why, one.files)).collect();
        assert_eq!(told, [("planned-end", 1)], "{name}: {}", sealed.ok(["why", name]));
    }
}
