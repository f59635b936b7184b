//! Two daemons on one home: one wins, the other one says so and ends.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::Signal;

use crate::processes::{running, signal, wait_end};
use crate::sealed::{Sealed, ended};
use crate::watch::PATIENCE;

const RACES: usize = 200;
/// How the line begins that a daemon in the foreground prints when it answers.
const RUNNING: &str = "the daemon is running (pid ";

#[test]
fn two_daemons_race_200_times_and_one_wins_each_time() {
    let sealed = Sealed::new();
    for race in 0..RACES {
        let (won, winners) = channel();
        let contenders = [0, 1].map(|which| {
            let mut command = sealed.command(["up", "--foreground"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().expect("the binary runs");
            let stdout = BufReader::new(child.stdout.take().expect("piped"));
            let won = won.clone();
            // One message from each: ready, or the end of its output.
            std::thread::spawn(move || {
                let first = stdout.lines().next();
                let _ = won.send((
                    which,
                    first.is_some_and(|line| line.is_ok_and(|l| l.starts_with(RUNNING))),
                ));
            });
            child
        });
        let told = [0, 1].map(|_| winners.recv_timeout(PATIENCE).expect("both say how it went"));
        let ready: Vec<usize> = told.iter().filter(|(_, won)| *won).map(|(who, _)| *who).collect();
        let [winner] = ready[..] else { panic!("race {race}: {} winners", ready.len()) };
        check(&sealed, contenders, winner, race);
    }
    sealed.start_daemon();
    let events: Vec<perennial_api::EventView> =
        sealed.client().get("/v1/events?limit=10000").and_then(|a| a.read()).expect("events");
    let epochs: Vec<u64> = events
        .iter()
        .filter(|event| event.kind == "daemon-started")
        .filter_map(|event| event.data["epoch"].as_u64())
        .collect();
    // One that was killed before its start was recorded did nothing yet: its epoch is used again.
    assert_eq!(epochs, (1..=epochs.len() as u64).collect::<Vec<_>>(), "an epoch for each winner");
    assert!(epochs.len() > RACES / 2, "those that ended in order are all there");
}

fn check(sealed: &Sealed, contenders: [Child; 2], winner: usize, race: usize) {
    let [first, second] = contenders;
    let (mut winner, loser) = if winner == 0 { (first, second) } else { (second, first) };
    let lost = ended(loser, "the loser");
    assert_eq!(lost.code, 3, "race {race}: {lost:?}");
    assert!(lost.stderr.contains("another daemon holds this home"), "race {race}: {lost:?}");
    let daemon = sealed.daemon();
    assert_eq!(daemon.pid.cast_unsigned(), winner.id(), "race {race}");
    // In turn: killed, and ended in order.
    assert!(signal(daemon, if race.is_multiple_of(2) { Signal::KILL } else { Signal::TERM }));
    assert!(wait_end(daemon, Duration::from_secs(10)), "race {race}: the winner ends");
    winner.wait().expect("a child");
}

/// A8: the connection broke, or the home was not free yet, and no daemon ran.
#[test]
fn up_right_after_a_daemon_was_killed_starts_the_next_one() {
    let sealed = Sealed::new();
    sealed.start_daemon();
    for _ in 0..20 {
        let daemon = sealed.daemon();
        assert!(signal(daemon, Signal::KILL));
        let mut command = sealed.command(["up"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let up = ended(command.spawn().expect("the binary runs"), "up");
        assert_eq!(up.code, 0, "{up:?}");
        assert_ne!(sealed.daemon(), daemon);
    }
}

#[test]
fn ten_ups_at_once_all_succeed_with_one_daemon() {
    let sealed = Sealed::deep();
    let ups: Vec<Child> = (0..10)
        .map(|_| {
            let mut command = sealed.command(["up", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("the binary runs")
        })
        .collect();
    let daemon = |up: Child| {
        let ran = ended(up, "up");
        assert_eq!(ran.code, 0, "{ran:?}");
        let health: perennial_api::answer::Health =
            serde_json::from_str(&ran.stdout).expect("health");
        running(health.pid)
    };
    let mut daemons: Vec<_> = ups.into_iter().map(daemon).collect();
    daemons.dedup();
    assert_eq!(daemons, [sealed.daemon()]);
    sealed.assert_nobody_doubled();
}
