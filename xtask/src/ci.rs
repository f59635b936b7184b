//! `cargo xtask ci`: runs the very script that the build machine runs.

use crate::failure::Failure;
use crate::program;

pub fn run() -> Result<(), Failure> {
    program::run(&[".ci/run"])
}
