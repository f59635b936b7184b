//! `demo-agent` (hidden): the scripted agents of `demo`. They print plausible progress and stay.

use std::io::{self, Write};
use std::time::Duration;

use perennial_api::ExitCode;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;

/// Act as an agent of the demo
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(value_parser = ["builder", "reviewer", "watcher"])]
    role: String,
}

const BEAT: Duration = Duration::from_millis(400);

pub fn run(args: &Args, _context: &Context) -> VerbResult {
    let session = std::env::var("PERENNIAL_SESSION").unwrap_or_default();
    let number = session.rsplit('.').next().unwrap_or("?").to_owned();
    let lines = lines(&args.role);
    let mut out = io::stdout().lock();
    writeln!(out, "{} here, session {number}", args.role)?;
    for round in 1_u64.. {
        for line in lines {
            writeln!(out, "[{round}] {line}")?;
            out.flush()?;
            std::thread::sleep(BEAT);
        }
    }
    Ok(ExitCode::Done)
}

fn lines(role: &str) -> &'static [&'static str] {
    match role {
        "builder" => &[
            "reading src/parser.rs",
            "writing the missing match arm",
            "cargo check: ok",
            "cargo test: 41 passed",
        ],
        "reviewer" => &[
            "reading the diff of branch parser",
            "looking for callers of the old function",
            "no objection to src/parser.rs",
        ],
        _ => &["nothing new on main", "3 branches ahead, none in conflict"],
    }
}
