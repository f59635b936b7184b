//! tmux with a server of its own: one session for each of our agents.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::{SLEEPER, is_installed};
use crate::clock::timed;
use crate::processes::Process;
use crate::workshop::{Workshop, command, output};

#[derive(Debug)]
pub struct Tmux {
    room: PathBuf,
    server: Option<Process>,
}

impl Tmux {
    /// In a room of this name; `None` where it is not installed.
    pub fn start(workshop: &Workshop, name: &str) -> Result<Option<Tmux>> {
        if !is_installed("tmux") {
            return Ok(None);
        }
        Ok(Some(Tmux { room: workshop.room(name)?, server: None }))
    }

    pub fn verb(&self, words: &[&str]) -> Command {
        let mut command = command("tmux", &self.room);
        command.arg("-S").arg(self.room.join("sock")).args(["-f", "/dev/null"]).args(words);
        command
    }

    /// A new session that sleeps; how long the call took, in milliseconds.
    pub fn spawn(&mut self, name: &str) -> Result<f64> {
        let mut command = self.verb(&["new-session", "-d", "-s", name]);
        let (ms, ran) = timed(|| output(command.args(SLEEPER)));
        ran?;
        if self.server.is_none() {
            let said = output(&mut self.verb(&["display-message", "-p", "#{pid}"]))?;
            let pid = String::from_utf8_lossy(&said).trim().parse().context("tmux tells no pid")?;
            self.server = Some(Process::open(pid)?);
        }
        Ok(ms)
    }

    pub fn server_pid(&self) -> Option<i32> {
        self.server.as_ref().map(|server| server.pid)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Its sleepers lose their terminals with it, and end.
        if let Some(server) = &self.server {
            server.end(Signal::TERM);
        }
    }
}
