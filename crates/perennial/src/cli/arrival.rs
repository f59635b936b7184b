//! Noticing that a daemon arrives: its socket appears in the state directory.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use perennial_api::Home;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// A watch over a home; what happens from its beginning on is not missed.
#[derive(Debug)]
pub struct Arrival {
    changes: OwnedFd,
}

impl Arrival {
    pub fn watch(home: &Home) -> io::Result<Arrival> {
        let changes = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        // A daemon changes its socket's mode when it listens already: that is the surest sign.
        let signs = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ATTRIB;
        add_watch(&changes, &home.state, signs)?;
        Ok(Arrival { changes })
    }

    /// Waits for a change that may be an arrival, at most so long; whether there was one.
    pub fn wait(&self, limit: Duration) -> bool {
        let limit = Timespec {
            tv_sec: limit.as_secs().cast_signed(),
            tv_nsec: limit.subsec_nanos().into(),
        };
        let changed = poll(&mut [PollFd::new(&self.changes, PollFlags::IN)], Some(&limit));
        let mut seen = [0; 4096];
        while rustix::io::read(&self.changes, &mut seen).is_ok_and(|count| count > 0) {}
        changed != Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_that_appears_ends_the_wait() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        home.create().unwrap();
        let arrival = Arrival::watch(&home).unwrap();
        let (waited, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _ = waited.send(arrival.wait(Duration::from_secs(3600)));
        });
        let _listener = UnixListener::bind(home.socket()).unwrap();
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(home.socket(), mode).unwrap();
        assert!(told.recv_timeout(Duration::from_secs(60)).expect("the wait ends"));
    }
}
