//! Watches the repositories of sessions for new commits, however they come about: by a script, by a merge, by somebody else.
//!
//! One thread, asleep until git writes down a move of HEAD. It decides nothing. Without inotify it says nothing; what the
//! session's own steps show of commits is heard all the same.
//!
//! Invariant
//! - CW1  What it keeps is of the newest session of agents that are in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_engine::git::reflog::{self, Reflog};
use perennial_engine::watch::{Interest, Watch, Watched};

use super::reader::Sighting;
use crate::daemon::driving::driver::{DriverHandle, Incoming};

/// The way to the thread. Nothing where the kernel gives no watches.
#[derive(Debug, Clone, Default)]
pub struct CommitWatcher(Option<Arc<Repositories>>);

#[derive(Debug)]
struct Repositories {
    watch: Watch,
    sessions: Mutex<BTreeMap<AgentId, Session>>,
}

#[derive(Debug)]
struct Session {
    number: SessionNumber,
    /// Several sessions may be in one work tree, and have one watch.
    watched: Watched,
    logs: PathBuf,
    /// Nothing until git has made its first log there.
    reflog: Option<Reflog>,
}

impl CommitWatcher {
    pub fn start(driver: DriverHandle) -> CommitWatcher {
        let started = Watch::new().and_then(|watch| {
            let repositories = Arc::new(Repositories { watch, sessions: Mutex::default() });
            let own = Arc::clone(&repositories);
            let thread = std::thread::Builder::new().name("commits".to_owned());
            thread.spawn(move || own.run(&driver))?;
            Ok(repositories)
        });
        match started {
            Ok(repositories) => CommitWatcher(Some(repositories)),
            Err(error) => {
                tracing::warn!(%error, "commits can't be watched");
                CommitWatcher::default()
            }
        }
    }

    /// Watches the work tree that this directory is in from now on, in place of the session before.
    pub fn watch(&self, agent: AgentId, number: SessionNumber, dir: &Path) {
        let Some(repositories) = &self.0 else { return };
        let mut sessions = repositories.sessions();
        if sessions.get(&agent).is_some_and(|known| known.number == number) {
            return;
        }
        let before = sessions.remove(&agent);
        match repositories.begin(number, dir) {
            Ok(session) => _ = sessions.insert(agent, session),
            Err(error) => tracing::debug!(%agent, %error, "its commits are not watched"),
        }
        before.into_iter().for_each(|before| repositories.leave(&sessions, before.watched));
    }

    /// Nothing is watched for this agent any more.
    pub fn forget(&self, agent: AgentId) {
        let Some(repositories) = &self.0 else { return };
        let mut sessions = repositories.sessions();
        if let Some(session) = sessions.remove(&agent) {
            repositories.leave(&sessions, session.watched);
        }
    }
}

impl Repositories {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<AgentId, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, number: SessionNumber, dir: &Path) -> io::Result<Session> {
        let (logs, git_dir) = reflog::directory(dir).map_err(io::Error::other)?;
        // Before it is read: what is written from here on is told.
        let (watched, reflog) = match self.watch.add(&logs, Interest::Growth) {
            Ok(watched) => (watched, Some(Reflog::at_end(&logs))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (self.watch.add(&git_dir, Interest::Names)?, None)
            }
            Err(error) => return Err(error),
        };
        Ok(Session { number, watched, logs, reflog })
    }

    /// A watch ends with the last session that needs it.
    fn leave(&self, sessions: &BTreeMap<AgentId, Session>, watched: Watched) {
        if sessions.values().all(|session| session.watched != watched) {
            self.watch.remove(watched);
        }
    }

    fn run(&self, driver: &DriverHandle) {
        loop {
            let mut changed = BTreeSet::new();
            let looked = self.watch.wait(None).and_then(|_| {
                self.watch.drain(|change| {
                    if matches!(change.name, Some("HEAD" | "logs")) {
                        changed.insert(change.of);
                    }
                })
            });
            for sighting in self.look(&changed) {
                if driver.send(Incoming::Sighted(sighting)).is_err() {
                    return;
                }
            }
            match looked {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::error!(%error, "commits are no longer watched");
                    return;
                }
                Ok(()) | Err(_) => {}
            }
        }
    }

    fn look(&self, changed: &BTreeSet<Watched>) -> Vec<Sighting> {
        let mut sessions = self.sessions();
        let moved = sessions.iter_mut().filter(|(_, it)| changed.contains(&it.watched));
        let committed = moved.filter_map(|(agent, session)| {
            let facts = vec![Fact::new(Origin::Git, Seen::Committed)];
            let (agent, number, figures) = (*agent, session.number, None);
            self.has_commit(session).then_some(Sighting {
                agent,
                number,
                facts,
                figures,
                has_found: false,
            })
        });
        let committed = committed.collect();
        // Of a repository that has its log now.
        changed.iter().for_each(|watched| self.leave(&sessions, *watched));
        committed
    }

    /// A log that can't be read shows nothing; the next line is another try. The first log of a repository comes with its first
    /// commit.
    fn has_commit(&self, session: &mut Session) -> bool {
        if session.reflog.is_none()
            && let Ok(watched) = self.watch.add(&session.logs, Interest::Growth)
        {
            session.watched = watched;
            session.reflog = Some(Reflog::at_beginning(&session.logs));
        }
        session.reflog.as_mut().is_some_and(|reflog| reflog.has_commit().unwrap_or(false))
    }
}
