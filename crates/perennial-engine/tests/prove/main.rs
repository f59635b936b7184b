//! Proofs by volume of the engine alone: `prove snapshots TRIALS SEED`, started by `cargo xtask prove`; no test run does.
//!
//! Invariants
//! - V1  One line for each violation, as it is found; the last line has the count and the bound.

#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../snapshot/fixture.rs"]
mod fixture;
#[allow(dead_code, reason = "shared with the proofs from outside, which use more of it")]
#[path = "../../../perennial/tests/prove/proof.rs"]
mod proof;
#[path = "../snapshot/random_trees.rs"]
mod random_trees;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use proof::Proof;

/// Files of the one large tree.
const MANY: usize = 100_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers = |trials: &str, seed: &str| Some((trials.parse().ok()?, seed.parse().ok()?));
    let row = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["snapshots", trials, seed] => numbers(trials, seed),
        _ => None,
    };
    let Some((trials, seed)) = row else {
        eprintln!("usage: prove snapshots TRIALS SEED");
        return ExitCode::from(2);
    };
    run(Proof::new("snapshots", trials, seed), seed)
}

fn run(mut proof: Proof, seed: u64) -> ExitCode {
    // The word of a trial that breaks off is in its violation.
    std::panic::set_hook(Box::new(|_| {}));
    while proof.goes_on() {
        let trial = seed + proof.begin_trial() - 1;
        judge(&mut proof, &format!("tree {trial}"), || _ = random_trees::trial(trial));
    }
    judge(&mut proof, "a tree of 100,000 files", large);
    if proof.close() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn judge(proof: &mut Proof, what: &str, trial: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(trial)) {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it broke off");
        proof.violated(&format!("{what}: {text}"));
    }
}

fn large() {
    let f = fixture::Fixture::new();
    for n in 0..MANY {
        let path = f.path(&format!("m{}/f{n}", n % 500));
        if n < 500 {
            std::fs::create_dir(path.parent().unwrap()).unwrap();
        }
        std::fs::write(path, format!("file {n}\n")).unwrap();
    }
    f.git("add -A");
    f.git("commit -qm many");
    let (files, status) = (f.files(), f.status());
    let taken = f.take();
    assert_eq!(taken.files, MANY + 5);
    for n in (0..MANY).step_by(997) {
        std::fs::write(f.path(&format!("m{}/f{n}", n % 500)), "changed").unwrap();
    }
    f.restore(&taken, perennial_engine::git::snapshot::WithIndex::Yes).unwrap();
    fixture::assert_same("100,000 files", &files, &f.files());
    assert_eq!(f.status(), status);
}
