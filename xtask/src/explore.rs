//! `cargo xtask explore`: seeded exploration of the simulation, on as many seeds as wanted.
//!
//! Runs the simulation's own program, optimised: this tool stays quick to build. Each test run
//! explores a few thousand seeds anyway, as a test of the simulation.

use crate::failure::Failure;
use crate::program;

pub fn run(options: &[&str]) -> Result<(), Failure> {
    let usage = || Failure::Usage(["explore", &options.join(" ")].join(" "));
    let (mut seeds, mut from, mut threads) = (None, 0, 1);
    for option in options.chunks(2) {
        match option {
            ["--seeds", number] => seeds = Some(number.parse::<u64>().map_err(|_| usage())?),
            ["--from", number] => from = number.parse().map_err(|_| usage())?,
            ["--threads", number] => threads = number.parse().map_err(|_| usage())?,
            _ => return Err(usage()),
        }
    }
    let numbers = [seeds.ok_or_else(usage)?, from, threads].map(|number: u64| number.to_string());
    simulate("explore", &numbers.each_ref().map(String::as_str))
}

/// Runs one of the simulation's programs.
pub fn simulate(name: &str, numbers: &[&str]) -> Result<(), Failure> {
    let program = ["--quiet", "--release", "--package", "perennial-sim", "--example", name];
    program::run(&[&["cargo", "run"], program.as_slice(), &["--"], numbers].concat())
}
