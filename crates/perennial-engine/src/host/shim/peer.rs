//! Whoever is connected to a shim: the daemon, a client at the terminal, or one that has not said
//! hello yet.
//!
//! Never blocks on a peer. A daemon that does not read is dropped at a bound; a client is fed from the
//! recording, at its own pace, and dropped when that has moved on.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::epoll::EventFlags;

use super::super::ancestry;
use super::super::connection::Connection;
use super::super::monotonic::{Moment, now};
use super::super::process;
use super::super::protocol::{Mode, Size};

/// How long a peer that is being closed may take to read the last word.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Peer {
    pub id: u64,
    pub connection: Connection,
    pub kind: Kind,
    /// To be closed as soon as all is sent, and at this moment at the latest.
    pub leave_by: Option<Moment>,
    /// Gone or broken: removed at the end of the turn.
    pub is_gone: bool,
    /// What epoll was last told to watch.
    pub watched: EventFlags,
}

#[derive(Debug)]
pub enum Kind {
    Greeting {
        by: Moment,
        /// The daemon that started this shim, on the socket it left us.
        inherited: bool,
    },
    Daemon,
    Viewer(Viewer),
}

/// A client at the terminal.
#[derive(Debug)]
pub struct Viewer {
    pub mode: Mode,
    pub size: Option<Size>,
    /// The next byte of the recording that it gets.
    pub offset: u64,
}

impl Peer {
    pub fn say(&mut self, message: &impl serde::Serialize) {
        self.is_gone |= self.connection.say(message).is_err();
        self.close_if_done();
    }

    pub fn say_bytes(&mut self, bytes: &[u8]) {
        self.is_gone |= self.connection.say_bytes(bytes).is_err();
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn flush(&mut self) {
        self.is_gone |= self.connection.flush().is_err();
        self.close_if_done();
    }

    fn close_if_done(&mut self) {
        self.is_gone |= self.leave_by.is_some() && self.connection.unsent().is_empty();
    }

    /// Says one last thing.
    pub fn close(&mut self, message: &impl serde::Serialize) {
        self.leave_by = Some(now() + LEAVE_WITHIN);
        self.say(message);
    }

    /// Takes in what it has sent; `false` if nothing was there.
    pub fn receive(&mut self, buffer: &mut [u8]) -> bool {
        let received = self.connection.receive(buffer);
        self.is_gone |= received.is_err();
        received.unwrap_or(false)
    }

    /// When its patience, or ours with it, ends.
    pub fn deadline(&self) -> Option<Moment> {
        match self.kind {
            Kind::Greeting { by, .. } => Some(by),
            Kind::Daemon | Kind::Viewer(_) => self.leave_by,
        }
    }

    pub fn is_daemon(&self) -> bool {
        matches!(self.kind, Kind::Daemon) && !self.is_gone
    }

    pub fn viewer(&mut self) -> Option<&mut Viewer> {
        match &mut self.kind {
            Kind::Viewer(viewer) => Some(viewer),
            Kind::Greeting { .. } | Kind::Daemon => None,
        }
    }

    pub fn is_attached(&self) -> bool {
        matches!(&self.kind, Kind::Viewer(viewer) if viewer.mode == Mode::Attach) && !self.is_gone
    }

    /// Nothing more is read from it.
    pub fn is_closed(&self) -> bool {
        self.is_gone || self.leave_by.is_some()
    }
}

/// Why somebody may not give orders.
#[derive(Debug, thiserror::Error)]
pub enum NotADaemon {
    #[error("another user")]
    AnotherUser,
    #[error("a process of a session")]
    InSession,
    #[error("its ancestry can't be read")]
    Unreadable,
}

/// Whether a peer may be a daemon: the same user, alive, and below no shim of whatever home.
pub fn may_order(socket: impl AsFd) -> Result<(), NotADaemon> {
    let peer = process::peer(&socket).map_err(|_| NotADaemon::Unreadable)?;
    if peer.uid != rustix::process::getuid().as_raw() {
        return Err(NotADaemon::AnotherUser);
    }
    // Outside of this pid namespace: nobody can say what is above it.
    if peer.pid == 0 {
        return Err(NotADaemon::Unreadable);
    }
    // Orphans of a session are its shim's own children.
    match ancestry::is_below_shim(peer.pid) {
        Ok(false) => {}
        Ok(true) => return Err(NotADaemon::InSession),
        Err(_) => return Err(NotADaemon::Unreadable),
    }
    // Its pid was its own during the walk only if it lives after it.
    match process::peer_handle(socket) {
        Some(handle) if process::is_over(&handle) => Err(NotADaemon::Unreadable),
        Some(_) | None => Ok(()),
    }
}
