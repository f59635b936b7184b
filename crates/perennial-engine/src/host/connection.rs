//! One end of a frame connection: what has come, what waits to go.
//!
//! Never blocks. A peer that lets too much pile up is lost.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::Serialize;

use super::protocol::{self, CONTROL_BYTES_MAX, Frame, FrameError, Inbox, STRANGER_BYTES_MAX};

/// A peer that lets more than this pile up is not reading.
const OUTBOX_BYTES_MAX: usize = 2 << 20;

/// The connection is of no more use.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    #[error("the connection was closed")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(#[source] Errno),
    #[error("the peer does not read")]
    NotReading,
    #[error(transparent)]
    Frame(#[from] FrameError),
}

#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    inbox: Inbox,
    outbox: Vec<u8>,
}

impl Connection {
    pub fn new(socket: OwnedFd) -> Connection {
        Connection { socket, inbox: Inbox::new(CONTROL_BYTES_MAX), outbox: Vec::new() }
    }

    /// With one who has not shown who it is.
    pub fn with_stranger(socket: OwnedFd) -> Connection {
        Connection { socket, inbox: Inbox::new(STRANGER_BYTES_MAX), outbox: Vec::new() }
    }

    /// The stranger is who it should be.
    pub fn trust(&mut self) {
        self.inbox.trust();
    }

    /// Queues a control message and sends what can be sent.
    pub fn say(&mut self, message: &impl Serialize) -> Result<(), Lost> {
        protocol::push_control(&mut self.outbox, message)?;
        self.flush()
    }

    /// Queues terminal bytes and sends what can be sent.
    pub fn say_bytes(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        protocol::push_bytes(&mut self.outbox, bytes);
        self.flush()
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn flush(&mut self) -> Result<(), Lost> {
        let mut done = 0;
        while done < self.outbox.len() {
            match send(
                &self.socket,
                &self.outbox[done..],
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            ) {
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(Lost::Broken(error)),
            }
        }
        self.outbox.drain(..done);
        if self.outbox.is_empty() {
            self.outbox = Vec::new();
        }
        if self.outbox.len() > OUTBOX_BYTES_MAX { Err(Lost::NotReading) } else { Ok(()) }
    }

    /// Bytes that the socket has not taken yet.
    pub fn unsent(&self) -> &[u8] {
        &self.outbox
    }

    /// Reads once; `false` if nothing was there.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<bool, Lost> {
        loop {
            return match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => Err(Lost::Closed),
                Ok((count, _)) => {
                    self.inbox.push(&buffer[..count]);
                    Ok(true)
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Ok(false),
                Err(error) => Err(Lost::Broken(error)),
            };
        }
    }

    /// Reads once, and nothing beyond the next frame: what follows stays for a poll to see.
    pub fn receive_one(&mut self, buffer: &mut [u8]) -> Result<bool, Lost> {
        let length = self.inbox.missing().min(buffer.len());
        self.receive(&mut buffer[..length])
    }

    /// The next whole frame that has come.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        self.inbox.next_frame()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
