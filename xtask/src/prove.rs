//! `cargo xtask prove`: proofs by volume, apart from the tests. A test takes the smallest number of
//! trials that can fail; a proof takes the number that a claim needs.
//!
//! Rows from outside are a program of the product's package (`crates/perennial/tests/prove`), with
//! the homes and terminals of its tests; those of the core and of the engine are their own
//! (`crates/perennial-core/tests/prove`, `crates/perennial-engine/tests/prove`). This tool stays quick to build.

use crate::failure::Failure;
use crate::{explore, program};

struct Row {
    name: &'static str,
    shows: &'static str,
    trials: u64,
    by: By,
}

enum By {
    /// The built binary in temporary homes.
    Outside,
    /// The same, as the tests have built it: what takes time is the agent CLIs' own.
    OutsideUnoptimized,
    /// The simulation's exploration: a trial is a seed.
    Exploration,
    /// The simulation of several nodes: a trial is a seed.
    Nodes,
    /// The core alone, which no process or machine has a part in.
    Core,
    /// The engine alone, with real files and git.
    Engine,
}

const ROWS: &[Row] = &[
    Row {
        name: "sends",
        shows: "a text that was sent reaches the model once and in order, whatever is killed",
        trials: 200,
        by: By::Outside,
    },
    Row {
        name: "pairs",
        shows: "two texts sent at the same moment are two messages, idle and in a turn",
        trials: 500,
        by: By::Outside,
    },
    Row {
        name: "mail",
        shows: "24 mails and a kill in each trial among 20 agents: none is lost, none is told twice, and each \
                sender's are in order, whatever is killed",
        trials: 50,
        by: By::Outside,
    },
    Row {
        name: "menus",
        shows: "a text sent into a menu or mode of the CLI chooses nothing, says that it waits, and \
                arrives",
        trials: 50,
        by: By::Outside,
    },
    Row {
        name: "up-after-kill",
        shows: "`up` at once after kill -9 of the daemon succeeds, and every session is adopted then",
        trials: 1000,
        by: By::Outside,
    },
    Row {
        name: "damage",
        shows: "bytes flipped, cut off or deleted in the journal and its log after kill -9: whoever runs is \
                listed, nobody is started twice, and `doctor` names the damage",
        trials: 500,
        by: By::Outside,
    },
    Row {
        name: "upgrade",
        shows: "`up --upgrade` from an earlier build (--before BINARY) under 100 sessions loses no key, \
                fails no caller, and nobody attached notices",
        trials: 5,
        by: By::Outside,
    },
    Row {
        name: "board",
        shows: "posts that were acknowledged are there after kills of the daemon, in order, and cost \
                it no memory",
        trials: 10_000,
        by: By::Outside,
    },
    Row {
        name: "readers",
        shows: "thousands of feeds of one agent that reads nothing: `ls` is at most twice as slow, and \
                the daemon's memory is within a fifth of before once they are gone",
        trials: 5000,
        by: By::Outside,
    },
    Row {
        name: "continuity",
        shows: "kill -9 of the daemon in a handoff, a cycle, rest or waking: each comes to its end, no session \
                runs twice, no checkpoint is lost, and the work tree is the same (--harness NAME: with one)",
        trials: 200,
        by: By::OutsideUnoptimized,
    },
    Row {
        name: "deaf",
        shows: "a session that hears nothing is handed off at the default deadline of 60 s, and all of it takes 90 s at most",
        trials: 2,
        by: By::OutsideUnoptimized,
    },
    Row {
        name: "conformance",
        shows: "every scenario of docs/harnesses.md with every agent CLI (--harness NAME, --scenario NAME: one; \
                --preset FILE: one of your own)",
        trials: 1,
        by: By::OutsideUnoptimized,
    },
    Row {
        name: "replay",
        shows: "a recorded session has the same states and is told the same, once, with restarts \
                between any two facts and with doubled facts",
        trials: 1000,
        by: By::Core,
    },
    Row {
        name: "snapshots",
        shows: "random work trees in 26 states of git: a snapshot leaves no trace in them, and after random edits a \
                restore brings back every byte, the index, and what git says; then 100,000 files",
        trials: 300,
        by: By::Engine,
    },
    Row {
        name: "explore",
        shows: "no rule of the model is broken under faults",
        trials: 100_000,
        by: By::Exploration,
    },
    Row {
        name: "nodes",
        shows: "two or three supervisors on one journal break no rule, with conflicts, late news, names \
                wanted twice at once, and deaths",
        trials: 10_000,
        by: By::Nodes,
    },
];

pub fn run(words: &[&str]) -> Result<(), Failure> {
    let [name, options @ ..] = words else {
        list();
        return Ok(());
    };
    let usage = || Failure::Usage(["prove", &words.join(" ")].join(" "));
    let row = ROWS.iter().find(|row| row.name == *name).ok_or_else(usage)?;
    let (mut trials, mut seed, mut variables) = (row.trials, 0, Vec::new());
    for option in options.chunks(2) {
        match option {
            ["--trials", number] => trials = number.parse().map_err(|_| usage())?,
            ["--seed", number] => seed = number.parse().map_err(|_| usage())?,
            ["--before", binary] => variables.push(format!("PERENNIAL_BEFORE={binary}")),
            ["--harness", name] => variables.push(format!("PERENNIAL_HARNESS={name}")),
            ["--scenario", name] => variables.push(format!("PERENNIAL_SCENARIO={name}")),
            ["--preset", file] => {
                // The program of proofs runs in its package's directory.
                let file = std::path::absolute(file).map_err(|_| usage())?;
                variables.push(format!("PERENNIAL_PRESET={}", file.display()));
            }
            _ => return Err(usage()),
        }
    }
    prove(row, &trials.to_string(), &seed.to_string(), &variables)
}

fn list() {
    println!(
        "cargo xtask prove ROW [--trials N] [--seed S] [--before BINARY] [--harness NAME] [--preset FILE]\n"
    );
    for Row { name, shows, trials, by: _ } in ROWS {
        println!("  {name:<14} {trials:>7} trials: {shows}");
    }
}

fn prove(row: &Row, trials: &str, seed: &str, variables: &[String]) -> Result<(), Failure> {
    match row.by {
        By::Outside => {
            program(row, &["--release", "--package", "perennial"], trials, seed, variables)
        }
        By::OutsideUnoptimized => {
            program(row, &["--package", "perennial"], trials, seed, variables)
        }
        By::Core => {
            program(row, &["--release", "--package", "perennial-core"], trials, seed, variables)
        }
        By::Engine => {
            program(row, &["--release", "--package", "perennial-engine"], trials, seed, variables)
        }
        By::Exploration => explore::run(&["--seeds", trials, "--from", seed]),
        By::Nodes => explore::simulate("nodes", &[trials, seed]),
    }
}

/// Runs the package's own program of proofs.
fn program(
    row: &Row,
    build: &[&str],
    trials: &str,
    seed: &str,
    variables: &[String],
) -> Result<(), Failure> {
    let cargo = ["cargo", "test", "--quiet"];
    let program = ["--test", "prove", "--", row.name, trials, seed];
    let with = variables.iter().map(String::as_str);
    let with: Vec<&str> = std::iter::once("env").chain(with).collect();
    program::run(&[&with[..], &cargo, build, &program].concat())
}
