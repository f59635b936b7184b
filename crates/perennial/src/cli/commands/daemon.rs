//! `daemon` (hidden): the process that supervises. `up` starts it.
//!
//! Each step of its start is a line. Detached, its standard output is the pipe on which `up` waits for these
//! lines, or for its end when it failed. Standard error is then a file that `up` shows after a failure.

use std::fs::File;
use std::io::{self, Write};

use perennial_core::authority::{self, Standing};
use perennial_core::reason::Verb;

use super::up;
use crate::build_id;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::problems;
use crate::daemon::surface::identity;
use crate::daemon::{StartStep, Unopened};

/// Requests are answered from now on.
pub const ANSWERING: &str = "answering";
/// What `up` waits for: the sessions of an earlier daemon are adopted.
pub const READY: &str = "ready";

/// Run the daemon in this process
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave the caller's session and directory; say when ready, then be silent
    #[arg(long)]
    detached: bool,
}

/// Whether this process may start a daemon, or be one.
pub fn may_start() -> bool {
    authority::may(identity::starter(), Verb::Up, Standing::NoTarget)
}

/// Refuses whoever may not.
pub fn check_starter() -> Result<(), Failure> {
    if may_start() { Ok(()) } else { Err(problems::no_daemon_from_here().into()) }
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    check_starter()?;
    if args.detached {
        leave_caller();
    }
    let detached = args.detached;
    let code = crate::daemon::run(&context.home, |step| say(step, detached)).map_err(|error| {
        let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        match error.downcast_ref::<Unopened>() {
            Some(unopened) => problems::journal_unopenable(
                &causes.join(": "),
                &unopened.running,
                &unopened.journal,
            ),
            None => problems::daemon_error(&error.to_string(), causes.join(": ")),
        }
    })?;
    Ok(code)
}

/// From here on the caller's terminal and directory may go.
fn leave_caller() {
    // Fails only if it leads a session already, which is what is wanted.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
}

fn say(step: StartStep, detached: bool) {
    let line = match (detached, step) {
        (true, StartStep::Answering) => ANSWERING.to_owned(),
        (true, StartStep::Settled) => READY.to_owned(),
        (false, StartStep::Answering) => {
            let version = build_id::version_and_build();
            up::running_line("the daemon is running", std::process::id(), version)
        }
        (false, StartStep::Settled) => return,
    };
    // Whoever waited may have gone; the daemon stays.
    let _ = writeln!(io::stdout(), "{line}");
    let _ = io::stdout().flush();
    if line == READY
        && let Ok(nowhere) = File::options().write(true).open("/dev/null")
    {
        let _ = rustix::stdio::dup2_stdout(&nowhere);
    }
}
