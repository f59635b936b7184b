//! `upgrade`: the daemon of an earlier build is replaced under a hundred sessions while a person types into
//! one of them. A trial is one upgrade.
//!
//! `PERENNIAL_BEFORE` names the binary of the earlier build. The judge of keystrokes is a program that writes
//! every line that it reads to a file; the judge of the screen is the person's terminal.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use perennial_api::Agent;

use crate::proof::{Proof, within};
use crate::sealed::{PROGRAM, Sealed, finish, pid};
use crate::terminal::Terminal;

const SESSIONS: usize = 100;
const LINES_AFTER: u64 = 20;
const READ_WITHIN: Duration = Duration::from_secs(20);
/// Notes each line, and shows it again, so that the person sees what was read.
const READER: &str = "while read -r line; do echo \"$line\" >> typed; echo \"<$line>\"; done";

pub fn upgrade(proof: &mut Proof) {
    let before = std::env::var_os("PERENNIAL_BEFORE").map(PathBuf::from);
    let before = before.expect("PERENNIAL_BEFORE names the binary of the earlier build");
    while proof.goes_on() {
        proof.home(|proof| {
            proof.begin_trial();
            trial(proof, &before);
        });
    }
}

fn trial(proof: &mut Proof, before: &PathBuf) {
    let sealed = Sealed::new();
    let old = |args: &[&str]| {
        let mut command = sealed.command(args);
        let mut with_old = Command::new(before);
        with_old.args(args).current_dir(&sealed.dir).env_clear();
        with_old.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = with_old;
        let ran = finish(command);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    };
    old(&["up"]);
    old(&["spawn", "typist", "--", "/bin/sh", "-c", READER]);
    for number in 1..SESSIONS {
        old(&["spawn", &format!("agent-{number}"), "--", "sleep", "1000000"]);
    }
    let agents = sealed.ls();
    let mut terminal = Terminal::run(sealed.command(["attach", "typist"]));
    terminal.wait("detach");
    let (is_over, failures) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut typed = 0;
    let mut longest_wait = Duration::ZERO;
    let upgraded = std::thread::scope(|scope| {
        let caller = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                let seen = sealed.client().get("/v1/agents/typist");
                failures.fetch_or(seen.is_err(), Ordering::Relaxed);
                longest = longest.max(asked.elapsed());
            }
            longest
        });
        let swap = scope.spawn(|| {
            let ran = finish(sealed.command(["up", "--upgrade"]));
            is_over.store(true, Ordering::Relaxed);
            ran
        });
        // Throughout the swap, and a little longer.
        let mut after = 0;
        while after < LINES_AFTER {
            typed += 1;
            terminal.type_keys(&format!("line {typed}\r"));
            let asked = Instant::now();
            terminal.wait(&format!("<line {typed}>"));
            longest_wait = longest_wait.max(asked.elapsed());
            after += u64::from(is_over.load(Ordering::Relaxed));
        }
        let gap = caller.join().expect("the caller ends");
        (swap.join().expect("the swap ends"), gap)
    });
    let (swap, gap) = upgraded;
    judge(proof, &sealed, &agents, typed);
    if swap.code != 0 || !swap.stdout.starts_with("the daemon was upgraded") {
        proof.violated(&format!("the upgrade failed: {swap:?}"));
    }
    if failures.load(Ordering::Relaxed) {
        proof.violated("a caller failed during the swap");
    }
    let seen = String::from_utf8_lossy(&terminal.shown).into_owned();
    if seen.contains("detached") || seen.contains("lost") {
        proof.violated(&format!("the person saw {seen:?}"));
    }
    terminal.detach();
    println!(
        "upgrade: {typed} lines typed, the slowest shown after {} ms; the slowest caller waited {} ms",
        longest_wait.as_millis(),
        gap.as_millis()
    );
}

fn judge(proof: &mut Proof, sealed: &Sealed, agents: &[Agent], typed: u64) {
    let wanted: String = (1..=typed).map(|number| format!("line {number}\n")).collect();
    let read = || std::fs::read_to_string(sealed.dir.join("typed")).unwrap_or_default();
    if !within(READ_WITHIN, || read() == wanted) {
        proof.violated("lines were lost, doubled or out of order");
    }
    for agent in agents {
        let now = sealed.show(&agent.id);
        if now.state != "working" || pid(&now) != pid(agent) {
            proof.violated(&format!("{:?} did not go on: {}", agent.name, now.state));
        }
    }
    if sealed.health().build.is_empty() {
        proof.violated(&format!("the daemon is not {PROGRAM}"));
    }
}
