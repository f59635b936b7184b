//! Watches the vendors' own lists of live sessions: they tell what no hook does.
//!
//! One thread, asleep until a list's file changes; every line of a session is told as a fact. What it
//! is worth against what was heard is for the core to say. Without inotify it says nothing.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_engine::harness::claude::{self, Listing};
use perennial_engine::harness::preset::Dialect;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use crate::daemon::driving::driver::{DriverHandle, Message};

/// A line of a list is short; the rest of a long file says nothing more.
const LONGEST_LINE: u64 = 64 * 1024;

/// The way to the thread. Nothing where the kernel gives no watches.
#[derive(Debug, Clone, Default)]
pub struct SessionListWatcher(Option<Arc<Watched>>);

#[derive(Debug)]
struct Watched {
    inotify: OwnedFd,
    lists: Mutex<Lists>,
}

/// By the number of their watch.
type Lists = HashMap<i32, (PathBuf, Dialect)>;

impl SessionListWatcher {
    pub fn start(driver: DriverHandle) -> SessionListWatcher {
        let started = inotify::init(CreateFlags::CLOEXEC).map_err(io::Error::from).and_then(|fd| {
            let watched = Arc::new(Watched { inotify: fd, lists: Mutex::default() });
            let own = Arc::clone(&watched);
            let thread = std::thread::Builder::new().name("session_lists".to_owned());
            thread.spawn(move || own.run(&driver))?;
            Ok(watched)
        });
        match started {
            Ok(watched) => SessionListWatcher(Some(watched)),
            Err(error) => {
                tracing::warn!(%error, "the vendors' lists of sessions can't be watched");
                SessionListWatcher::default()
            }
        }
    }

    /// Watches this list from now on, if it is there; returns what it has of the process now.
    pub fn watch(&self, list: &Path, dialect: Dialect, pid: i32) -> Option<Listing> {
        let watched = self.0.as_ref()?;
        let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        let watch = inotify::add_watch(&watched.inotify, list, flags).ok()?;
        watched.lists().insert(watch, (list.to_owned(), dialect));
        read(&list.join(format!("{pid}.json")), dialect)
    }
}

impl Watched {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, driver: &DriverHandle) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            let (watch, name, is_over) = match events.next() {
                Ok(event) => {
                    let name = event.file_name().and_then(|name| name.to_str().ok());
                    let is_over = event.events().contains(ReadFlags::IGNORED);
                    (event.wd(), name.map(str::to_owned), is_over)
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => {
                    tracing::error!(%error, "the vendors' lists of sessions are watched no more");
                    return;
                }
            };
            if is_over {
                self.lists().remove(&watch);
                continue;
            }
            let listed = name.and_then(|name| self.changed(watch, &name));
            if let Some(listing) = listed
                && driver.send(Message::Listed(listing)).is_err()
            {
                return;
            }
        }
    }

    /// What a list has of a process now.
    fn changed(&self, watch: i32, name: &str) -> Option<Listing> {
        // Other files lie there too, some of them secrets.
        let _pid: i32 = name.strip_suffix(".json")?.parse().ok()?;
        let lists = self.lists();
        let (list, dialect) = lists.get(&watch)?;
        read(&list.join(name), *dialect)
    }
}

fn read(path: &Path, dialect: Dialect) -> Option<Listing> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST_LINE).read_to_end(&mut text).ok()?;
    match dialect {
        Dialect::Claude => claude::registry(&text),
    }
}
