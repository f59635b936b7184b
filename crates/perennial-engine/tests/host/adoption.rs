//! What the next daemon finds: sessions that run, sessions that ended meanwhile, shims that hang.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use perennial_core::effect::Action;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::{AgentId, Epoch};
use perennial_core::session::Pace;
use perennial_engine::host::directory::ProcessFile;
use perennial_engine::host::holders::Ladder;
use perennial_engine::host::protocol::ProcessRecord;
use rustix::process::Signal;

use crate::fixture::{Fixture, N1, N2, is_alive, kill, until};

#[test]
fn the_next_daemon_adopts_what_runs_and_what_ended_meanwhile() {
    let mut fixture = Fixture::new();
    let (runs, ends) = (fixture.agent(), fixture.agent());
    let process = fixture.run(runs, N1, "exec sleep 1000");
    fixture.run(ends, N1, "mkfifo go; read line < go; exit 42");
    until("the session waits", || fixture.path().join("go").exists());
    fixture.stop_daemon();
    std::fs::write(fixture.path().join("go"), "\n").expect("the session reads");
    until("the shim of the ended session goes", || fixture.shim_pid(ends).is_none());
    fixture.start_daemon();
    fixture.order(runs, N1, Action::Hold);
    fixture.order(ends, N1, Action::Hold);
    assert_eq!(fixture.executed(runs, N1), process);
    assert_eq!(fixture.connected(runs).0.pid, fixture.shim_pid(runs).expect("a shim"));
    assert_eq!(fixture.exited(ends, N1), Exit::Code(42));
    // And life goes on: in place for the one, in a new shim for the other.
    fixture.end(runs, N1, Pace::Graceful);
    assert_eq!(fixture.exited(runs, N1), Exit::KillSignal(2));
    fixture.run(runs, N2, "exec sleep 1000");
    fixture.run(ends, N2, "exec sleep 1000");
}

#[test]
fn a_start_that_an_earlier_daemon_ordered_is_not_repeated() {
    let mut fixture = Fixture::new();
    let (runs, ended) = (fixture.agent(), fixture.agent());
    let process = fixture.run(runs, N1, "exec sleep 1000");
    fixture.run(ended, N1, "exit 5");
    fixture.exited(ended, N1);
    fixture.stop_daemon();
    fixture.start_daemon();
    // The journal knew of no answer, so the start is ordered again.
    assert_eq!(fixture.run(runs, N1, "exec sleep 1000"), process);
    fixture.start(ended, N1, &["sh", "-c", "exec sleep 1000"]);
    assert_eq!(fixture.exited(ended, N1), Exit::Code(5));
}

#[test]
fn a_session_that_was_never_begun_ends_and_stays_ended() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.end(agent, N1, Pace::Graceful);
    assert_eq!(fixture.exited(agent, N1), Exit::Unknown(UnknownExit::NotStarted));
    // A shim that an earlier daemon had started comes late: the number is taken.
    assert!(fixture.directory(agent).is_claimed(N1));
}

#[test]
fn processes_of_another_boot_are_not_looked_for() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let directory = fixture.directory(agent);
    directory.claim(N1).expect("claims");
    let process = ProcessRecord { pid: 1, start_ticks: 0 };
    let file = ProcessFile { process, boot_id: "another".to_owned(), cgroup: None };
    directory.write_process(N1, &file).expect("writes");
    fixture.order(agent, N1, Action::Hold);
    assert_eq!(fixture.exited(agent, N1), Exit::Unknown(UnknownExit::MachineRestarted));
}

#[test]
fn a_shim_that_hangs_delays_nobody_and_is_ended_in_the_end() {
    let mut fixture = Fixture::with(|settings| {
        settings.ladder = Ladder {
            interrupt: Duration::from_millis(10),
            term: Duration::from_millis(10),
            grace: Duration::from_millis(300),
        };
    });
    let (hangs, good) = (fixture.agent(), fixture.agent());
    let process = fixture.run(hangs, N1, "trap '' HUP INT TERM; exec sleep 1000");
    fixture.run(good, N1, "exec sleep 1000");
    let shim = fixture.shim_pid(hangs).expect("a shim");
    fixture.stop_daemon();
    kill(shim, Signal::STOP);
    fixture.start_daemon();
    fixture.order(hangs, N1, Action::Hold);
    fixture.order(good, N1, Action::Hold);
    fixture.connected(good);
    fixture.end(hangs, N1, Pace::Graceful);
    assert_eq!(fixture.exited(hangs, N1), Exit::Unknown(UnknownExit::HolderDied));
    assert!(!is_alive(process.pid) && !is_alive(shim));
}

#[test]
fn a_shim_that_does_not_answer_is_told_of_and_tried_again() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec sleep 1000");
    let shim = fixture.shim_pid(agent).expect("a shim");
    fixture.stop_daemon();
    kill(shim, Signal::STOP);
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    assert_eq!(fixture.disconnected(agent), "it does not answer");
    kill(shim, Signal::CONT);
    assert_eq!(fixture.executed(agent, N1), process);
    fixture.connected(agent);
}

#[test]
fn the_kernel_is_the_second_witness_of_an_end() {
    let mut fixture = Fixture::with(|settings| settings.ladder.grace = Duration::from_millis(300));
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec sleep 1000");
    let shim = fixture.shim_pid(agent).expect("a shim");
    kill(shim, Signal::STOP);
    kill(process.pid, Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::Unknown(UnknownExit::HolderDied));
    assert!(!is_alive(shim));
}

/// Not a test of its own: a daemon that is to be killed.
#[test]
#[ignore = "run by killed_daemon"]
fn a_daemon() {
    let variable = |name| std::env::var(name).ok();
    let (Some(dir), Some(script)) = (variable("TEST_HOLDERS"), variable("TEST_SCRIPT")) else {
        return;
    };
    let mut fixture = Fixture::with(|settings| settings.holders_dir = dir.into());
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, &script);
    println!("session {} {}", agent.0, process.pid);
    // Until it is killed.
    loop {
        std::thread::park();
    }
}

/// A session whose daemon was killed: its shim is nobody's child here. To be called before the test
/// has holders of its own, or the shim would fall to them.
pub fn killed_daemon(holders_dir: &Path, script: &str) -> (AgentId, i32) {
    let mut daemon = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "adoption::a_daemon", "--ignored", "--nocapture"])
        .env("TEST_HOLDERS", holders_dir)
        .env("TEST_SCRIPT", script)
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(daemon.stdout.take().expect("piped")).lines();
    let line = lines.by_ref().map_while(Result::ok).find(|line| line.contains("session "));
    let line = line.expect("a session");
    let words: Vec<&str> = line.split(' ').collect();
    let [.., agent, pid] = words[..] else { panic!("{line}") };
    daemon.kill().expect("killed");
    daemon.wait().expect("reaped");
    (AgentId(agent.parse().expect("an id")), pid.parse().expect("a pid"))
}

#[test]
fn a_killed_daemon_leaves_its_sessions_to_the_next() {
    let dir = tempfile::tempdir().expect("a directory");
    let holders_dir = dir.path().join("holders");
    let (agent, pid) = killed_daemon(&holders_dir, "trap '' HUP; exec sleep 1000");
    let mut fixture = Fixture::with(|settings| {
        settings.holders_dir = holders_dir;
        settings.epoch = Epoch(10);
    });
    fixture.adopt(agent);
    assert!(is_alive(pid));
    fixture.order(agent, N1, Action::Hold);
    assert_eq!(fixture.executed(agent, N1).pid, pid);
    fixture.end(agent, N1, Pace::Graceful);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(2));
    fixture.order(agent, N1, Action::Release);
    until("the shim goes", || fixture.shim_pid(agent).is_none());
}
