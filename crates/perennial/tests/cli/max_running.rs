//! `max_running`: at the limit a start waits in line, says so, and starts when a session ends.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use perennial_api::agent::Agent;
use rustix::process::Signal;

use crate::processes::{running, signal};
use crate::sealed::{Sealed, ended};

fn up(max_running: u64) -> Sealed {
    let sealed = Sealed::new();
    configure(&sealed, max_running);
    sealed.start_daemon();
    sealed
}

fn configure(sealed: &Sealed, max_running: u64) {
    std::fs::create_dir_all(&sealed.home.config).expect("a directory");
    let text = format!("max_running = {max_running}\n");
    std::fs::write(sealed.home.config.join("config.toml"), text).expect("written");
}

fn works(agent: &Agent) -> bool {
    agent.state == "working" && agent.session.as_ref().is_some_and(|one| one.pid.is_some())
}

// covers: H-20
#[test]
fn at_the_limit_spawn_and_wake_wait_in_line_and_say_so() {
    let sealed = up(2);
    for name in ["ada", "bob"] {
        assert!(works(&sealed.spawn(name, "read x")));
    }
    let told = sealed.ok(["spawn", "cid", "--", "sleep", "1000000"]);
    assert!(told.contains("waits in line, place 1 of 1"), "{told}");
    assert!(told.contains("max_running is 2"), "{told}");
    let dot = sealed.spawn_with(&["dot"], &["sleep", "1000000"]);
    let line = dot.in_line.expect("it waits");
    assert_eq!((line.place, line.of, line.running, line.max_running), (2, 2, 2, Some(2)));
    assert!(sealed.ok(["ls"]).contains("waits in line, place 2 of 2"));
    let why = sealed.ok(["why", "cid"]);
    assert!(why.contains("when a session has ended"), "{why}");
    assert!(!why.contains("perennial logs"), "{why}");
    // No limit of time holds for who waits.
    assert_eq!(sealed.show("cid").until, None);
    let problem = sealed.refused(3, &["wake", "cid"]);
    assert!(problem.title.contains("waits in line"), "{problem:?}");
    // Killed and started again, the daemon has the same line.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.show("dot").in_line.map(|line| line.place), Some(2));
    sealed.ok(["stop", "ada"]);
    sealed.until("the first starts", || works(&sealed.show("cid")));
    assert!(sealed.show("dot").in_line.is_some_and(|line| line.place == 1));
    let woken = sealed.ok(["wake", "ada"]);
    assert!(woken.contains("waits in line, place 2 of 2"), "{woken}");
    sealed.ok(["bury", "dot"]);
    sealed.ok(["stop", "bob"]);
    sealed.until("the next starts", || works(&sealed.show("ada")));
    // A restart keeps its place.
    let told = sealed.ok(["restart", "ada"]);
    assert!(told.contains("session 3") && !told.contains("in line"), "{told}");
}

/// `run` without a terminal says that it waits, and can be left meanwhile.
// covers: H-20
#[test]
fn run_in_line_says_so_and_can_be_left() {
    let sealed = up(1);
    assert!(works(&sealed.spawn("ada", "read x")));
    let run = |name: &str| {
        let mut command = sealed.command(["run", "--name", name, "--", "echo", "hi"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the binary runs");
        sealed.until("it waits", || sealed.run(["why", name]).stdout.contains("waits in line"));
        child
    };
    for told in [Signal::INT, Signal::TERM] {
        let name = if told == Signal::INT { "bob" } else { "cid" };
        let mut child = run(name);
        // Told once it has said that it waits.
        let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let is_line = |line: &String| line.contains("waits in line, place");
        let line = said.by_ref().map_while(Result::ok).find(is_line).expect("it says so");
        assert!(line.ends_with("1 session runs, max_running is 1]"), "{line}");
        assert!(signal(running(child.id()), told));
        let rest: Vec<String> = said.map_while(Result::ok).collect();
        let goes_on = format!("{name} goes on without you; to return: perennial attach {name}");
        assert!(rest.concat().contains(&goes_on), "{rest:?}");
        assert_eq!(ended(child, "run").code, 1);
    }
    sealed.ok(["bury", "bob"]);
    sealed.ok(["bury", "cid"]);
    // Who waits has its output, and its exit code, all the same.
    let dot = run("dot");
    sealed.ok(["stop", "ada"]);
    let ran = ended(dot, "run");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hi\n"), "{ran:?}");
}

/// A lower limit ends nobody; without one everybody in line starts.
// covers: H-20
#[test]
fn a_changed_limit_counts_from_the_next_start_of_the_daemon() {
    let sealed = up(0);
    for name in ["ada", "bob", "cid"] {
        assert!(works(&sealed.spawn(name, "read x")));
    }
    let restart = |most| {
        configure(&sealed, most);
        sealed.kill_daemon();
        sealed.start_daemon();
    };
    restart(1);
    sealed.until("all live on", || sealed.ls().iter().all(works));
    let dot = sealed.spawn_with(&["dot"], &["sleep", "1000000"]);
    assert_eq!(dot.in_line.map(|line| (line.place, line.running)), Some((1, 3)));
    sealed.ok(["stop", "ada"]);
    assert!(sealed.show("dot").in_line.is_some());
    restart(0);
    sealed.until("it starts", || works(&sealed.show("dot")));
}
