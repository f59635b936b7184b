//! Watches the vendors' own lists of live sessions: they tell what no hook does.
//!
//! One thread, asleep until a list's file changes; every line of a session is told as a fact. What it
//! is worth against what was heard is for the core to say. Without inotify it says nothing.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_core::conversation::ConversationId;
use perennial_core::session::Process;
use perennial_engine::harness::Dialect;
use perennial_engine::harness::dialect::Listing;
use perennial_engine::harness::path_rule::PathRule;
use perennial_engine::host::process;
use perennial_engine::regular_file::{self, Links};
use perennial_engine::watch::{Interest, Watch, Watched};

use crate::daemon::driving::driver::{DriverHandle, Incoming};

/// A line of a list is short; the rest of a long file says nothing more.
const LONGEST_LINE: u64 = 64 * 1024;

/// A vendor's list: a directory with a file for each session.
#[derive(Debug, Clone)]
pub struct SessionList {
    pub directory: PathBuf,
    pub rule: PathRule,
    pub dialect: &'static dyn Dialect,
}

/// The way to the thread. Nothing where the kernel gives no watches.
#[derive(Debug, Clone, Default)]
pub struct SessionListWatcher(Option<Arc<WatchedLists>>);

#[derive(Debug)]
struct WatchedLists {
    watch: Watch,
    lists: Mutex<HashMap<Watched, SessionList>>,
}

impl SessionListWatcher {
    pub fn start(driver: DriverHandle) -> SessionListWatcher {
        let started = Watch::new().and_then(|watch| {
            let watched = Arc::new(WatchedLists { watch, lists: Mutex::default() });
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
    pub fn watch(&self, list: &SessionList, pid: i32) -> Option<Listing> {
        let watched = self.0.as_ref()?;
        let number = watched.watch.add(&list.directory, Interest::Written).ok()?;
        // Before it is read: what changes from here on is told.
        watched.lists().insert(number, list.clone());
        list.read(&list.rule.file_of(pid)?)
    }
}

impl WatchedLists {
    fn lists(&self) -> MutexGuard<'_, HashMap<Watched, SessionList>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, driver: &DriverHandle) {
        loop {
            let mut told = Vec::new();
            let looked = self.watch.wait(None).and_then(|_| {
                self.watch.drain(|change| {
                    if change.is_over {
                        self.lists().remove(&change.of);
                    } else if let Some(name) = change.name {
                        told.extend(self.changed(change.of, name));
                    }
                })
            });
            for listing in told {
                if driver.send(Incoming::Listed(listing)).is_err() {
                    return;
                }
            }
            match looked {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::error!(%error, "the vendors' lists of sessions are no longer watched");
                    return;
                }
                Ok(()) | Err(_) => {}
            }
        }
    }

    /// What a list has of a process now.
    fn changed(&self, of: Watched, name: &str) -> Option<Listing> {
        let lists = self.lists();
        let list = lists.get(&of)?;
        // Other files lie there too, some of them secrets.
        if list.rule.is_of_process(name) { list.read(name) } else { None }
    }
}

impl SessionList {
    /// A living process that has this conversation open.
    pub fn writer_of(&self, conversation: &ConversationId) -> Option<Process> {
        let entries = std::fs::read_dir(&self.directory).ok()?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter(|name| self.rule.is_of_process(name))
            .filter_map(|name| self.read(&name))
            .filter(|listing| listing.conversation.as_ref() == Some(conversation))
            .map(|listing| listing.process)
            // A file that a killed one left behind names no living process; nor one that nobody has reaped yet.
            .find(|process| process::is_alive(*process))
    }

    fn read(&self, name: &str) -> Option<Listing> {
        let mut text = Vec::new();
        let file = regular_file::open(&self.directory.join(name), Links::Follow).ok()?;
        file.take(LONGEST_LINE).read_to_end(&mut text).ok()?;
        self.dialect.listing(&text)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use perennial_engine::harness::vendors::DIALECTS;

    use super::*;

    /// A shim is killed: its session is over, and whoever inherits the processes may take a while to reap them.
    #[test]
    fn a_process_that_nobody_has_reaped_has_no_conversation_open() {
        let dir = tempfile::tempdir().unwrap();
        let dialect = *DIALECTS.iter().find(|it| it.name() == "claude").unwrap();
        let rule: PathRule = "{pid}.json".to_owned().try_into().unwrap();
        let list = SessionList { directory: dir.path().to_owned(), rule, dialect };
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = process::stat(child.id().cast_signed()).unwrap().process;
        let line = serde_json::json!({
            "pid": process.pid, "sessionId": "c-1", "procStart": process.start_ticks.to_string(),
            "status": "idle", "updatedAt": 1,
        });
        std::fs::write(dir.path().join(format!("{}.json", process.pid)), line.to_string()).unwrap();
        let id: ConversationId = "c-1".parse().unwrap();
        assert_eq!(list.writer_of(&id), Some(process));
        child.kill().unwrap();
        assert!(process::ends_within(&child, Duration::from_secs(30)));
        assert!(process::stat(process.pid).is_some_and(|stat| stat.zombie));
        assert_eq!(list.writer_of(&id), None);
        child.wait().unwrap();
    }
}
