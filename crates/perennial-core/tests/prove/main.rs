//! Proofs by volume of the core alone: `prove replay TRIALS SEED`, started by `cargo xtask prove`; no
//! test run does.
//!
//! Invariants
//! - V1  One line for each violation, as it is found; the last line has the count and the bound.
//! - V2  The same trials and seed are the same run: nothing here depends on the machine.

#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../lives/listener.rs"]
mod listener;
#[allow(dead_code, reason = "shared with the proofs from outside, which use more of it")]
#[path = "../../../perennial/tests/prove/proof.rs"]
mod proof;
#[path = "../lives/recording.rs"]
mod recording;
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../lives/told.rs"]
mod told;

use std::process::ExitCode;

use proof::Proof;
use recording::{CLAUDE, Disturbance, Story, facts, replay};

/// A trial is disturbed at this many of a thousand facts: rarely, often, or at every one.
const RATES: [u64; 5] = [0, 10, 100, 500, 1000];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers = |trials: &str, seed: &str| Some((trials.parse().ok()?, seed.parse().ok()?));
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["replay", trials, seed] => match numbers(trials, seed) {
            Some((trials, seed)) => run(Proof::new("replay", trials, seed)),
            None => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: prove replay TRIALS SEED");
    ExitCode::from(2)
}

fn run(mut proof: Proof) -> ExitCode {
    let undisturbed = replay(CLAUDE, |_| Disturbance::default());
    let (mut restarts, mut doubled) = (0, 0);
    let count = facts(CLAUDE).count();
    while proof.goes_on() {
        let trial = proof.begin_trial();
        let mut disturbances = drawn(&mut proof, count);
        // Each position once at least, if there are as many trials.
        disturbances[trial as usize % count].restart = true;
        restarts += disturbances.iter().filter(|one| one.restart).count();
        doubled += disturbances.iter().filter(|one| one.doubled).count();
        let story = replay(CLAUDE, |position| disturbances[position]);
        if let Some(difference) = difference(&story, &undisturbed) {
            proof.violated(&format!("{difference}\n  by {}", told(&disturbances)));
        }
    }
    let Story { states, clock, tells, notices, tool_calls } = &undisturbed;
    println!(
        "replay: {count} facts a trial; {restarts} restarts, {doubled} doubled facts; each time: states \
         {}, clock events {}, reminders {}, notices {}, tool calls {tool_calls}",
        states.len(),
        clock.len(),
        tells.len(),
        notices.len()
    );
    if proof.close() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn drawn(proof: &mut Proof, count: usize) -> Vec<Disturbance> {
    let [restarts, doubled] = [(); 2].map(|()| RATES[proof.below(RATES.len() as u64) as usize]);
    let mut is_so = |rate: u64| proof.below(1000) < rate;
    let one = |_| Disturbance { restart: is_so(restarts), doubled: is_so(doubled) };
    (0..count).map(one).collect()
}

/// The first respect in which they differ.
fn difference(story: &Story, other: &Story) -> Option<String> {
    let parts = |story: &Story| {
        [
            format!("states {:?}", story.states),
            format!("clock {:?}", story.clock),
            format!("reminders {:?}", story.tells),
            format!("notices {:?}", story.notices),
            format!("{} tool calls", story.tool_calls),
        ]
    };
    let (one, other) = (parts(story), parts(other));
    let pair = one.into_iter().zip(other).find(|(one, other)| one != other);
    pair.map(|(one, other)| format!("{one}\n  is not {other}"))
}

fn told(disturbances: &[Disturbance]) -> String {
    let at = |is_so: fn(&Disturbance) -> bool| {
        let one = |(position, one): (usize, &Disturbance)| is_so(one).then_some(position);
        disturbances.iter().enumerate().filter_map(one).collect::<Vec<_>>()
    };
    format!("restarts before {:?}, doubled {:?}", at(|one| one.restart), at(|one| one.doubled))
}
