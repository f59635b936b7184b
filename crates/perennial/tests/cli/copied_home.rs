//! A home that is copied while its original runs: nobody is signalled, nothing is started twice, and a person
//! is told the way out.

use std::process::Command;

use tempfile::TempDir;

use crate::processes;
use crate::sealed::Sealed;
use crate::send::{WITNESS, heard, send_waiting, sent, state};

/// The copy of a home, as `cp -a` makes it.
fn copy(original: &Sealed) -> Sealed {
    let temporary = TempDir::with_prefix("perennial-").expect("a temporary directory");
    let root = temporary.path().join("h");
    let copied = Command::new("cp").arg("-a").arg(&original.root).arg(&root).status();
    assert!(copied.expect("cp").success());
    Sealed::at(root, temporary)
}

// covers: J-10
#[test]
fn a_copied_home_leaves_the_originals_sessions_alone_and_holds_its_agents() {
    let original = Sealed::up();
    let worker = original.spawn("worker", "read x");
    let crasher = original.spawn_with(&["crasher"], &["/bin/sh", "-c", "exit 1"]);
    original.spawn("sleeper", "read x");
    original.ok(["stop", "sleeper"]);
    let mut watch = original.watch();
    watch.ended("sleeper", 1);
    watch.ended("crasher", 2);
    let (daemon, shim) = (original.daemon(), original.shim(&worker));
    let before = original.show("worker").session.expect("a session");

    let copy = copy(&original);
    copy.start_daemon();
    copy.until("it is held", || copy.show("worker").reason == "home-copied");
    let held = copy.show("worker");
    assert_eq!((held.state.as_str(), held.reason.as_str()), ("unknown", "home-copied"));
    assert_eq!(held.held_for.as_deref(), Some("person"), "{held:?}");
    let crashed = copy.show("crasher");
    assert_eq!((crashed.state.as_str(), crashed.held_for.as_deref()), ("unknown", Some("person")));
    assert_eq!(copy.show("sleeper").state, "sleeping");
    let up = copy.ok(["up"]);
    assert!(up.contains("this home is a copy") && up.contains("perennial doctor"), "{up}");
    let doctor = copy.ok(["doctor"]);
    assert!(doctor.contains("2 agents may still have a session in the original"), "{doctor}");
    let why = copy.ok(["why", "worker"]);
    assert!(why.contains("copy") && why.contains("perennial wake worker"), "{why}");

    // A daemon that starts once more in the copy knows that by its journal.
    copy.kill_daemon();
    copy.start_daemon();
    copy.until("it is held", || copy.show("worker").reason == "home-copied");
    for one in [daemon, shim] {
        assert!(processes::is_alive(one), "{one:?} is the original's");
    }
    let after = original.show("worker").session.expect("a session");
    assert_eq!((before.number, before.pid), (after.number, after.pid));

    // The way out: a person wakes it here, as another session, and the original goes on.
    copy.ok(["wake", "worker"]);
    let mut copied = copy.watch();
    copied.running("worker", 2);
    copy.ok(["stop", "worker"]);
    copied.ended("worker", 2);
    assert!(processes::is_alive(shim), "stopping the copy's session leaves the original's alone");
    assert_eq!(original.show("worker").session.expect("a session").pid, before.pid);
    // A killed shim of the copy is swept by its marks, and the original carries the same.
    copy.ok(["wake", "worker"]);
    copied.running("worker", 3);
    processes::kill(copy.shim(&copy.show("worker")));
    copied.ended("worker", 3);
    assert!(processes::is_alive(shim), "the sweep spares what another home holds");
    assert_eq!(original.show("worker").session.expect("a session").pid, before.pid);
    assert_ne!(crasher.id, worker.id);
}

/// Both homes run the agent in the same directory, and so its sessions write to the same file.
#[test]
fn a_text_that_waited_when_the_home_was_copied_is_given_by_the_original_only() {
    let original = Sealed::up();
    original.spawn("bob", WITNESS);
    original.ok(["stop", "bob"]);
    let id = send_waiting(&original, "bob", "once");
    let copy = copy(&original);
    copy.start_daemon();
    copy.until("it is held", || copy.show("bob").needs_you);
    let waits = sent(&copy, "bob");
    let (is, why) = state(&waits[0]);
    assert_eq!(is, "waiting", "{waits:?}");
    assert!(why.contains("before this home was copied") && why.contains("unsend"), "{why}");
    copy.ok(["wake", "bob"]);
    copy.watch().running("bob", 2);
    original.ok(["wake", "bob"]);
    original.until("the original gives it", || heard(&original) == ["once"]);
    copy.ok(["unsend", &id]);
    copy.ok(["send", "bob", "here"]);
    copy.until("the next text is read", || heard(&original).len() > 1);
    assert_eq!(heard(&original), ["once", "here"]);
}

/// What a process has locked is not copied: whoever lives in a home shows that it is the original.
#[test]
fn a_home_whose_node_file_is_lost_or_restored_keeps_its_sessions() {
    let lose: [fn(&Sealed); 2] = [
        |home| std::fs::remove_file(home.home.data.join("node.json")).expect("removed"),
        |home| {
            let kept = home.home.data.with_extension("kept");
            std::fs::rename(&home.home.data, &kept).expect("moved");
            let restored = Command::new("cp").arg("-a").arg(&kept).arg(&home.home.data).status();
            assert!(restored.expect("cp").success());
        },
    ];
    for lose in lose {
        let home = Sealed::up();
        let worker = home.spawn("worker", "read x");
        home.ok(["down"]);
        lose(&home);
        home.start_daemon();
        home.until("it is adopted", || home.show("worker").state == "working");
        let found = home.show("worker");
        assert_eq!((&found.session, &found.held_for), (&worker.session, &None), "{}", found.reason);
        home.ok(["stop", "worker"]);
        home.watch().ended("worker", 1);
        assert!(home.marked(&worker).is_empty(), "its session was ended");
    }
}

/// The paths that its shims were started with are another home's now.
#[test]
fn a_home_that_was_moved_goes_on_beside_a_copy_in_its_old_place() {
    let copied = Sealed::up();
    let worker = copied.spawn("worker", "read x");
    let shim = copied.shim(&worker);
    // A session that lived for a second is followed at once, in the same shim; this one is the clock.
    copied.spawn_with(&["clock", "--restart", "never"], &["sleep", "1.1"]);
    copied.watch().ended("clock", 1);
    copied.ok(["down"]);
    let temporary = TempDir::new_in(copied.root.parent().expect("a parent")).expect("a directory");
    let root = temporary.path().join("h");
    std::fs::rename(&copied.root, &root).expect("moved on the same disk");
    let copy = Command::new("cp").arg("-a").arg(&root).arg(&copied.root).status();
    assert!(copy.expect("cp").success());
    let moved = Sealed::at(root, temporary);
    moved.start_daemon();
    moved.until("it is adopted", || moved.show("worker").state == "working");
    copied.start_daemon();
    copied.until("it is held", || copied.show("worker").reason == "home-copied");

    // The sweep after a killed shim of the copy looks for the marks that the original's session carries.
    copied.ok(["wake", "worker"]);
    let mut watch = copied.watch();
    watch.running("worker", 2);
    processes::kill(copied.shim(&copied.show("worker")));
    watch.ended("worker", 2);
    assert!(processes::is_alive(shim), "the original's");
    assert_eq!(moved.show("worker").session, worker.session);

    // The shim claims and records where its directory is, not where it was.
    processes::kill(processes::running(crate::sealed::pid(&worker)));
    moved.watch().running("worker", 2);
    assert!(processes::is_alive(shim), "its next session is in the same shim");
}

#[test]
fn a_home_that_was_moved_is_the_same_node() {
    let original = Sealed::up();
    let worker = original.spawn("worker", "read x");
    original.ok(["stop", "worker"]);
    original.watch().ended("worker", 1);
    original.ok(["down"]);
    let temporary =
        TempDir::new_in(original.root.parent().expect("a parent")).expect("a directory");
    let root = temporary.path().join("h");
    std::fs::rename(&original.root, &root).expect("moved on the same disk");
    let moved = Sealed::at(root, temporary);
    moved.start_daemon();
    let found = moved.show("worker");
    assert_eq!((found.id, found.held_for), (worker.id, None), "{}", found.reason);
    moved.ok(["wake", "worker"]);
    moved.watch().running("worker", 2);
}
