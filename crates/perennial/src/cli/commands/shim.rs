//! `shim` (hidden): holds one session. The daemon starts it.
//!
//! Usually the engine takes over before `main` begins, to stay small; this is for a build in which
//! it could not.

use std::path::PathBuf;

use crate::cli::failure::VerbResult;

/// Hold the session of one agent
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The holder's directory
    dir: PathBuf,
}

pub fn run(args: &Args) -> VerbResult {
    perennial_engine::host::shim::main(&args.dir)
}
