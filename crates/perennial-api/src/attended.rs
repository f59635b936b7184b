//! A connection to the daemon, attended to while nothing comes: a daemon that was stopped (SIGSTOP) can't
//! answer, and is not waited for.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;

/// After a silence as long as this, the daemon is looked at.
const LOOK_AFTER: Duration = Duration::from_secs(2);

/// Whoever listens is stopped, as by Ctrl-Z or SIGSTOP, or halted by a debugger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("process {pid} is stopped")]
pub struct Stopped {
    pub pid: i32,
}

#[derive(Debug)]
pub struct Attended {
    stream: UnixStream,
    /// Who listens at the other end, where the system says so.
    daemon: Option<i32>,
    /// How long something may take to come; without it, for as long as the daemon runs.
    patience: Option<Duration>,
}

impl Attended {
    pub fn new(stream: UnixStream, patience: Duration) -> io::Result<Attended> {
        // Not by rustix, which takes no 0: the pid of a listener outside of this pid namespace.
        let peer = getsockopt(&stream, PeerCredentials).ok();
        stream.set_read_timeout(Some(LOOK_AFTER.min(patience)))?;
        let daemon = peer.map(|peer| peer.pid()).filter(|pid| *pid > 0);
        Ok(Attended { stream, daemon, patience: Some(patience) })
    }

    /// The same connection, waited for without a limit: silence is normal in a feed.
    pub fn be_patient(&mut self) -> io::Result<()> {
        self.patience = None;
        self.stream.set_read_timeout(Some(LOOK_AFTER))
    }

    fn stopped(&self) -> Option<Stopped> {
        let pid = self.daemon?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        is_stopped(&stat).then_some(Stopped { pid })
    }
}

/// Whether the line of a process says so; its name, in brackets, may contain anything.
fn is_stopped(stat: &str) -> bool {
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    matches!(after_name.as_bytes().first(), Some(b'T' | b't'))
}

impl Read for Attended {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut waited = Duration::ZERO;
        loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if let Some(stopped) = self.stopped() {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, stopped));
                    }
                    waited += LOOK_AFTER;
                    if self.patience.is_some_and(|patience| waited >= patience) {
                        return Err(error);
                    }
                }
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_process_is_after_its_name() {
        assert!(is_stopped("7 (perennial) T 1 7 7 0"));
        assert!(is_stopped("7 (a) S (b) t 1 7 7 0"));
        assert!(!is_stopped("7 (x) T) S 1 7 7 0"));
        assert!(!is_stopped("7 (perennial) R 1 7 7 0"));
        assert!(!is_stopped(""));
    }

    #[test]
    fn patience_ends() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair of sockets");
        let mut attended = Attended::new(ours, Duration::from_millis(20)).expect("a limit");
        let error = attended.read(&mut [0]).expect_err("nobody writes");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
