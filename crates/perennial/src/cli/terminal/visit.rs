//! A person attached to an agent's terminal: passes keys and output until either side leaves.
//!
//! One thread, one poll over keyboard, holder and kill signals. Invariant: TE1.

use std::io::{self, Write};
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use perennial_engine::host::attach::{Attachment, News, SessionExit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::detach_key::{self, DetachKey, Typed};
use super::escapes::{Scanner, Token, is_query};
use super::modes::Modes;
use super::{Raw, size};
use crate::kill_signal;

/// Why a visit ended.
#[derive(Debug)]
pub enum Leaving {
    Detached,
    /// With how the session ended, for people.
    Ended(String),
    TooSlow,
    Lost(String),
    /// A kill signal, or the terminal went away.
    Told,
}

#[derive(Debug)]
pub struct Visit {
    attachment: Attachment,
    key: DetachKey,
    /// Output before this place in the recording is history.
    replayed_to: u64,
    scanner: Scanner,
    /// Dropped before the kill signals act again: the terminal is whole by then.
    screen: Screen,
    signals: Caught,
}

/// Kill signals that come as something to read, until dropped.
#[derive(Debug)]
struct Caught {
    set: SigSet,
    descriptor: SignalFd,
}

impl Caught {
    fn begin() -> io::Result<Caught> {
        let mut set = SigSet::empty();
        for signal in
            [Signal::SIGWINCH, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT]
        {
            set.add(signal);
        }
        set.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Caught { set, descriptor: SignalFd::with_flags(&set, flags)? })
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        let _ = self.set.thread_unblock();
    }
}

/// The terminal as the program has made it; leaving it undoes that.
#[derive(Debug)]
struct Screen {
    modes: Modes,
    _raw: Raw,
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(self.modes.undo().as_bytes());
        let _ = out.flush();
    }
}

impl Visit {
    pub fn begin(attachment: Attachment, key: DetachKey, replayed_to: u64) -> io::Result<Visit> {
        let signals = Caught::begin()?;
        let screen = Screen { modes: Modes::default(), _raw: Raw::enter()? };
        Ok(Visit { attachment, key, replayed_to, scanner: Scanner::default(), screen, signals })
    }

    /// Until someone goes; why, and in which session that was.
    pub fn stay(mut self) -> (Leaving, u32) {
        loop {
            if let Some(leaving) = self.turn() {
                return (leaving, self.attachment.session());
            }
        }
    }

    fn turn(&mut self) -> Option<Leaving> {
        let stdin = rustix::stdio::stdin();
        let moment = Timespec { tv_sec: 0, tv_nsec: detach_key::WITHIN.subsec_nanos().into() };
        let limit = self.key.is_waiting().then_some(&moment);
        let mut fds = [
            PollFd::from_borrowed_fd(stdin, PollFlags::IN),
            PollFd::from_borrowed_fd(self.attachment.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.descriptor.as_fd(), PollFlags::IN),
        ];
        match poll(&mut fds, limit) {
            Ok(0) => {
                let single = self.key.give_up();
                return self.send(&single);
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return None,
            Err(error) => return Some(Leaving::Lost(error.to_string())),
        }
        let [typed, news, signalled] = fds.map(|fd| !fd.revents().is_empty());
        // Output first: what a program said before its end must be seen.
        news.then(|| self.on_news())
            .flatten()
            .or_else(|| signalled.then(|| self.on_signal()).flatten())
            .or_else(|| typed.then(|| self.on_typed()).flatten())
    }

    fn on_typed(&mut self) -> Option<Leaving> {
        let mut buffer = [0; 4096];
        match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(0) => Some(Leaving::Told),
            Ok(count) => match self.key.feed(&buffer[..count]) {
                Typed::Detach(before) => self.send(&before).or(Some(Leaving::Detached)),
                Typed::Send(bytes) => self.send(&bytes),
            },
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => None,
            Err(_) => Some(Leaving::Told),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Option<Leaving> {
        if bytes.is_empty() {
            return None;
        }
        self.attachment.send(bytes).err().map(|error| Leaving::Lost(error.to_string()))
    }

    fn on_signal(&mut self) -> Option<Leaving> {
        let mut is_resized = false;
        while let Ok(Some(signal)) = self.signals.descriptor.read_signal() {
            if signal.ssi_signo == Signal::SIGWINCH as u32 {
                is_resized = true;
            } else {
                return Some(Leaving::Told);
            }
        }
        let size = size(rustix::stdio::stdin()).filter(|_| is_resized)?;
        let sent = self.attachment.resize(size.rows, size.cols);
        sent.err().map(|error| Leaving::Lost(error.to_string()))
    }

    fn on_news(&mut self) -> Option<Leaving> {
        let mut place = self.attachment.offset();
        let news = match self.attachment.read() {
            Ok(news) => news,
            Err(error) => return Some(Leaving::Lost(error.to_string())),
        };
        for one in news {
            match one {
                News::Output(bytes) => {
                    if self.show(&bytes, place).is_err() {
                        return Some(Leaving::Told);
                    }
                    place += bytes.len() as u64;
                }
                News::Session(number) => {
                    (place, self.replayed_to) = (0, 0);
                    self.scanner = Scanner::default();
                    let undo = self.screen.modes.undo();
                    self.screen.modes = Modes::default();
                    let note = format!("{undo}\r\n[session {number} started]\r\n");
                    if write_out(note.as_bytes()).is_err() {
                        return Some(Leaving::Told);
                    }
                }
                News::Ended(end) => return Some(Leaving::Ended(ended(end))),
                News::TooSlow => return Some(Leaving::TooSlow),
            }
        }
        None
    }

    /// Shows output that begins at `place`. In history, questions to the terminal are left out: it
    /// would type its answers again, to a program that did not ask.
    fn show(&mut self, bytes: &[u8], place: u64) -> io::Result<()> {
        let is_history = place < self.replayed_to;
        let modes = &mut self.screen.modes;
        let mut shown = Vec::with_capacity(bytes.len());
        self.scanner.feed(bytes, |token| match token {
            Token::Sequence(sequence) if is_history && is_query(sequence) => {}
            Token::Sequence(sequence) => {
                modes.note(sequence);
                shown.extend_from_slice(sequence);
            }
            Token::Text(text) | Token::Fragment(text) => shown.extend_from_slice(text),
        });
        write_out(&shown)
    }
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// How a session ended, as far as its holder told.
pub fn ended(end: Option<SessionExit>) -> String {
    match end {
        Some(SessionExit::Code(code)) => format!("exit code {code}"),
        Some(SessionExit::KillSignal(signal)) => format!("killed by {}", kill_signal::name(signal)),
        Some(SessionExit::NotStarted(why)) => format!("not started: {why}"),
        None => "its holder is gone".to_owned(),
    }
}
