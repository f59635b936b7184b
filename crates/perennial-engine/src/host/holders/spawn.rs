//! Starts a shim: no shell, no code of ours between fork and exec, the daemon's end of a socket pair
//! kept.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use perennial_core::session::Process;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::super::{pane, process};
use super::Settings;

/// A shim that was just started.
#[derive(Debug)]
pub struct Spawned {
    pub socket: OwnedFd,
    pub handle: OwnedFd,
    pub process: Process,
}

/// Starts a shim inside the pane, if there is one that does it; else as a child of this daemon.
pub fn shim(settings: &Settings, dir: &Path, pane: Option<&Path>) -> io::Result<Spawned> {
    if let Some(pane) = pane {
        match in_pane(settings, dir, pane)? {
            Ok(spawned) => return Ok(spawned),
            // PN2: the session is worth more than its place.
            Err(error) => tracing::warn!(
                dir = %dir.display(),
                %error,
                "a session starts outside of its tmux pane"
            ),
        }
    }
    let (ours, theirs) = pair()?;
    let home = settings.home.clone().map(Into::into);
    let child = pane::command(&settings.program, dir, home, theirs).spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
    // Not reaped by anybody else, so the pid is still that child's.
    let handle = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
    let stat = process::stat(pid.as_raw_nonzero().get()).ok_or(io::ErrorKind::NotFound)?;
    Ok(Spawned { socket: ours, handle, process: stat.process })
}

fn in_pane(
    settings: &Settings,
    dir: &Path,
    pane: &Path,
) -> io::Result<Result<Spawned, pane::PaneError>> {
    let (ours, theirs) = pair()?;
    let home = settings.home.as_deref().map(Path::new);
    let started = pane::start_shim(pane, &settings.program, dir, home, theirs.as_fd());
    Ok(started.map(|(process, handle)| Spawned { socket: ours, handle, process }))
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}
