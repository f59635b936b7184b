//! runit: `runsvdir` with a service for each of our agents, the fastest to restart that was found.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use anyhow::Result;
use rustix::process::Signal;

use super::is_installed;
use crate::processes::{self, Process};
use crate::workshop::{Workshop, command};

#[derive(Debug)]
pub struct Runit {
    room: PathBuf,
    runsvdir: Child,
}

impl Runit {
    /// Starts these services, each a name and a program; `None` where it is not installed.
    pub fn start(workshop: &Workshop, services: &[(String, Vec<String>)]) -> Result<Option<Runit>> {
        if !is_installed("runsvdir") {
            return Ok(None);
        }
        let room = workshop.room("runit")?;
        for (name, argv) in services {
            let dir = room.join(name);
            fs::create_dir(&dir)?;
            // All words are paths and names of ours: nothing in them needs quoting.
            fs::write(dir.join("run"), format!("#!/bin/sh\nexec {}\n", argv.join(" ")))?;
            fs::set_permissions(dir.join("run"), Permissions::from_mode(0o755))?;
        }
        let mut command = command("runsvdir", &room);
        let runsvdir = command.arg("-P").arg(&room).stderr(Stdio::null()).spawn()?;
        Ok(Some(Runit { room, runsvdir }))
    }
}

impl Drop for Runit {
    fn drop(&mut self) {
        let own = self.runsvdir.id().cast_signed();
        let keepers: Vec<Process> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| processes::parent(*pid) == Some(own))
            .filter_map(|pid| Process::open(pid).ok())
            .collect();
        // Hung up, it tells every `runsv` to end its service and itself.
        if let Ok(runsvdir) = Process::open(own) {
            runsvdir.end(Signal::HUP);
        }
        let _ = self.runsvdir.wait();
        keepers.iter().for_each(|keeper| keeper.end(Signal::TERM));
        for pid in processes::working_in(&self.room) {
            eprintln!("process {pid} of {} is left", self.room.display());
        }
    }
}
