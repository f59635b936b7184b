//! `cargo xtask bench`: the measured goals, beside their peers. What was measured: docs/benchmarks.md.
//!
//! Measuring needs optimised code and the product's own crates, so it is a program of its own (the
//! example `bench` of this package, from `main.rs` on): nobody else waits for it to be built.

use crate::failure::Failure;
use crate::program;

/// Builds what is measured and what measures, then measures these rows, or all.
pub fn run(rows: &[&str]) -> Result<(), Failure> {
    program::run(&["cargo", "build", "--release", "--package", "perennial"])?;
    let corpus = ["--package", "perennial-engine", "--example", "corpus"];
    program::run(&[&["cargo", "build", "--release"][..], &corpus].concat())?;
    let cargo = ["cargo", "run", "--release", "--quiet"];
    let measure = ["--package", "xtask", "--example", "bench", "--"];
    program::run(&[&cargo[..], &measure, rows].concat())
}
