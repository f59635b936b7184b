//! dtach: a holder per session and nothing else, the smallest that people use.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::{SLEEPER, is_installed};
use crate::processes::{self, Process};
use crate::workshop::{Workshop, command, output};

#[derive(Debug)]
pub struct Dtach {
    room: PathBuf,
    holders: Vec<Process>,
}

impl Dtach {
    /// So many sessions that sleep; `None` where it is not installed.
    pub fn start(workshop: &Workshop, count: usize) -> Result<Option<Dtach>> {
        if !is_installed("dtach") {
            return Ok(None);
        }
        let mut dtach = Dtach { room: workshop.room("dtach")?, holders: Vec::new() };
        for number in 0..count {
            let socket = dtach.room.join(number.to_string());
            output(command("dtach", &dtach.room).arg("-n").arg(socket).args(SLEEPER))?;
        }
        // A holder does not tell its pid; it is known by the socket in its arguments.
        let pids = processes::working_in(&dtach.room).into_iter();
        dtach.holders = pids.filter_map(|pid| Process::open(pid).ok()).collect();
        ensure!(dtach.holders.len() == count, "{} holders of {count}", dtach.holders.len());
        Ok(Some(dtach))
    }

    pub fn pids(&self) -> Vec<i32> {
        self.holders.iter().map(|holder| holder.pid).collect()
    }
}

impl Drop for Dtach {
    fn drop(&mut self) {
        // Their sleepers lose their terminals with them, and end.
        self.holders.iter().for_each(|holder| holder.end(Signal::TERM));
    }
}
