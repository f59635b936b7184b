//! `daemon` (hidden): the process that supervises. `up` starts it.
//!
//! When it is ready it says so in one line. Detached, its standard output is the pipe on which `up`
//! waits for that line, or for its end when it failed. Standard error is then a file that `up` shows after a failure.

use std::fs::File;
use std::io::{self, Write};

use super::up;
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::problems;

/// What `up` waits for: requests are answered from now on.
pub const READY: &str = "ready";

/// Run the daemon in this process
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave the caller's session and directory; say when ready, then be silent
    #[arg(long)]
    detached: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if args.detached {
        leave_caller();
    }
    let detached = args.detached;
    let code = crate::daemon::run(&context.home, move || say_ready(detached)).map_err(|error| {
        let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        problems::daemon_error(&error.to_string(), causes.join(": "))
    })?;
    Ok(code)
}

/// From here on the caller's terminal and directory may go.
fn leave_caller() {
    // Fails only if it leads a session already, which is what is wanted.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
}

fn say_ready(detached: bool) {
    let line = match detached {
        true => READY.to_owned(),
        false => {
            up::running_line("the daemon is running", std::process::id(), env!("CARGO_PKG_VERSION"))
        }
    };
    // Whoever waited may have gone; the daemon stays.
    let _ = writeln!(io::stdout(), "{line}");
    let _ = io::stdout().flush();
    if detached && let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&nowhere);
    }
}
