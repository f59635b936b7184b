//! A pane of the owner's tmux in which an agent's shims are started, and how the daemon asks for one.
//!
//! The process in the pane listens on a socket of its own. The daemon hands it one end of a socket pair, and the
//! process starts a shim with that end as descriptor 0: exactly what the daemon does itself for other
//! agents, but as a child of the pane. Speaks to no tmux: a tmux server is asked by the owner's own commands only.
//!
//! Invariants
//! - PN1  Neither side trusts a peer that is below a shim: what an agent listens on starts no session, and an
//!   agent can't have a process started outside of its own tree.
//! - PN2  The daemon waits for a pane for `ANSWER_WITHIN` at most. Whatever goes wrong, it starts the shim
//!   itself: a session never depends on tmux.
//! - PN3  A request that is answered too late starts a shim that finds its daemon gone, and ends.
//! - PN4  Fields are added, never changed: a pane may outlive many daemons.

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use perennial_core::session::Process;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, accept_with, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::{ancestry, process, socket};

/// A pane that lives answers in milliseconds. The holders' thread waits for no more than this.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// How long a caller may take to say what it wants: it is a program.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);
/// Two paths and a few words.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Why a pane starts no shim.
#[derive(Debug, thiserror::Error)]
pub enum PaneError {
    #[error("nobody listens in its pane")]
    Closed(#[source] io::Error),
    #[error("the process that listens for its pane is inside an agent's session, or can't be seen")]
    Distrusted,
    #[error("its pane did not answer")]
    Silent(#[source] io::Error),
    #[error("its pane answered: {0}")]
    Refused(String),
    #[error("its pane named a process that is not its child")]
    NotItsChild,
}

/// What is wanted of a pane.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Start the shim of this holder directory. A descriptor comes with it.
    Shim { program: PathBuf, dir: PathBuf, home: Option<PathBuf> },
    /// From the command that opened the pane: this is its agent.
    Agent { id: String },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Reply {
    pid: Option<i32>,
    refused: Option<String>,
}

/// Has the pane that listens at `path` start the shim of a holder directory, with `theirs` as its descriptor 0.
pub fn start_shim(
    path: &Path,
    program: &Path,
    dir: &Path,
    home: Option<&Path>,
    theirs: BorrowedFd<'_>,
) -> Result<(Process, OwnedFd), PaneError> {
    let pane = socket::connect_at(path).map_err(PaneError::Closed)?;
    let request = Request::Shim {
        program: program.to_owned(),
        dir: dir.to_owned(),
        home: home.map(Path::to_owned),
    };
    let pane_pid = require_outside(&pane).map_err(|_| PaneError::Distrusted)?;
    say(&pane, &request, Some(theirs), ANSWER_WITHIN).map_err(PaneError::Silent)?;
    let (reply, _none): (Reply, _) = hear(&pane).map_err(PaneError::Silent)?;
    let pid = match reply {
        Reply { pid: Some(pid), .. } => pid,
        Reply { refused, .. } => return Err(PaneError::Refused(refused.unwrap_or_default())),
    };
    let stat = process::stat(pid).filter(|stat| stat.parent == pane_pid);
    let stat = stat.ok_or(PaneError::NotItsChild)?;
    let handle = process::open(stat.process).ok().flatten().ok_or(PaneError::NotItsChild)?;
    Ok((stat.process, handle))
}

/// Tells a pane whose it is; returns when the pane has understood.
pub fn tell_agent(path: &Path, id: &str) -> Result<(), PaneError> {
    let pane = socket::connect_at(path).map_err(PaneError::Closed)?;
    require_outside(&pane).map_err(|_| PaneError::Distrusted)?;
    let request = Request::Agent { id: id.to_owned() };
    say(&pane, &request, None, REQUEST_WITHIN).map_err(PaneError::Silent)?;
    let (reply, _none): (Reply, _) = hear(&pane).map_err(PaneError::Silent)?;
    reply.refused.map_or(Ok(()), |why| Err(PaneError::Refused(why)))
}

/// Whether a pane's process listens at `path`.
pub fn is_open(path: &Path) -> bool {
    socket::connect_at(path).is_ok_and(|pane| require_outside(&pane).is_ok())
}

/// The pane's side.
#[derive(Debug)]
pub struct PaneListener(OwnedFd);

/// A request with the caller that waits for the answer.
#[derive(Debug)]
pub struct Asked {
    pub request: Request,
    descriptor: Option<OwnedFd>,
    caller: OwnedFd,
}

impl PaneListener {
    /// Listens at `path`; what lies there is of a pane that is gone.
    pub fn bind(path: &Path) -> io::Result<PaneListener> {
        let name = path.file_name().and_then(|name| name.to_str());
        let (Some(parent), Some(name)) = (path.parent(), name) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listener = socket::listen_at(openat(CWD, parent, flags, Mode::empty())?, name)?;
        rustix::io::ioctl_fionbio(&listener, false)?;
        // Whoever watches the directory looks at every change of a mode: now it listens.
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(PaneListener(listener))
    }

    /// The next request of a caller that may ask. Others are not answered.
    pub fn next(&self) -> io::Result<Asked> {
        loop {
            let caller = match accept_with(&self.0, SocketFlags::CLOEXEC) {
                Ok(caller) => caller,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            if require_outside(&caller).is_err() {
                continue;
            }
            let is_limited = set_socket_timeout(&caller, Timeout::Recv, Some(REQUEST_WITHIN));
            if let (Ok(()), Ok((request, descriptor))) = (is_limited, hear(&caller)) {
                return Ok(Asked { request, descriptor, caller });
            }
        }
    }
}

impl Asked {
    /// Starts the shim that was asked for, and answers. The child is the caller's of this function to wait for.
    pub fn start_shim(self) -> io::Result<Child> {
        let Request::Shim { program, dir, home } = &self.request else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let Some(descriptor) = self.descriptor else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let started = command(program, dir, home.clone().map(OsString::from), descriptor).spawn();
        let reply = match &started {
            Ok(child) => Reply { pid: i32::try_from(child.id()).ok(), refused: None },
            Err(error) => Reply { pid: None, refused: Some(error.to_string()) },
        };
        // A caller that has gone starts its shim itself; this one finds its daemon gone, and ends.
        let _gone = say(&self.caller, &reply, None, REQUEST_WITHIN);
        started
    }

    pub fn acknowledge(&self) {
        let _gone = say(&self.caller, &Reply::default(), None, REQUEST_WITHIN);
    }

    pub fn refuse(&self, why: &str) {
        let reply = Reply { pid: None, refused: Some(why.to_owned()) };
        let _gone = say(&self.caller, &reply, None, REQUEST_WITHIN);
    }
}

/// A shim's command, whoever starts it: no shell, and nothing of the starter's environment.
pub(super) fn command(
    program: &Path,
    dir: &Path,
    home: Option<OsString>,
    daemon: OwnedFd,
) -> Command {
    let mut command = Command::new(program);
    command.arg0("perennial").arg("shim").arg(dir).env_clear();
    if let Some(home) = home {
        command.env("PERENNIAL_HOME", home);
    }
    command.stdin(Stdio::from(daemon)).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// PN1: the process at the other end, if it is our own user's and no shim is above it.
fn require_outside(peer: &OwnedFd) -> io::Result<i32> {
    let credentials = process::peer(peer)?;
    let is_ours = credentials.uid == rustix::process::geteuid().as_raw();
    match is_ours && ancestry::is_below_shim(credentials.pid) == Ok(false) {
        true => Ok(credentials.pid),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// One line of JSON, with at most one descriptor at its first byte.
fn say(
    to: &OwnedFd,
    message: &impl Serialize,
    descriptor: Option<BorrowedFd<'_>>,
    limit: Duration,
) -> io::Result<()> {
    rustix::io::ioctl_fionbio(to, false)?;
    set_socket_timeout(to, Timeout::Send, Some(limit))?;
    set_socket_timeout(to, Timeout::Recv, Some(limit))?;
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let sent = sendmsg(to, &[IoSlice::new(&line)], &mut ancillary, SendFlags::NOSIGNAL)?;
    // A line is shorter than any socket's buffer.
    if sent == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

fn hear<T: serde::de::DeserializeOwned>(from: &OwnedFd) -> io::Result<(T, Option<OwnedFd>)> {
    let mut line = Vec::new();
    let mut descriptor = None;
    while line.last() != Some(&b'\n') {
        let mut buffer = [0; 4096];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let count = recvmsg(from.as_fd(), &mut parts, &mut ancillary, flags)?.bytes;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                descriptor = descriptors.last().or(descriptor);
            }
        }
        line.extend_from_slice(&buffer[..count]);
        if count == 0 || line.len() > MESSAGE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok((serde_json::from_slice(&line)?, descriptor))
}
