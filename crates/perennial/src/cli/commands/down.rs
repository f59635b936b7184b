//! `down`: ends the daemon; sessions go on.

use std::time::Duration;

use perennial_api::answer::Health;
use perennial_api::{ExitCode, client};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::cli::context::Context;
use crate::cli::failure::{Ending, failed};
use crate::cli::progress;

/// End the daemon in an orderly way; all sessions go on without it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial down && perennial up

Sessions run on meanwhile: that is how a new version takes over.")]
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
        let gone = progress::told("waiting for the daemon to end", || {
            poll(&mut [PollFd::new(daemon, PollFlags::IN)], Some(&patience))
        });
        if gone == Ok(0) {
            return Err(failed(
                "still-there",
                "the daemon has been told to end and is still there",
            )
            .because(format!("its pid is {}", health.pid))
            .next("look again: perennial doctor")
            .into());
        }
    }
    context.show(&answer, |_: &serde_json::Value| {
        let sessions = match health.agents.living {
            0 => "nobody was running".to_owned(),
            1 => "1 living agent goes on".to_owned(),
            count => format!("{count} living agents go on"),
        };
        format!("the daemon has ended; {sessions}\n")
    })?;
    Ok(ExitCode::Done)
}
