//! Our own fleet in a home of its own, driven by the command line as a person drives it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::Value;

use crate::clock::timed;
use crate::http::Connection;
use crate::processes::{self, Process};
use crate::workshop::{Workshop, command, output};

#[derive(Debug)]
pub struct Fleet {
    program: PathBuf,
    home: PathBuf,
    daemon: Process,
}

impl Fleet {
    pub fn start(workshop: &Workshop, name: &str) -> Result<Fleet> {
        Fleet::start_on(workshop, workshop.room(name)?)
    }

    /// On a home that has a past already.
    pub fn start_on(workshop: &Workshop, home: PathBuf) -> Result<Fleet> {
        let program = workshop.perennial.clone();
        let daemon = up(&program, &home)?;
        Ok(Fleet { program, home, daemon })
    }

    pub fn verb(&self, words: &[&str]) -> Command {
        verb(&self.program, &self.home, words)
    }

    /// A new agent with this program; how long the call took, in milliseconds.
    pub fn spawn(&self, name: &str, argv: &[&str]) -> Result<f64> {
        let mut command = self.verb(&["spawn", name, "--"]);
        let (ms, ran) = timed(|| output(command.args(argv)));
        ran.map(|_| ms)
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn daemon_pid(&self) -> i32 {
        self.daemon.pid
    }

    pub fn socket(&self) -> PathBuf {
        socket(&self.home)
    }

    /// The holders of all sessions that run: the parents of their programs.
    pub fn shims(&self) -> Result<Vec<i32>> {
        let listed: Value = serde_json::from_slice(&output(&mut self.verb(&["ls", "--json"]))?)?;
        let agents = listed.as_array().context("a list of agents")?.iter();
        let pids = agents.filter_map(|agent| i32::try_from(agent["session"]["pid"].as_i64()?).ok());
        Ok(pids.filter_map(processes::parent).collect())
    }

    /// Kills the daemon without a word; sessions go on.
    pub fn kill_daemon(&self) {
        self.daemon.signal(Signal::KILL);
        self.daemon.ends(Duration::from_secs(10));
    }

    /// Starts the next daemon on the same home.
    pub fn up(&mut self) -> Result<()> {
        self.daemon = up(&self.program, &self.home)?;
        Ok(())
    }

    /// A number that the daemon says of itself.
    pub fn health(&self, name: &str) -> Result<i64> {
        health(&self.home, name)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // What a failed run left is ended by pid below, so errors here only cost time.
        let shims: Vec<Process> = self
            .shims()
            .unwrap_or_default()
            .into_iter()
            .filter_map(|pid| Process::open(pid).ok())
            .collect();
        for words in [&["stop", "--all"][..], &["down"]] {
            if let Err(error) = output(&mut self.verb(words)) {
                eprintln!("{error:#}");
            }
        }
        self.daemon.end(Signal::TERM);
        shims.iter().for_each(|shim| shim.end(Signal::TERM));
    }
}

fn verb(program: &Path, home: &Path, words: &[&str]) -> Command {
    let mut command = command(program, home);
    command.env("PERENNIAL_HOME", home).args(words);
    command
}

fn up(program: &Path, home: &Path) -> Result<Process> {
    output(&mut verb(program, home, &["up"]))?;
    Process::open(i32::try_from(health(home, "pid")?)?)
}

fn socket(home: &Path) -> PathBuf {
    home.join("state/sock")
}

fn health(home: &Path, name: &str) -> Result<i64> {
    let body = Connection::open(&socket(home))?.get("/v1/health")?;
    let health: Value = serde_json::from_slice(&body)?;
    health[name].as_i64().with_context(|| format!("health says no {name}"))
}
