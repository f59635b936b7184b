//! The terminal's bytes: from the session to its recording and to whoever looks, and from a person's
//! keyboard to the session.
//!
//! A client is fed from the recording: no byte is kept in memory for one that is slow.

use rustix::event::epoll::{self, EventData, EventFlags};

use super::super::monotonic::{now, wall_time};
use super::super::protocol::{ShimSay, Size};
use super::super::recording::marks::Stamp;
use super::peer::Kind;
use super::terminal::{QUEUE_BYTES_MAX, Terminal};
use super::{READ_BYTES, READS_PER_TURN, Shim, TERMINAL};

/// What a client sees of the past unless it asks for more.
const REPLAY_BYTES: u64 = 64 << 10;
/// More than the kernel keeps of a terminal's output.
const DRAIN_READS_MAX: usize = 256;
/// Of output that can't be recorded a client may let this much pile up.
const UNRECORDED_BYTES_MAX: usize = 64 << 10;

impl Shim {
    pub(super) fn on_terminal(&mut self, flags: EventFlags) {
        if flags.contains(EventFlags::OUT)
            && let Some(terminal) =
                self.session.as_mut().and_then(|session| session.terminal.as_mut())
        {
            terminal.flush();
            self.read_waiting_frames();
            self.watch_input();
        }
        for _ in 0..READS_PER_TURN {
            if !self.read_terminal() {
                break;
            }
        }
        self.watch_peers();
    }

    /// Reads once; `false` when there is nothing more for now.
    fn read_terminal(&mut self) -> bool {
        let Some(session) = &mut self.session else { return false };
        let Some(output) = session.output() else { return false };
        let count = match rustix::io::read(output, &mut self.buffer[..]) {
            Ok(0) => return false,
            Ok(count) => count,
            Err(rustix::io::Errno::INTR) => return true,
            Err(_) => return false,
        };
        let before = session.recorder.total();
        let size = session.terminal.as_ref().map(|terminal| terminal.size());
        let stamp = Stamp { now: now(), at: wall_time(), size };
        let is_recorded = session.recorder.append(&self.buffer[..count], stamp);
        let has_terminal = session.terminal.is_some();
        self.scan_output(count);
        if has_terminal && !self.peers.iter().any(super::peer::Peer::is_attached) {
            self.answer_queries(count);
        }
        for index in 0..self.peers.len() {
            if is_recorded {
                self.feed(index);
            } else {
                self.feed_unrecorded(index, before, count);
            }
        }
        true
    }

    fn answer_queries(&mut self, count: usize) {
        let Some(session) = &mut self.session else { return };
        let mut answers = Vec::new();
        session.queries.scan(&self.buffer[..count], &mut answers);
        if let Some(terminal) = session.terminal.as_mut().filter(|_| !answers.is_empty()) {
            // A program that asks without end and never reads gets no more answers.
            let _full = terminal.input(&answers);
            self.watch_input();
        }
    }

    /// Reads what a tree that is gone left in its terminal or pipe, and closes that.
    pub(super) fn drain_output(&mut self) {
        // The last writer's end must close first: only then is the end of the output known.
        let Some(session) = &mut self.session else { return };
        if let Some(terminal) = &mut session.terminal {
            terminal.close_slave();
        }
        if let Some(job) = &mut session.job {
            job.close_writer();
        }
        // Bounded: a stranger may have been handed this terminal and write on.
        let _rest = (0..DRAIN_READS_MAX).find(|_| !self.read_terminal());
        if let Some(session) = &mut self.session {
            if let Some(output) = session.output() {
                let _closed = epoll::delete(&self.epoll, output);
            }
            session.close_output();
        }
        self.watch_peers();
    }

    /// Sends a client what the recording has for it, as far as its socket takes it.
    pub(super) fn feed(&mut self, index: usize) {
        let Some(session) = &self.session else { return };
        let total = session.recorder.total();
        let peer = &mut self.peers[index];
        let Kind::Viewer(viewer) = &mut peer.kind else { return };
        if viewer.offset >= total || !peer.connection.unsent().is_empty() || peer.is_closed() {
            return;
        }
        let Ok(recording) = session.recorder.recording() else { return };
        let mut chunk = vec![0; READ_BYTES];
        while peer.connection.unsent().is_empty() && !peer.is_closed() {
            let Kind::Viewer(viewer) = &mut peer.kind else { return };
            match recording.read_at(viewer.offset, &mut chunk) {
                Ok(Some(0)) | Err(_) => return,
                Ok(Some(count)) => {
                    viewer.offset += count as u64;
                    peer.say_bytes(&chunk[..count]);
                }
                Ok(None) => peer.close(&ShimSay::TooSlow),
            }
        }
    }

    /// While the disk is full a client sees the session all the same, if it keeps up.
    fn feed_unrecorded(&mut self, index: usize, before: u64, count: usize) {
        let Some(session) = &self.session else { return };
        let total = session.recorder.total();
        let peer = &mut self.peers[index];
        let Kind::Viewer(viewer) = &mut peer.kind else { return };
        if viewer.offset < before || peer.connection.unsent().len() > UNRECORDED_BYTES_MAX {
            peer.close(&ShimSay::TooSlow);
            return;
        }
        viewer.offset = total;
        peer.say_bytes(&self.buffer[..count]);
    }

    /// Where a client's view of the past begins: where it says, or a little back, after a line's end.
    pub(super) fn replay_from(&self, from: Option<u64>) -> u64 {
        let Some(session) = &self.session else { return 0 };
        let total = session.recorder.total();
        let Ok(recording) = session.recorder.recording() else { return total };
        if let Some(from) = from {
            return from.clamp(recording.start(), total);
        }
        let begin = total.saturating_sub(REPLAY_BYTES).max(recording.start());
        if begin == 0 {
            return 0;
        }
        // A line's end is never inside an escape sequence that a terminal would go on reading.
        let mut chunk = vec![0; READ_BYTES];
        let count = recording.read_at(begin, &mut chunk).ok().flatten().unwrap_or(0);
        let line = chunk[..count].iter().position(|byte| *byte == b'\n');
        begin + line.map_or(0, |line| line as u64 + 1)
    }

    pub(super) fn on_typed(&mut self, index: usize, bytes: &[u8]) {
        if !self.peers[index].is_attached() {
            return;
        }
        // The last typist's size wins.
        if let Some(size) = self.peers[index].viewer().and_then(|viewer| viewer.size) {
            self.take_size(size);
        }
        let Some(session) = self.session.as_mut().filter(|session| session.exit.is_none()) else {
            return;
        };
        let now = now();
        session.typed_at = Some(now);
        if session.withhold(bytes, now) {
            self.watch_peers();
        } else {
            self.type_keys(bytes);
        }
    }

    pub(super) fn on_resize(&mut self, index: usize, size: Size) {
        if let Some(viewer) = self.peers[index].viewer() {
            viewer.size = Some(size);
        }
        if self.peers[index].is_attached() {
            self.take_size(size);
        }
    }

    pub(super) fn take_size(&mut self, size: Size) {
        let terminal = self.session.as_mut().and_then(|session| session.terminal.as_mut());
        let usable = size.rows > 0 && size.cols > 0;
        if let Some(terminal) = terminal.filter(|terminal| usable && terminal.size() != size) {
            terminal.resize(size);
        }
    }

    /// The size of a person's terminal, if one is attached.
    pub(super) fn attached_size(&self) -> Option<Size> {
        self.peers.iter().filter(|peer| peer.is_attached()).find_map(|peer| match &peer.kind {
            Kind::Viewer(viewer) => viewer.size,
            Kind::Greeting { .. } | Kind::Daemon => None,
        })
    }

    pub(super) fn repaint(&mut self) {
        if let Some(terminal) = self.session.as_mut().and_then(|session| session.terminal.as_mut())
        {
            terminal.repaint();
        }
    }

    pub(super) fn say_to_viewers(&mut self, say: &ShimSay) {
        for peer in &mut self.peers {
            if let Some(viewer) = peer.viewer() {
                viewer.offset = 0;
                peer.say(say);
            }
        }
    }

    /// Whether a person's typing must wait until the program reads.
    pub(super) fn is_input_full(&self) -> bool {
        let Some(session) = &self.session else { return false };
        let waiting = session.terminal.as_ref().map_or(0, Terminal::waiting);
        waiting + session.withheld.bytes() > QUEUE_BYTES_MAX / 2
    }

    /// Watches the terminal for room while input waits for it.
    pub(super) fn watch_input(&mut self) {
        let Some(session) = &self.session else { return };
        let Some(terminal) = &session.terminal else { return };
        let mut flags = EventFlags::IN;
        flags.set(EventFlags::OUT, terminal.waiting() > 0);
        let data = EventData::new_u64(TERMINAL);
        let _unchanged = epoll::modify(&self.epoll, &terminal.master, data, flags);
        self.watch_peers();
    }

    /// Tells epoll what each peer waits for, where that has changed.
    pub(super) fn watch_peers(&mut self) {
        let is_input_full = self.is_input_full();
        for peer in &mut self.peers {
            let is_unread = peer.is_closed() || is_input_full && peer.is_attached();
            let mut flags = EventFlags::empty();
            flags.set(EventFlags::OUT, !peer.connection.unsent().is_empty());
            flags.set(EventFlags::IN, !is_unread);
            if flags != peer.watched && !peer.is_gone {
                let data = EventData::new_u64(peer.id);
                if epoll::modify(&self.epoll, &peer.connection, data, flags).is_ok() {
                    peer.watched = flags;
                }
            }
        }
    }
}
