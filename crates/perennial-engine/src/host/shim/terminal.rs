//! The session's terminal: both ends of its PTY, and what waits to be typed into it.
//!
//! Never blocks: what the terminal does not take waits in a bounded queue.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, Winsize, tcgetattr, tcgetpgrp, tcsetattr, tcsetwinsize,
};

use super::super::protocol::Size;

/// Bytes that may wait for a program that does not read.
pub const QUEUE_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub struct Terminal {
    pub master: OwnedFd,
    /// Kept open so that a program which closes its terminal and opens it again finds it.
    slave: Option<OwnedFd>,
    queue: Vec<u8>,
    size: Size,
}

impl Terminal {
    pub fn open(size: Size, echoes: bool) -> io::Result<Terminal> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        let mut modes = tcgetattr(&slave)?;
        modes.input_modes |= InputModes::IUTF8;
        modes.local_modes.set(LocalModes::ECHO, echoes);
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        let mut terminal = Terminal { master, slave: Some(slave), queue: Vec::new(), size };
        terminal.resize(size);
        Ok(terminal)
    }

    pub fn size(&self) -> Size {
        self.size
    }

    pub fn resize(&mut self, size: Size) {
        self.size = size;
        let winsize = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        // Fails only on a terminal that is gone, where no size matters.
        let _gone = tcsetwinsize(&self.master, winsize);
    }

    /// Makes a full-screen program draw itself again: the kernel tells it only of a changed size.
    pub fn repaint(&mut self) {
        let size = self.size;
        self.resize(Size { rows: size.rows.saturating_add(1), cols: size.cols });
        self.resize(size);
    }

    /// Types bytes; `false`, and nothing is typed, if the queue has no room for them.
    pub fn input(&mut self, bytes: &[u8]) -> bool {
        let has_room = self.queue.len() + bytes.len() <= QUEUE_BYTES_MAX;
        if has_room {
            self.typed(bytes);
        }
        has_room
    }

    /// Types what a person typed: never dropped. The caller stops reading from a person while much
    /// is waiting, so that at most one frame of each goes beyond the bound.
    pub fn typed(&mut self, bytes: &[u8]) {
        self.queue.extend_from_slice(bytes);
        self.flush();
    }

    /// Types what waits, as far as the terminal takes it.
    pub fn flush(&mut self) {
        let mut done = 0;
        while done < self.queue.len() {
            match rustix::io::write(&self.master, &self.queue[done..]) {
                Ok(count) => done += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.queue.drain(..done);
        if self.queue.is_empty() {
            self.queue = Vec::new();
        }
    }

    /// Bytes that the program has not taken yet.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Bytes that the terminal has taken and the program has not read.
    pub fn unread(&self) -> u64 {
        let unread = self.slave.as_ref().map(rustix::io::ioctl_fionread);
        unread.and_then(Result::ok).unwrap_or_default()
    }

    /// Whether the terminal collects lines by itself: a full-screen program turns that off.
    pub fn is_canonical(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
    }

    /// The program's end of it.
    pub fn slave(&self) -> Option<&OwnedFd> {
        self.slave.as_ref()
    }

    /// After this a read says when all output has been read.
    pub fn close_slave(&mut self) {
        self.slave = None;
    }

    /// The process group in the foreground: who an interrupt key would reach.
    pub fn foreground(&self) -> Option<Pid> {
        tcgetpgrp(self.master.as_fd()).ok()
    }
}
