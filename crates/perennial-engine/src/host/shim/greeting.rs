//! Who connects to a shim, until hellos are exchanged; one-time tickets.
//!
//! Invariants
//! - G1  The newest daemon epoch is obeyed; an older one is refused, and what it had is closed.
//! - G2  A ticket opens one connection, before its time is up.
//! - G3  No process of the session itself gives orders.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{SocketFlags, accept_with};

use super::super::connection::Connection;
use super::super::monotonic::{Moment, now};
use super::super::protocol::{
    self, ClientHello, ClientSay, DELIVERS, Frame, Mode, Order, PROTOCOL, ProcessRecord, Role,
    ShimHello, Size,
};
use super::peer::{Kind, Peer, Viewer, may_order};
use super::{READS_PER_TURN, Shim};

/// Whoever has not said hello by then is closed.
const GREETING_WITHIN: Duration = Duration::from_secs(5);
const PEERS_MAX: usize = 64;
const TICKETS_MAX: usize = 16;

#[derive(Debug)]
pub struct IssuedTicket {
    pub token: String,
    pub mode: Mode,
    pub until: Moment,
}

impl Shim {
    pub(super) fn on_connection(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = accept_with(&self.listener, flags) {
            // Beyond the bound the oldest that has not said hello makes room; else the new one goes.
            if self.peers.len() >= PEERS_MAX {
                let idle = self
                    .peers
                    .iter_mut()
                    .find(|peer| matches!(peer.kind, Kind::Greeting { inherited: false, .. }));
                let Some(idle) = idle else { continue };
                idle.is_gone = true;
                self.remove_peers();
            }
            self.add_peer(socket, false);
        }
    }

    pub(super) fn add_peer(&mut self, socket: OwnedFd, inherited: bool) {
        let id = self.next_peer;
        self.next_peer += 1;
        let watched = EventFlags::IN;
        if epoll::add(&self.epoll, &socket, EventData::new_u64(id), watched).is_err() {
            return;
        }
        let connection =
            if inherited { Connection::new(socket) } else { Connection::with_stranger(socket) };
        self.peers.push(Peer {
            id,
            connection,
            kind: Kind::Greeting { by: now() + GREETING_WITHIN, inherited },
            leave_by: None,
            is_gone: false,
            watched,
        });
    }

    pub(super) fn on_peer(&mut self, id: u64, flags: EventFlags) {
        let Some(index) = self.peers.iter().position(|peer| peer.id == id) else { return };
        if flags.contains(EventFlags::OUT) {
            self.peers[index].flush();
            self.feed(index);
        }
        // One that is being closed is not read any more; its hang-up is all there is to see.
        if flags.intersects(EventFlags::HUP | EventFlags::ERR) && self.peers[index].is_closed() {
            self.peers[index].is_gone = true;
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            self.read_peer(index);
        }
        self.watch_peers();
    }

    fn read_peer(&mut self, index: usize) {
        for _ in 0..READS_PER_TURN {
            let peer = &mut self.peers[index];
            let is_read = !peer.is_closed() && peer.receive(&mut self.buffer);
            if !is_read || !self.read_frames(index) {
                return;
            }
        }
    }

    /// Handles typing that waited for room, now that there is some.
    pub(super) fn read_waiting_frames(&mut self) {
        for index in 0..self.peers.len() {
            if self.peers[index].is_attached() && !self.is_input_full() {
                self.read_frames(index);
            }
        }
    }

    /// Handles the whole frames that have come; `false` once the peer is to be read no further.
    fn read_frames(&mut self, index: usize) -> bool {
        loop {
            if self.peers[index].is_closed() {
                return false;
            }
            let frame = match self.peers[index].connection.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                Err(error) => {
                    self.refuse(index, error.to_string());
                    return false;
                }
            };
            if let Err(error) = self.on_frame(index, frame) {
                self.refuse(index, error.to_string());
            }
            if self.is_input_full() && self.peers[index].is_attached() {
                return false;
            }
        }
    }

    fn on_frame(&mut self, index: usize, frame: Frame) -> Result<(), protocol::FrameError> {
        match (&self.peers[index].kind, frame) {
            (Kind::Greeting { inherited, .. }, Frame::Control(payload)) => {
                let inherited = *inherited;
                let hello: ClientHello = protocol::parse(&payload)?;
                self.greet(index, hello, inherited);
            }
            (Kind::Greeting { .. } | Kind::Daemon, Frame::Bytes(_)) => {
                self.refuse(index, "terminal bytes from one who is not at the terminal".to_owned());
            }
            (Kind::Daemon, Frame::Control(payload)) => {
                let order: Order = protocol::parse(&payload)?;
                self.obey(order);
            }
            (Kind::Viewer(_), Frame::Bytes(bytes)) => self.on_typed(index, &bytes),
            (Kind::Viewer(_), Frame::Control(payload)) => match protocol::parse(&payload)? {
                ClientSay::Resize(size) => self.on_resize(index, size),
                ClientSay::Unknown => {}
            },
        }
        Ok(())
    }

    fn greet(&mut self, index: usize, hello: ClientHello, inherited: bool) {
        if hello.protocol == 0 {
            self.refuse(index, "a protocol that never was".to_owned());
            return;
        }
        match hello.role {
            Role::Daemon { epoch } => self.greet_daemon(index, epoch, inherited),
            Role::Attach { ticket, size, from } => {
                self.greet_viewer(index, &ticket, Mode::Attach, Some(size), from);
            }
            Role::Watch { ticket, from } => {
                self.greet_viewer(index, &ticket, Mode::Watch, None, from);
            }
        }
    }

    fn greet_daemon(&mut self, index: usize, epoch: u64, inherited: bool) {
        if epoch < self.epoch {
            self.refuse(index, protocol::outranked(self.epoch));
            return;
        }
        if !inherited && let Err(error) = may_order(&self.peers[index].connection) {
            self.refuse(index, error.to_string());
            return;
        }
        self.epoch = epoch;
        for (other, peer) in self.peers.iter_mut().enumerate() {
            let has_orders =
                matches!(peer.kind, Kind::Daemon | Kind::Greeting { inherited: true, .. });
            peer.is_gone |= has_orders && other != index;
        }
        let hello = self.hello(None, None);
        self.peers[index].kind = Kind::Daemon;
        self.peers[index].connection.trust();
        self.peers[index].say(&hello);
        // A new daemon that is told of an end has its own time to acknowledge it.
        if let Some(session) = self.session.as_mut().filter(|s| s.told_exit().is_some()) {
            session.answer_by = Some(now() + super::ANSWER_WITHIN);
        }
        // It has heard nothing of the input line yet, and said nothing.
        if let Some(session) = &mut self.session {
            session.told_line = None;
            session.told_announced = None;
            session.draft.abandon();
        }
    }

    fn greet_viewer(
        &mut self,
        index: usize,
        token: &str,
        mode: Mode,
        size: Option<Size>,
        from: Option<u64>,
    ) {
        let now = now();
        self.tickets.retain(|ticket| ticket.until > now);
        let found = self.tickets.iter().position(|ticket| ticket.token == token);
        // G2: it is gone from here on, whatever it was good for.
        match found.map(|at| self.tickets.swap_remove(at)) {
            Some(ticket) if ticket.mode == mode => {}
            Some(_) | None => {
                self.refuse(index, "no such ticket".to_owned());
                return;
            }
        }
        // Who only presses keys has no terminal whose size would count.
        let size = size.filter(|size| size.rows > 0 && size.cols > 0);
        let offset = self.replay_from(from);
        let hello = self.hello(None, Some(offset));
        self.peers[index].kind = Kind::Viewer(Viewer { mode, size, offset });
        self.peers[index].say(&hello);
        self.feed(index);
        // A program that begins now has the size already, and nothing to draw again.
        let has_begun = self.begin_awaited();
        if let Some(size) = size.filter(|_| !has_begun) {
            self.take_size(size);
            self.repaint();
        }
    }

    /// Says why, and closes.
    fn refuse(&mut self, index: usize, why: String) {
        let hello = self.hello(Some(why), None);
        self.peers[index].close(&hello);
    }

    fn hello(&self, refused: Option<String>, offset: Option<u64>) -> ShimHello {
        // One who is refused learns nothing else.
        let session = if refused.is_some() { None } else { self.session_record() };
        ShimHello { session, refused, offset, ..empty_hello(self.me.into()) }
    }

    pub(super) fn add_ticket(&mut self, ticket: IssuedTicket) {
        if self.tickets.len() >= TICKETS_MAX {
            self.tickets.remove(0);
        }
        self.tickets.push(ticket);
    }

    pub(super) fn remove_peers(&mut self) {
        if self.peers.iter().all(|peer| !peer.is_gone) {
            return;
        }
        let has_size = |peer: &Peer| matches!(&peer.kind, Kind::Viewer(one) if one.size.is_some());
        let has_left = self.peers.iter().any(|peer| peer.is_gone && has_size(peer));
        self.peers.retain(|peer| !peer.is_gone);
        // The terminal fits whoever is still there.
        if let Some(size) = self.attached_size().filter(|_| has_left) {
            self.take_size(size);
        }
    }
}

fn empty_hello(process: ProcessRecord) -> ShimHello {
    ShimHello {
        protocol: PROTOCOL,
        features: vec![DELIVERS.to_owned()],
        version: env!("CARGO_PKG_VERSION").to_owned(),
        process,
        session: None,
        refused: None,
        offset: None,
    }
}

/// Tells the daemon that started this shim why it can't begin.
pub fn refuse_inherited(why: &str) {
    let Some(socket) = super::inherited_socket() else { return };
    let nobody = ProcessRecord { pid: 0, start_ticks: 0 };
    let hello = ShimHello { refused: Some(why.to_owned()), ..empty_hello(nobody) };
    let _gone = Connection::new(socket).say(&hello);
}
