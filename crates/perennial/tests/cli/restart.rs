//! `restart`: the session ends, the next one follows, and nothing comes in between.

use perennial_api::Agent;

use crate::attach::{DETACH, ECHO};
use crate::frozen::freeze;
use crate::sealed::{Sealed, pid};
use crate::terminal::Terminal;

#[test]
fn a_running_agent_gets_its_next_session_and_whoever_is_attached_stays() {
    let sealed = Sealed::up();
    let first = sealed.spawn("shell", ECHO);
    let mut terminal = Terminal::run(sealed.command(["attach", "shell"]));
    terminal.wait("ready");
    let told = sealed.ok(["restart", "shell"]);
    assert!(told.starts_with("shell is working (session 2, pid "), "{told}");
    terminal.wait("session 2");
    terminal.wait("ready");
    terminal.type_keys("to the second\r");
    terminal.wait("got <to the second>");
    terminal.type_keys(DETACH);
    assert_eq!(terminal.end().code, 0);
    let second = sealed.show("shell");
    assert_eq!((&second.id, second.respawn_count), (&first.id, 0));
    assert_ne!(pid(&second), pid(&first));
    let story = sealed.ok(["why", "shell"]);
    assert!(story.contains("restarted by the operator"), "{story}");
    assert!(!story.contains("unexpectedly"), "{story}");
}

#[test]
fn who_sleeps_or_has_crashed_is_woken_and_who_is_frozen_or_dead_is_not() {
    let sealed = Sealed::up();
    sealed.spawn("rests", "read x");
    sealed.ok(["stop", "rests"]);
    let woken: Agent = sealed.json(&["restart", "rests"]);
    assert_eq!(woken.state, "working");
    let path = sealed.dir.join("mended").display().to_string();
    sealed.spawn_with(&["dies"], &["/bin/sh", "-c", "[ -e \"$0\" ] && read x; exit 1", &path]);
    sealed.watch().moved("dies", "crashed", "retrying");
    std::fs::write(&path, "").expect("a file");
    let again: Agent = sealed.json(&["restart", "dies"]);
    assert_eq!((again.state.as_str(), again.until), ("working", None));
    freeze(&sealed, "rests");
    sealed.refused(6, &["restart", "rests"]);
    sealed.ok(["bury", "rests", "--summary", "over"]);
    sealed.refused(3, &["restart", "rests"]);
    sealed.refused(4, &["restart", "nobody"]);
}

/// Whatever the daemon had done when it was killed, the next one does the rest, once.
#[test]
fn a_daemon_that_is_killed_on_the_way_leaves_one_next_session() {
    let sealed = Sealed::up();
    let first = sealed.spawn("slow", "trap 'sleep 0.3; exit 0' INT; while :; do sleep 0.05; done");
    let mut watch = sealed.watch();
    let mut asked = sealed.command(["restart", "slow"]).spawn().expect("the binary runs");
    watch.moved("slow", "waking", "starting");
    sealed.kill_daemon();
    // Its connection is broken: whether it was carried out is not known to it.
    assert_ne!(asked.wait().expect("it ends").code(), Some(0));
    sealed.start_daemon();
    watch.resume();
    watch.running("slow", 2);
    sealed.assert_nobody_doubled();
    let second = sealed.show("slow");
    assert_ne!(pid(&second), pid(&first));
    assert_eq!(second.session.expect("a session").number, 2);
}
