//! Processes that the demo's own daemon named: killing one, seeing whether one is there.

use std::time::Duration;

use jiff::Timestamp;
use perennial_api::Problem;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, test_kill_process};

use crate::cli::failure::Failure;
use crate::cli::problems;

fn pid(pid: u32) -> Result<Pid, Problem> {
    i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| problems::bad_pid(pid))
}

pub fn is_alive(number: u32) -> bool {
    pid(number).is_ok_and(|pid| test_kill_process(pid).is_ok())
}

/// Kills a process that our own daemon named.
pub fn kill(number: u32) -> Result<(), Failure> {
    let killed = kill_process(pid(number)?, Signal::KILL);
    killed.map_err(|error| problems::not_killed(number, &error).into())
}

/// Does `act`, and waits until the process is gone; whether it is in time.
pub fn gone_after(
    number: u32,
    patience: Duration,
    act: impl FnOnce() -> Result<(), Failure>,
) -> Result<bool, Failure> {
    // Opened first: whatever gets the number later is not meant.
    let handle = pidfd_open(pid(number)?, PidfdFlags::empty())
        .map_err(|error| problems::not_watched(number, &error))?;
    act()?;
    let limit = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)) != Ok(0))
}

/// From one moment to one in the journal.
pub fn millis(from: Timestamp, to: &str) -> f64 {
    to.parse::<Timestamp>().map_or(f64::NAN, |to| to.duration_since(from).as_secs_f64() * 1000.0)
}
