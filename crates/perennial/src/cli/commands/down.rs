//! `down`: shuts the daemon down; sessions keep running.

use std::time::Duration;

use perennial_api::answer::Health;
use perennial_api::{ClientError, ExitCode, Response, client};
use perennial_engine::host::living;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::problems;
use crate::cli::progress;

/// Shut the daemon down; sessions keep running
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial down && perennial up

To upgrade while sessions keep running, install the new version and run `perennial up --upgrade`.")]
pub struct Args {}

const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(_args: &Args, context: &Context) -> VerbResult {
    let health: Health = match context.client.get(&client::path(&["health"], &[])) {
        Ok(answer) => answer.read()?,
        Err(ClientError::NoDaemon(_)) => return Err(problems::nothing_to_shut_down().into()),
        Err(error) => return Err(error.into()),
    };
    let answer = shut_down(&health, context)?;
    context.show(&answer, |_: &serde_json::Value| {
        // Asked of the kernel: of some the daemon may not have known.
        let running = living::holders(&context.home.holders());
        let sessions = match running.iter().filter(|holder| holder.process.is_some()).count() {
            0 => "no session is running".to_owned(),
            1 => "1 session keeps running".to_owned(),
            count => format!("{count} sessions keep running"),
        };
        format!("the daemon has shut down; {sessions}\n")
    })?;
    Ok(ExitCode::Done)
}

/// Tells the daemon to end and waits until its process is gone; its answer.
pub fn shut_down(health: &Health, context: &Context) -> Result<Response, Failure> {
    // Opened before it is told to end, so that the end can't be missed.
    let daemon = i32::try_from(health.pid)
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let answer = context.client.post(&client::path(&["down"], &[]), &serde_json::json!({}))?;
    if let Some(daemon) = &daemon {
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        let gone = progress::told("waiting for the daemon to shut down", || {
            poll(&mut [PollFd::new(daemon, PollFlags::IN)], Some(&patience))
        });
        if gone == Ok(0) {
            return Err(problems::daemon_still_running(health.pid, PATIENCE.as_secs()).into());
        }
    }
    Ok(answer)
}
