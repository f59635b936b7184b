//! Unix sockets in directories with long paths.
//!
//! A socket's address holds 108 bytes, a state directory may be deeper: bind and connect go through
//! /proc/self/fd/N of the opened directory.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use super::process;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

/// Who listens is not of our user.
#[derive(Debug, thiserror::Error)]
#[error("the socket belongs to another user's process")]
struct AnotherUser;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 16;

fn stream_socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

fn address(dir: impl AsFd, name: &str) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", dir.as_fd().as_raw_fd()))
}

/// A listening socket for the owner only. The caller has the directory's lock: what lies there is old.
pub fn listen_at(dir: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let _absent = rustix::fs::unlinkat(&dir, name, rustix::fs::AtFlags::empty());
    let socket = stream_socket()?;
    bind(&socket, &address(&dir, name)?)?;
    rustix::fs::chmodat(&dir, name, Mode::RUSR | Mode::WUSR, rustix::fs::AtFlags::empty())?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Connects without waiting: `WouldBlock` if nobody accepts.
pub fn connect_at(path: &Path) -> io::Result<OwnedFd> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(CWD, parent, flags, Mode::empty())?;
    let socket = stream_socket()?;
    connect(&socket, &address(&dir, name)?)?;
    // Nothing is said to another user's process, whatever the path led to.
    if process::peer_uid(&socket)? != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, AnotherUser));
    }
    Ok(socket)
}
