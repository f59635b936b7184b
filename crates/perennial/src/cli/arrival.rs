//! Notices that a daemon has started: its socket appears in the state directory.

use std::io;
use std::time::Duration;

use perennial_api::Home;
use perennial_engine::watch::{Interest, Watch};

/// A watch over a home; what happens from its beginning on is not missed.
#[derive(Debug)]
pub struct Arrival(Watch);

impl Arrival {
    pub fn watch(home: &Home) -> io::Result<Arrival> {
        let watch = Watch::new()?;
        // A daemon changes its socket's mode when it listens already: that is the surest sign.
        watch.add(&home.state, Interest::Arrival)?;
        Ok(Arrival(watch))
    }

    /// Waits up to `limit` for a change that may be an arrival; returns whether there was one.
    pub fn wait(&self, limit: Duration) -> bool {
        // A wait that was cut short may be one for an arrival: the caller looks.
        let changed = self.0.wait(Some(limit)).unwrap_or(true);
        let _ = self.0.drain(|_| {});
        changed
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
