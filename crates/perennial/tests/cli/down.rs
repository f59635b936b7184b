//! `down` and `up`: an orderly end leaves sessions running, the next daemon finds them.

use std::time::Duration;

use perennial_api::EventView;
use rustix::process::Signal;

use crate::processes::{is_alive, running, signal, wait_end};
use crate::sealed::{Sealed, pid};

#[test]
fn an_orderly_end_leaves_sessions_running_and_the_next_daemon_adopts_them() {
    let sealed = Sealed::up();
    let stays = sealed.spawn("stays", "read x");
    let ends = sealed.spawn_with(
        &["ends", "--restart", "never"],
        &["/bin/sh", "-c", "trap 'exit 8' USR1; while :; do sleep 0.1; done"],
    );
    // Nothing of it runs any more.
    sealed.spawn_with(&["over", "--restart", "never"], &["/bin/sh", "-c", "exit 3"]);
    sealed.watch().ended("over", 1);
    let daemon = sealed.daemon();
    let told = sealed.ok(["down"]);
    assert!(told.contains("2 sessions keep running"), "{told}");
    assert!(!is_alive(daemon), "it has ended when the command returns");
    assert!(!sealed.home.socket().exists());
    let log = sealed.home.journal().with_extension("db-wal");
    let left = std::fs::metadata(log).map_or(0, |log| log.len());
    assert_eq!(left, 0, "the log is folded into the journal's file");
    sealed.refused(5, &["ls"]);
    let nothing = sealed.refused(5, &["down"]);
    assert!(!nothing.next.contains("up"), "nobody wants it started: {nothing:?}");
    let process = running(pid(&ends));
    assert!(signal(process, Signal::USR1));
    assert!(wait_end(process, Duration::from_secs(10)));
    assert!(is_alive(running(pid(&stays))));
    sealed.start_daemon();
    let (_, exit) = sealed.watch().ended("ends", 1);
    assert_eq!(exit, serde_json::json!({"code": 8}));
    sealed.until("it is confirmed", || sealed.show("stays").state == "working");
    assert_eq!(pid(&sealed.show("stays")), pid(&stays));
    let events: Vec<EventView> =
        sealed.client().get("/v1/events").and_then(|answer| answer.read()).expect("events");
    let kinds: Vec<&str> = events
        .iter()
        .filter(|event| event.agent_id.is_none())
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(kinds, ["daemon-started", "daemon-stopped", "daemon-started"]);
    let again = sealed.ok(["up"]);
    assert!(again.contains("already"), "{again}");
    sealed.assert_nobody_doubled();
}

/// The journal's log is cut and removed by the daemon's own hand when it ends.
#[test]
fn an_orderly_end_is_no_fault_of_the_journal() {
    let sealed = Sealed::up();
    for round in 0..5 {
        sealed.spawn(&format!("one{round}"), "true");
        sealed.ok(["down"]);
        assert!(!sealed.log().contains("ERROR"), "{}", sealed.log());
        sealed.start_daemon();
    }
}

#[test]
fn the_processes_say_what_they_are() {
    let sealed = Sealed::up();
    sealed.spawn("ada", "read x");
    let found = sealed.processes();
    assert_eq!(found.iter().filter(|one| one.is_daemon()).count(), 1, "{found:#?}");
    assert_eq!(found.iter().filter(|one| one.is_shim()).count(), 1, "{found:#?}");
    assert!(sealed.home.daemon_log().metadata().expect("a log").len() > 0);
    // Nobody else may enter.
    for dir in [&sealed.home.data, &sealed.home.state, &sealed.home.holders()] {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &dir.metadata().expect("it is there").permissions(),
        );
        assert_eq!(mode & 0o077, 0, "{dir:?}");
    }
}

#[test]
fn a_term_signal_is_an_orderly_end_and_a_hangup_is_none() {
    let sealed = Sealed::up();
    let ada = sealed.spawn("ada", "read x");
    let daemon = sealed.daemon();
    assert!(signal(daemon, Signal::HUP));
    assert_eq!(sealed.health().pid.cast_signed(), daemon.pid, "a hangup changes nothing");
    assert!(signal(daemon, Signal::TERM));
    assert!(wait_end(daemon, Duration::from_secs(10)));
    sealed.start_daemon();
    let events = sealed.ok(["events"]);
    assert!(events.contains("daemon shut down cleanly"), "{events}");
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_eq!(pid(&sealed.show("ada")), pid(&ada));
}

#[test]
fn a_home_by_xdg_works_without_any_variable() {
    let sealed = Sealed::xdg();
    sealed.start_daemon();
    let ada = sealed.spawn("ada", "read x");
    assert!(sealed.home.journal().exists() && sealed.home.socket().exists());
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_eq!(pid(&sealed.show("ada")), pid(&ada));
    sealed.ok(["stop", "ada"]);
    sealed.assert_nobody_doubled();
}
