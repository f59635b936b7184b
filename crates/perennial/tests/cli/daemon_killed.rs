//! The daemon is killed at any moment: nobody stops working, nobody is doubled, nothing is lost.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use perennial_api::Agent;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use crate::chance::Chance;
use crate::processes::{self, running, wait_end};
use crate::sealed::{Sealed, ended, pid};
use crate::watch::Watch;

const STEADY: usize = 100;
const ENDING: usize = 10;
const RESTLESS: usize = 6;
const ROUNDS: usize = 20;
/// The code of a session that met another one of its agent.
const DOUBLED: i32 = 99;

/// An agent that ends with the code it is told, whoever else is alive. One process: it holds a lock
/// for its life, and ends as `DOUBLED` if somebody else has it.
struct Steady {
    agent: Agent,
    /// Open for reading too, so that writing never waits.
    orders: File,
}

impl Steady {
    fn spawn(sealed: &Sealed, name: &str, restart: &str) -> Steady {
        let path = |kind: &str| sealed.dir.join(format!("{name}.{kind}")).display().to_string();
        let (fifo, lock) = (path("fifo"), path("lock"));
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let orders = File::options().read(true).write(true).open(&fifo).expect("a pipe");
        let flock = ["flock", "--nonblock", "--no-fork", "--conflict-exit-code", "99", &lock];
        let read = ["/bin/sh", "-c", "read code < \"$0\"; exit $code", &fifo];
        let options = [name, "--restart", restart];
        Steady { agent: sealed.spawn_with(&options, &[&flock[..], &read].concat()), orders }
    }

    fn end_with(&mut self, code: i32) {
        writeln!(self.orders, "{code}").expect("the pipe takes it");
    }
}

/// A verb that is under way while the daemon is killed.
struct Verb {
    agent: String,
    word: &'static str,
    child: Child,
}

/// What was promised: the verb ended with 0.
struct Promise {
    agent: String,
    word: &'static str,
}

// covers: G-01
#[test]
fn a_killed_daemon_adopts_90_of_100_sessions_and_learns_the_codes_of_10_in_20_rounds() {
    let mut chance = Chance::seeded();
    let sealed = Sealed::deep();
    sealed.start_daemon();
    let mut steady: Vec<Steady> =
        (0..STEADY).map(|n| Steady::spawn(&sealed, &format!("steady-{n}"), "never")).collect();
    let mut restless: Vec<String> = (0..RESTLESS).map(|n| format!("restless-{n}")).collect();
    // Kept: without anybody who could write, their pipes would be at their end.
    let _restless: Vec<Steady> =
        restless.iter().map(|name| Steady::spawn(&sealed, name, "on-crash")).collect();
    let mut watch = sealed.watch();
    for round in 0..ROUNDS {
        restless.push(format!("late-{round}"));
        let verbs = stir(&sealed, &restless, &mut chance);
        // A random moment, told by events: somewhere in the middle of what was stirred up.
        watch.drain();
        watch.wait_count(chance.below(16));
        sealed.kill_daemon();
        let promises = promises(verbs);
        let codes = end_some(&mut steady, &mut chance, round);
        sealed.start_daemon();
        watch.resume();
        check_steady(&sealed, &mut watch, &steady, &codes, round);
        check_restless(&sealed, &promises);
        for (index, _) in codes {
            let woken = sealed.json(&["wake", &steady[index].agent.name]);
            steady[index].agent = woken;
        }
    }
    watch.drain();
    let doubled = watch.seen.iter().find(|seen| seen.event.data["exit"]["code"] == DOUBLED);
    assert!(doubled.is_none(), "two sessions at once: {doubled:?}");
}

/// Starts verbs on the restless without waiting for them, and kills one of their sessions.
fn stir(sealed: &Sealed, restless: &[String], chance: &mut Chance) -> Vec<Verb> {
    let agents = sealed.ls();
    let mut verbs = Vec::new();
    for index in chance.pick(4, RESTLESS).into_iter().chain([restless.len() - 1]) {
        let name = &restless[index];
        let known = agents.iter().find(|agent| agent.name == *name);
        let (word, args) = match known.map(|agent| agent.state.as_str()) {
            None => ("spawn", vec!["spawn", name, "--", "sleep", "1000"]),
            Some("sleeping" | "crashed") => ("wake", vec!["wake", name]),
            Some(_) if chance.below(3) == 0 => {
                let session = known.and_then(|agent| agent.session.as_ref()?.pid);
                let process = session.and_then(processes::find);
                process.map(|process| processes::signal(process, Signal::KILL));
                continue;
            }
            Some(_) => ("stop", vec!["stop", name]),
        };
        let mut command = sealed.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the binary runs");
        verbs.push(Verb { agent: name.clone(), word, child });
    }
    verbs
}

fn promises(verbs: Vec<Verb>) -> Vec<Promise> {
    let mut promises = Vec::new();
    for Verb { agent, word, child } in verbs {
        let ran = ended(child, word);
        match ran.code {
            0 => promises.push(Promise { agent, word }),
            // The daemon was gone before, or went before its answer.
            1 | 5 => {}
            // A crashed one may have been retried meanwhile.
            3 if word == "wake" => {}
            code => panic!("{word} {agent} ended with {code}: {}", ran.stderr),
        }
    }
    promises
}

/// Ends some sessions with different codes while no daemon is there.
fn end_some(steady: &mut [Steady], chance: &mut Chance, round: usize) -> Vec<(usize, i32)> {
    let mut codes = Vec::new();
    for (n, index) in chance.pick(ENDING, STEADY).into_iter().enumerate() {
        let code = ((round * ENDING + n) % 90) as i32;
        let process = running(pid(&steady[index].agent));
        steady[index].end_with(code);
        assert!(wait_end(process, Duration::from_secs(10)), "it ends when told");
        codes.push((index, code));
    }
    codes
}

fn check_steady(
    sealed: &Sealed,
    watch: &mut Watch,
    steady: &[Steady],
    codes: &[(usize, i32)],
    round: usize,
) {
    for (index, code) in codes {
        let session = steady[*index].agent.session.as_ref().expect("a session");
        let (_, exit) = watch.ended(&steady[*index].agent.name, session.number);
        assert_eq!(exit, serde_json::json!({ "code": code }), "round {round}");
    }
    let mut agents = Vec::new();
    sealed.until("every session is confirmed", || {
        agents = sealed.ls();
        agents.iter().all(|agent| agent.state != "unknown")
    });
    let now = |name: &str| agents.iter().find(|agent| agent.name == name).expect("it is listed");
    for (index, one) in steady.iter().enumerate() {
        let (before, after) = (&one.agent, now(&one.agent.name));
        let session = after.session.as_ref().expect("a session");
        match codes.iter().find(|(ended, _)| *ended == index) {
            Some((_, code)) => {
                let exit = session.exit.as_ref().expect("an exit");
                assert_eq!(exit.code, Some(*code), "{after:?}");
                assert_eq!(after.state, "sleeping", "{after:?}");
            }
            None => {
                assert_eq!(pid(after), pid(before), "{after:?}");
                assert_eq!((after.state.as_str(), session.number), ("working", number(before)));
            }
        }
    }
    let marks = sealed.processes().into_iter().filter_map(|one| one.session);
    let marked = marks.filter(|mark| steady.iter().any(|one| mark.starts_with(&one.agent.id)));
    assert_eq!(marked.count(), STEADY - ENDING, "round {round}");
}

fn check_restless(sealed: &Sealed, promises: &[Promise]) {
    sealed.until("everybody is settled", || {
        let settled = ["working", "sleeping", "crashed"];
        sealed.ls().iter().all(|agent| settled.contains(&agent.state.as_str()))
    });
    for Promise { agent, word } in promises {
        let state = sealed.show(agent).state;
        match *word {
            "stop" => assert_eq!(state, "sleeping", "{agent} was stopped"),
            _ => assert_ne!(state, "sleeping", "{agent} was started"),
        }
    }
    sealed.assert_nobody_doubled();
}

fn number(agent: &Agent) -> u64 {
    agent.session.as_ref().map_or(0, |session| session.number)
}
