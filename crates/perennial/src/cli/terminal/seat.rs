//! A person's place at this terminal: its keyboard in raw mode, and the kill signals that would end us.
//!
//! Lasts over several sessions of an agent and the time between them. Invariant: TE1.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use perennial_engine::host::monotonic::{now, wait_until};
use rustix::event::{PollFd, PollFlags, poll};

use super::Raw;
use super::aside::Aside;
use super::caught::{Caught, Signalled};
use super::keyboard::{Keyboard, Typed};
use crate::detach_keys::DetachKeys;

/// As much as is read of the keyboard at once.
const READ_BYTES: usize = 4096;
const CONTROL_C: u8 = 0x03;

#[derive(Debug)]
pub struct Seat {
    keyboard: Keyboard,
    signals: Caught,
    /// Dropped before the kill signals act again: the terminal is whole by then.
    _raw: Raw,
}

/// What happened at the seat, or beside it.
#[derive(Debug, PartialEq, Eq)]
pub enum Happened {
    /// For the program; may be empty.
    Typed(Vec<u8>),
    /// The person leaves, after these keys.
    Detached(Vec<u8>),
    Resized,
    /// A kill signal, or the terminal went away.
    Told,
    /// The other descriptor can be read.
    Other,
}

/// Why a person did not wait until something was done.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    Detached,
    Told,
}

impl Seat {
    /// Takes the keyboard. What was typed before is thrown away: nobody saw yet where it would go.
    pub fn take(keys: DetachKeys) -> io::Result<Seat> {
        let signals = Caught::begin()?;
        Ok(Seat { keyboard: Keyboard::new(keys), signals, _raw: Raw::enter()? })
    }

    pub fn keys(&self) -> DetachKeys {
        self.keyboard.keys()
    }

    pub fn wants_hint(&self) -> bool {
        self.keyboard.wants_hint(now())
    }

    /// Waits until something happens here, at `other`, or by the clock.
    pub fn wait(&mut self, other: Option<BorrowedFd<'_>>) -> io::Result<Happened> {
        let stdin = rustix::stdio::stdin();
        let watched = [Some(self.signals.as_fd()), Some(stdin), other];
        let mut fds: Vec<PollFd<'_>> = watched
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let limit = wait_until(self.keyboard.next_deadline(now()), now());
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let (signalled, typed, other) = (is_ready(0), is_ready(1), is_ready(2));
        // By the clock first: a key that comes later finds the prefix forgotten.
        let late = happened(self.keyboard.tick(now()));
        Ok(match late {
            Happened::Typed(keys) if keys.is_empty() => {
                // Output before keys: what a program said before its end must be seen.
                if other {
                    Happened::Other
                } else if signalled {
                    self.read_signals()
                } else if typed {
                    self.read_keys()
                } else {
                    Happened::Typed(keys)
                }
            }
            happened => happened,
        })
    }

    /// Does `work` elsewhere while the person can leave, by the detach keys or by Ctrl-C; other keys
    /// are dropped. If they leave, the work is not waited for.
    pub fn during<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<io::Result<T>, Left> {
        let work = match Aside::begin(work) {
            Ok(work) => work,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            match self.wait(Some(work.as_fd())) {
                Ok(Happened::Other) => return Ok(work.finish()),
                Ok(Happened::Typed(keys)) if keys.contains(&CONTROL_C) => {
                    return Err(Left::Detached);
                }
                Ok(Happened::Typed(_) | Happened::Resized) => {}
                Ok(Happened::Detached(_)) => return Err(Left::Detached),
                Ok(Happened::Told) => return Err(Left::Told),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    fn read_keys(&mut self) -> Happened {
        let mut buffer = [0; READ_BYTES];
        match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(0) => Happened::Told,
            Ok(count) => happened(self.keyboard.feed(&buffer[..count], count == READ_BYTES, now())),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Happened::Typed(Vec::new()),
            Err(_) => Happened::Told,
        }
    }

    fn read_signals(&self) -> Happened {
        match self.signals.read() {
            Signalled::Nothing => Happened::Typed(Vec::new()),
            Signalled::Resized => Happened::Resized,
            Signalled::Told(_) => Happened::Told,
        }
    }
}

fn happened(typed: Typed) -> Happened {
    match typed {
        Typed::Send(keys) => Happened::Typed(keys),
        Typed::Detach(keys) => Happened::Detached(keys),
    }
}
