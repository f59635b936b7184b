//! `down` and `up`: an orderly end leaves sessions running, the next daemon finds them.

use perennial_api::EventView;

use crate::processes::{is_alive, running};
use crate::sealed::{Sealed, pid};

#[test]
fn an_orderly_end_leaves_sessions_running_and_the_next_daemon_adopts_them() {
    let sealed = Sealed::up();
    let stays = sealed.spawn("stays", "read x");
    let ends = sealed.spawn_with(
        &["ends", "--restart", "never"],
        &["/bin/sh", "-c", "trap 'exit 8' USR1; while :; do sleep 0.1; done"],
    );
    let daemon = sealed.daemon();
    let told = sealed.ok(["down"]);
    assert!(told.contains("2 living agents go on"), "{told}");
    assert!(!is_alive(daemon), "it has ended when the command returns");
    assert!(!sealed.home.socket().exists());
    sealed.refused(5, &["ls"]);
    sealed.refused(5, &["down"]);
    let process = running(pid(&ends));
    assert!(crate::processes::signal(process, rustix::process::Signal::USR1));
    assert!(crate::processes::wait_end(process, std::time::Duration::from_secs(10)));
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
