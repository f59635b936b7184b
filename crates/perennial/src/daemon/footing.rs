//! The files that a running daemon stands on: its journal, its locks and its socket. One thread, asleep until
//! the kernel tells of a change in their directories.
//!
//! A journal that was moved, removed or replaced is told to the driver, which changes nothing more until it is
//! back; locks are taken again; the surface is told to look after its socket. Without inotify only the journal
//! is watched: it looks itself before each commit.

use std::path::Path;
use std::sync::Arc;

use perennial_api::Home;
use perennial_engine::watch::{Interest, Watch};
use perennial_store::Store;
use tokio::sync::Notify;

use super::driving::driver::{DriverHandle, Incoming, chain};
use super::lock::Lock;

pub struct Footing {
    pub home: Home,
    pub journal: Arc<dyn Store>,
    pub driver: DriverHandle,
    /// Told when the socket may be gone.
    pub socket: Arc<Notify>,
    pub locks: Arc<Vec<Lock>>,
    /// In place of those whose files were removed.
    pub retaken: Vec<Lock>,
}

impl Footing {
    /// Watches until the process ends.
    pub fn watch(self) {
        let started = Watch::new().and_then(|watch| {
            let thread = std::thread::Builder::new().name("footing".to_owned());
            thread.spawn(move || self.run(&watch)).map(|_| ())
        });
        if let Err(error) = started {
            tracing::warn!(%error, "the daemon's own files can't be watched");
        }
    }

    fn run(mut self, watch: &Watch) {
        loop {
            self.add_all(watch);
            // Also after what happened before it was watched.
            self.look();
            let told = watch.wait(None).and_then(|_| watch.drain(|_| ()));
            if let Err(error) = told {
                tracing::warn!(%error, "the daemon's own files are no longer watched");
                return;
            }
        }
    }

    /// The directories, and those above them: a directory can be moved or replaced, too.
    fn add_all(&self, watch: &Watch) {
        for directory in [&self.home.data, &self.home.state] {
            let places = directory.parent().into_iter().chain([directory.as_path()]);
            for place in places {
                let _absent = watch.add(place, Interest::Names);
            }
        }
    }

    fn look(&mut self) {
        if let Err(error) = self.journal.check() {
            let why = chain(&error);
            tracing::error!(%why, "the journal can't be written");
            let _ending = self.driver.send(Incoming::Unwritable(why));
        }
        for path in [self.home.lock(), self.home.earlier_lock()] {
            self.hold(&path);
        }
        self.socket.notify_one();
    }

    /// A lock whose file was removed keeps nobody out.
    fn hold(&mut self, path: &Path) {
        if self.locks.iter().chain(&self.retaken).any(|lock| lock.is_at(path)) {
            return;
        }
        match Lock::take(path) {
            Ok(lock) => {
                tracing::warn!(path = %path.display(), "a lock was removed or replaced: taken again");
                self.retaken.push(lock);
            }
            Err(error) => tracing::warn!(error = chain(&error), "a lock can't be taken again"),
        }
    }
}
