//! `cargo xtask explore`: seeded exploration of the simulation, on as many seeds as wanted.
//!
//! Runs the simulation's own program, optimised: this tool stays quick to build. Each test run
//! explores a few thousand seeds anyway, as a test of the simulation.

use crate::failure::Failure;
use crate::program;

pub fn run(options: &[&str]) -> Result<(), Failure> {
    let (seeds, from) = match options {
        ["--seeds", seeds] => (number(seeds)?, 0),
        ["--seeds", seeds, "--from", from] => (number(seeds)?, number(from)?),
        other => return Err(Failure::Usage(["explore", &other.join(" ")].join(" "))),
    };
    let program = ["--quiet", "--release", "--package", "perennial-sim", "--example", "explore"];
    let options = [&*seeds.to_string(), &*from.to_string()];
    program::run(&[&["cargo", "run"], program.as_slice(), &["--"], &options].concat())
}

fn number(word: &str) -> Result<u64, Failure> {
    word.parse().map_err(|_| Failure::Usage(format!("explore: '{word}' is no number")))
}
