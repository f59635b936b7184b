//! Starts a shim: no shell, no code of ours between fork and exec, the daemon's end of a socket pair
//! kept.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use perennial_core::session::Process;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::super::process;
use super::Settings;

/// A shim that was just started.
#[derive(Debug)]
pub struct Spawned {
    pub socket: OwnedFd,
    pub handle: OwnedFd,
    pub process: Process,
}

pub fn shim(settings: &Settings, dir: &Path) -> io::Result<Spawned> {
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let mut command = Command::new(&settings.program);
    command.arg0("perennial").arg("shim").arg(dir).env_clear();
    if let Some(home) = &settings.home {
        command.env("PERENNIAL_HOME", home);
    }
    command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
    // Not reaped by anybody else, so the pid is still that child's.
    let handle = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
    let stat = process::stat(pid.as_raw_nonzero().get()).ok_or(io::ErrorKind::NotFound)?;
    Ok(Spawned { socket: ours, handle, process: stat.process })
}
