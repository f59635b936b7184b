//! The kill signals that would end a client at a terminal, as something to read.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Kill signals that come as something to read, until dropped.
#[derive(Debug)]
pub struct Caught {
    set: SigSet,
    descriptor: SignalFd,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Signalled {
    Nothing,
    Resized,
    /// To end, by this kill signal.
    Told(u32),
}

impl Caught {
    pub fn begin() -> io::Result<Caught> {
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

    /// All that have come; one to end counts most.
    pub fn read(&self) -> Signalled {
        let mut signalled = Signalled::Nothing;
        while let Ok(Some(signal)) = self.descriptor.read_signal() {
            if signal.ssi_signo == Signal::SIGWINCH as u32 {
                signalled = Signalled::Resized;
            } else {
                return Signalled::Told(signal.ssi_signo);
            }
        }
        signalled
    }
}

impl AsFd for Caught {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        let _ = self.set.thread_unblock();
    }
}
