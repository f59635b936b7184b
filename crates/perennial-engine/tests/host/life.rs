//! One session's life: start, end, restart in place, adoption by the next daemon.

use perennial_core::effect::Action;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::session::Pace;
use rustix::process::Signal;

use crate::fixture::{Fixture, N1, N2, is_alive, kill, until};

#[test]
fn exit_codes_are_true() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    for (number, code) in (1..).zip([0, 3, 255]) {
        let number = perennial_core::id::SessionNumber(number);
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
    assert_eq!(fixture.exited(agent, N1), Exit::Signal(9));
    let second = fixture.run(agent, N2, "exec sleep 1000");
    assert_ne!(first, second);
    assert_eq!(fixture.shim_pid(agent), Some(shim));
    fixture.end(agent, N2, Pace::Graceful);
    assert_eq!(fixture.exited(agent, N2), Exit::Signal(2), "sleep dies of the interrupt");
    fixture.order(agent, N2, Action::Release);
    until("the shim goes", || !is_alive(shim));
    assert_eq!(fixture.shim_pid(agent), None);
}

#[test]
fn what_cannot_run_is_not_started() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.start(agent, N1, &["no-such-program"]);
    assert_eq!(fixture.not_started(agent, N1), "no-such-program was not found in PATH");
    fixture.start(agent, N2, &["/etc/passwd"]);
    assert!(fixture.not_started(agent, N2).contains("Permission denied"));
}

#[test]
fn the_next_daemon_adopts_what_runs_and_what_ended_meanwhile() {
    let mut fixture = Fixture::new();
    let (runs, ends) = (fixture.agent(), fixture.agent());
    let process = fixture.run(runs, N1, "exec sleep 1000");
    let ending = fixture.run(ends, N1, "read line; exit 42");
    fixture.stop_daemon();
    kill(ending.pid, Signal::TERM);
    until("the shim of the ended session goes", || fixture.shim_pid(ends).is_none());
    fixture.start_daemon();
    fixture.order(runs, N1, Action::Hold);
    fixture.order(ends, N1, Action::Hold);
    assert_eq!(fixture.executed(runs, N1), process);
    assert_eq!(fixture.exited(ends, N1), Exit::Signal(15));
}

#[test]
fn a_killed_shim_takes_its_tree_along() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process =
        fixture.run(agent, N1, "trap '' HUP INT TERM; setsid sleep 1001 & exec sleep 1000");
    let shim = fixture.shim_pid(agent).expect("a shim");
    kill(shim, Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::Unknown(UnknownExit::HolderDied));
    assert!(!is_alive(process.pid));
    fixture.run(agent, N2, "exec sleep 1000");
}
