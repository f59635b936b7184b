//! One session's life: start, end, restart in place.

use std::os::unix::fs::PermissionsExt;

use perennial_core::conversation::Opening;
use perennial_core::effect::Action;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::SessionNumber;
use perennial_core::session::Pace;
use perennial_engine::host::environment;
use perennial_engine::host::holders::HostRefusal;
use perennial_engine::host::protocol::ViewerTerms;
use rustix::process::Signal;

use crate::fixture::{Fixture, N1, N2, is_alive, kill, until};

#[test]
fn exit_codes_are_true() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    for (number, code) in (1..).zip([0, 3, 255]) {
        let number = SessionNumber(number);
        fixture.run(agent, number, &format!("exit {code}"));
        assert_eq!(fixture.exited(agent, number), Exit::Code(code));
    }
}

#[test]
fn a_killed_session_restarts_in_the_same_shim() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let first = fixture.run(agent, N1, "exec sleep 1000");
    let shim = fixture.shim_pid(agent).expect("a shim");
    kill(first.pid, Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
    let second = fixture.run(agent, N2, "exec sleep 1000");
    assert_ne!(first, second);
    assert_eq!(fixture.shim_pid(agent), Some(shim));
    fixture.end(agent, N2, Pace::Graceful);
    assert_eq!(fixture.exited(agent, N2), Exit::KillSignal(2), "sleep dies of the interrupt");
    fixture.order(agent, N2, Action::Release);
    until("the shim goes", || !is_alive(shim));
    assert_eq!(fixture.shim_pid(agent), None);
}

#[test]
fn fifty_restarts_in_place_leave_nothing_behind() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "exec sleep 1000");
    let shim = fixture.shim_pid(agent).expect("a shim");
    // A shim can't be looked into by its own user; by root it can.
    let descriptors = || std::fs::read_dir(format!("/proc/{shim}/fd")).map_or(0, Iterator::count);
    let before = descriptors();
    for number in 1..=50 {
        let process = if number == 1 {
            fixture.order(agent, N1, Action::Hold);
            fixture.executed(agent, N1)
        } else {
            fixture.run(agent, SessionNumber(number), "exec sleep 1000")
        };
        kill(process.pid, Signal::KILL);
        assert_eq!(fixture.exited(agent, SessionNumber(number)), Exit::KillSignal(9));
    }
    fixture.run(agent, SessionNumber(51), "exec sleep 1000");
    // A recording is opened just after the start is told: once more or less, not once a restart.
    assert!(descriptors().abs_diff(before) <= 1, "{before} before, {} now", descriptors());
}

#[test]
fn what_cannot_run_is_not_started() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.start(agent, N1, &["no-such-program"]);
    assert_eq!(fixture.not_started(agent, N1), "no-such-program was not found in PATH");
    fixture.start(agent, N2, &["/etc/passwd"]);
    assert!(fixture.not_started(agent, N2).contains("Permission denied"));
    let mut nowhere = crate::fixture::launch(fixture.path(), &["sh", "-c", "exit 0"]);
    nowhere.dir = "/no/such/directory".to_owned();
    fixture.order(agent, SessionNumber(3), Action::Start(Box::new(nowhere), Opening::Bare));
    let why = fixture.not_started(agent, SessionNumber(3));
    assert!(why.starts_with("directory /no/such/directory: No such file"), "{why}");
    fixture.run(agent, SessionNumber(4), "exit 0");
}

#[test]
fn a_number_is_claimed_once() {
    let mut fixture = Fixture::new();
    let (in_place, fresh) = (fixture.agent(), fixture.agent());
    // Claimed by somebody who left no word of it: it never runs.
    assert!(fixture.directory(fresh).claim(N1).expect("claims"));
    assert!(!fixture.directory(fresh).claim(N1).expect("does not fail"));
    fixture.start(fresh, N1, &["sh", "-c", "touch ran"]);
    assert_eq!(fixture.exited(fresh, N1), Exit::Unknown(UnknownExit::HolderDied));
    fixture.run(in_place, N1, "exit 0");
    fixture.exited(in_place, N1);
    assert!(fixture.directory(in_place).claim(N2).expect("claims"));
    fixture.start(in_place, N2, &["sh", "-c", "touch ran"]);
    assert_eq!(fixture.exited(in_place, N2), Exit::Unknown(UnknownExit::HolderDied));
    assert!(!fixture.path().join("ran").exists());
}

#[test]
fn the_same_order_again_gets_the_same_answer() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let first = fixture.run(agent, N1, "exec sleep 1000");
    assert_eq!(fixture.run(agent, N1, "exec sleep 1000"), first);
    fixture.end(agent, N1, Pace::AtOnce);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
    fixture.end(agent, N1, Pace::AtOnce);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
}

#[test]
fn a_stale_order_touches_nobody() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "exit 0");
    fixture.exited(agent, N1);
    let process = fixture.run(agent, N2, "exec sleep 1000");
    fixture.end(agent, N1, Pace::AtOnce);
    fixture.order(agent, N1, Action::Release);
    assert_eq!(fixture.deliver(agent, N1, "x"), Err(HostRefusal::NotRunning));
    // Answered in order: the stale ones are behind us.
    fixture.type_line(agent, N2, "x");
    assert!(is_alive(process.pid));
}

#[test]
fn an_end_that_nobody_acknowledges_is_on_disk() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "exit 7");
    fixture.exited(agent, N1);
    until("the exit file", || fixture.directory(agent).read_exit(N1).is_some());
    assert!(fixture.shim_pid(agent).is_some(), "the shim stays for the next order");
}

#[test]
fn the_environment_is_the_owners_and_marked() {
    let mut fixture = Fixture::with(|settings| {
        settings.home = Some("/the/home".into());
        settings.nofile = Some(123);
    });
    let agent = fixture.agent();
    let directory = fixture.directory(agent);
    let variables =
        [("PATH", "/usr/bin:/bin"), ("SECRET", "a=b\nc"), ("TMUX", "x"), ("TMUX_PANE", "y")];
    environment::write(directory.path(), variables).expect("writes");
    let mode =
        std::fs::metadata(directory.path().join("env")).expect("is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fixture.run(agent, N1, "env -0 > out; ulimit -n > limit; pwd > where");
    fixture.exited(agent, N1);
    let text = std::fs::read_to_string(fixture.path().join("out")).expect("written");
    let has = |entry: &str| text.split('\0').any(|present| present == entry);
    assert!(has("SECRET=a=b\nc"), "{text}");
    assert!(has(&format!("PERENNIAL_AGENT={agent}")));
    assert!(has(&format!("PERENNIAL_SESSION={agent}.1")));
    assert!(has("PERENNIAL_HOME=/the/home"));
    assert!(has("TERM=xterm-256color"));
    assert!(has(&format!("TMUX_TMPDIR={}", fixture.session_dir(agent, N1).display())));
    assert!(!text.contains("TMUX="), "{text}");
    assert!(!text.contains("TMUX_PANE="));
    let limit = std::fs::read_to_string(fixture.path().join("limit")).expect("written");
    assert_eq!(limit.trim(), "123");
    let shim = fixture.shim_pid(agent).expect("a shim");
    match std::fs::read(format!("/proc/{shim}/environ")) {
        Ok(environ) => assert_eq!(environ, b"PERENNIAL_HOME=/the/home\0", "no secret"),
        // Better still: its own user can't look into it.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
}

#[test]
fn a_deep_state_directory_is_no_obstacle() {
    let mut fixture = Fixture::with(|settings| {
        for _ in 0..8 {
            settings.holders_dir.push("a-rather-long-directory-name");
        }
    });
    let agent = fixture.agent();
    assert!(fixture.directory(agent).socket().as_os_str().len() > 200);
    let process = fixture.run(agent, N1, "exec sleep 1000");
    fixture.stop_daemon();
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    assert_eq!(fixture.executed(agent, N1), process);
}

/// M3: without that rule it would wait on, for somebody who can't find it any more.
#[test]
fn a_shim_that_waits_for_its_viewer_ends_without_daemon_and_directory() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let directory = fixture.directory(agent);
    directory.create().expect("a directory");
    let an_hour = ViewerTerms { wait_ms: 3_600_000, echoes: false };
    directory.write_viewer(an_hour).expect("it is asked to wait");
    fixture.start(agent, N1, &["/bin/sleep", "1000"]);
    until("it waits", || directory.is_claimed(N1));
    let shim = fixture.shim_pid(agent).expect("a shim");
    std::fs::remove_dir_all(directory.path()).expect("its directory is removed");
    fixture.stop_daemon();
    until("the shim is gone", || !is_alive(shim));
    fixture.start_daemon();
}

/// M2: there is nobody to tell, and nowhere to write it.
#[test]
fn a_shim_without_daemon_and_directory_ends_with_its_session() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec sleep 1000");
    let shim = fixture.shim_pid(agent).expect("a shim");
    fixture.stop_daemon();
    std::fs::remove_dir_all(fixture.directory(agent).path()).expect("its directory is removed");
    kill(process.pid, Signal::KILL);
    until("the shim is gone", || !is_alive(shim));
    fixture.start_daemon();
}
