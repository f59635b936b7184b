//! `down`: shuts the daemon down; sessions keep running.

use std::time::Duration;

use perennial_api::answer::Health;
use perennial_api::{ExitCode, client};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::problems;
use crate::cli::progress;

/// Shut the daemon down; sessions keep running
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial down && perennial up

Sessions keep running without it; this is how you upgrade to a new version.")]
pub struct Args {}

const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(_args: &Args, context: &Context) -> Ending {
    let health: Health = context.client.get(&client::path(&["health"], &[]))?.read()?;
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
    context.show(&answer, |_: &serde_json::Value| {
        let sessions = match health.agents.living {
            0 => "no living agents".to_owned(),
            1 => "1 living agent keeps running".to_owned(),
            count => format!("{count} living agents keep running"),
        };
        format!("the daemon has shut down; {sessions}\n")
    })?;
    Ok(ExitCode::Done)
}
