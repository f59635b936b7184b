//! Proofs by volume, from outside: what tests show once is tried many times. `cargo xtask prove`
//! starts it as `prove ROW TRIALS SEED`; no test run does.
//!
//! It has the homes, terminals and the stage of the tests in `tests/cli`, and the built binary. The
//! judge of what an agent was told is the model server's own log, never the product.
//!
//! Invariants
//! - V1  One line for each violation, as it is found; the last line has the count and the bound.
//! - V2  A trial that breaks off is a violation, and the next one goes on in a new home.
//! - V3  The same row, trials and seed make the same choices; the machine's timing is its own.

mod board;
#[allow(dead_code, unused_imports, reason = "shared with the tests, which use more of it")]
#[path = "../cli/claude.rs"]
mod claude;
#[allow(dead_code, reason = "shared with the tests, which make the document of it")]
#[path = "../conformance/mod.rs"]
mod conformance;
#[path = "conformance.rs"]
mod conformance_row;
mod continuity;
mod conversation;
mod damage;
#[path = "../cli/flooder.rs"]
mod flooder;
mod kills;
mod mail;
mod menus;
mod pairs;
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../cli/processes.rs"]
mod processes;
mod proof;
mod readers;
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../cli/sealed.rs"]
mod sealed;
mod sends;
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../cli/terminal.rs"]
mod terminal;
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../cli/tmux.rs"]
mod tmux;
#[path = "../cli/unfinished_work.rs"]
mod unfinished_work;
mod upgrade;
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../cli/watch.rs"]
mod watch;

use std::process::ExitCode;

use proof::Proof;

type Row = fn(&mut Proof);

/// The rows that are tried from outside; `xtask/src/prove.rs` says what each shows.
const ROWS: [(&str, Row); 12] = [
    ("sends", sends::sends),
    ("pairs", pairs::pairs),
    ("menus", menus::menus),
    ("up-after-kill", kills::up_after_kill),
    ("damage", damage::damage),
    ("upgrade", upgrade::upgrade),
    ("board", board::board),
    ("mail", mail::mail),
    ("readers", readers::readers),
    ("continuity", continuity::continuity),
    ("deaf", continuity::deaf),
    ("conformance", conformance_row::conformance),
];

fn main() -> ExitCode {
    // The other process of `readers`.
    if flooder::act() {
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, trials, seed] = &words[..] else { return usage() };
    let row = ROWS.iter().find(|(row, _)| row == name);
    let (Some((name, run)), Ok(trials), Ok(seed)) = (row, trials.parse(), seed.parse()) else {
        return usage();
    };
    let mut proof = Proof::new(name, trials, seed);
    run(&mut proof);
    if proof.close() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("prove ROW TRIALS SEED; rows: {}", ROWS.map(|(name, _)| name).join(", "));
    ExitCode::from(2)
}
