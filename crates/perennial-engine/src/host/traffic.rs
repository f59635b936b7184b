//! How long a process has received nothing over its connections, as the kernel counts it.
//!
//! Asks the kernel's socket diagnostics once; keeps nothing, and sees no content.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

const HEADER: usize = 16;
/// `inet_diag_msg`, and where its fields are.
const MESSAGE: usize = 72;
const INODE_AT: usize = 68;
/// `tcp_info`'s milliseconds since data was last received.
const INFO: u16 = 2;
const LAST_DATA_RECEIVED_AT: usize = 52;
const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const FAILED: u16 = 2;
const REQUEST_AND_DUMP: u16 = 0x301;
const TCP: u8 = 6;
const ESTABLISHED: u32 = 1 << 1;

/// The shortest silence among the process's open connections; `None` if it has none.
pub fn silent_for(pid: i32) -> io::Result<Option<Duration>> {
    let own = sockets(pid)?;
    if own.is_empty() {
        return Ok(None);
    }
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(SOCK_DIAG),
    )?;
    let mut shortest = None;
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        for (inode, silence) in connections(&socket, family)? {
            if own.contains(&inode) {
                shortest = Some(shortest.map_or(silence, |least: Duration| least.min(silence)));
            }
        }
    }
    Ok(shortest)
}

/// The inodes of the sockets that a process has open.
fn sockets(pid: i32) -> io::Result<HashSet<u32>> {
    let mut inodes = HashSet::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd"))? {
        let Ok(target) = std::fs::read_link(entry?.path()) else { continue };
        let target = target.to_string_lossy();
        let inode = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        inodes.extend(inode.and_then(|inode| inode.parse::<u32>().ok()));
    }
    Ok(inodes)
}

/// Every open connection of a family: its inode, and how long it has received nothing.
fn connections(socket: &OwnedFd, family: AddressFamily) -> io::Result<Vec<(u32, Duration)>> {
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(socket, &request(family), SendFlags::empty(), &kernel)?;
    let mut found = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (_, length) = recv(socket, &mut buffer[..], RecvFlags::empty())?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = &buffer[..length.min(buffer.len())];
        while let Some(length) = u32_at(rest, 0).map(|length| length as usize) {
            let Some(message) = rest.get(..length).filter(|message| message.len() >= HEADER) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            match u16_at(message, 4) {
                Some(DONE) => return Ok(found),
                Some(FAILED) => return Err(io::ErrorKind::Unsupported.into()),
                Some(_) | None => found.extend(connection(&message[HEADER..])),
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn request(family: AddressFamily) -> Vec<u8> {
    let mut request = vec![0; HEADER + 56];
    let length = u32::try_from(request.len()).unwrap_or_default();
    request[0..4].copy_from_slice(&length.to_ne_bytes());
    request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST_AND_DUMP.to_ne_bytes());
    let wanted = &mut request[HEADER..];
    wanted[0] = u8::try_from(family.as_raw()).unwrap_or_default();
    wanted[1] = TCP;
    wanted[2] = 1 << (INFO - 1);
    wanted[4..8].copy_from_slice(&ESTABLISHED.to_ne_bytes());
    request
}

fn connection(message: &[u8]) -> Option<(u32, Duration)> {
    let inode = u32_at(message, INODE_AT)?;
    let mut rest = message.get(MESSAGE..)?;
    loop {
        let length = usize::from(u16_at(rest, 0)?);
        let attribute = rest.get(..length).filter(|attribute| attribute.len() >= 4)?;
        if u16_at(attribute, 2)? == INFO {
            let milliseconds = u32_at(attribute, 4 + LAST_DATA_RECEIVED_AT)?;
            return Some((inode, Duration::from_millis(milliseconds.into())));
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Connections are this process's own: nothing else may open one here.
    #[test]
    fn silence_grows_until_something_is_received() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(silent_for(own).unwrap(), None);
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut there, _) = listener.accept().unwrap();
            // The kernel counts in ticks: it takes some before silence is seen to grow.
            let silence = || silent_for(own).unwrap().expect("connected");
            let before = std::iter::repeat_with(silence).find(|s| s.as_millis() > 40).unwrap();
            there.write_all(b"x").unwrap();
            here.read_exact(&mut [0]).unwrap();
            assert!(silence() < before);
        }
    }
}
