//! Watches the repositories of sessions for new commits, however they come about: by a script, by a merge, by somebody else.
//!
//! Two threads. One sleeps until something changes in a directory, and reads nothing; the other reads what there is, and may
//! wait for a file system that hangs. Whoever orders a watch never waits for either. They decide nothing. Without inotify
//! they say nothing; what the session's own steps show of commits is heard all the same.
//!
//! Invariants
//! - CW1  What it keeps is of the newest session of agents that are in memory.
//! - CW2  No file is touched on the thread of a caller.
//! - CW3  A repository that is made, or takes the place of another one, after a session has begun is watched from its first
//!   commit on.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_engine::git::reflog::{self, Place, Reflog};
use perennial_engine::watch::{Interest, Watch, Watched};

use super::reader::Sighting;
use crate::daemon::driving::driver::{DriverHandle, Incoming};

/// The way to the threads. Nothing where the kernel gives no watches.
#[derive(Debug, Clone, Default)]
pub struct CommitWatcher(Option<Sender<Order>>);

#[derive(Debug)]
enum Order {
    Watch {
        agent: AgentId,
        number: SessionNumber,
        dir: PathBuf,
    },
    Forget(AgentId),
    /// Something in these directories has another name, or has grown.
    Look(BTreeSet<Watched>),
}

impl CommitWatcher {
    pub fn start(driver: DriverHandle) -> CommitWatcher {
        let started = Watch::new().and_then(|watch| {
            let (orders, inbox) = channel();
            let (watch, tell) = (Arc::new(watch), orders.clone());
            let repositories =
                Repositories { watch: Arc::clone(&watch), sessions: BTreeMap::new() };
            let thread = || std::thread::Builder::new().name("commits".to_owned());
            thread().spawn(move || repositories.run(&inbox, &driver))?;
            thread().spawn(move || wait(&watch, &tell))?;
            Ok(orders)
        });
        match started {
            Ok(orders) => CommitWatcher(Some(orders)),
            Err(error) => {
                tracing::warn!(%error, "commits can't be watched");
                CommitWatcher::default()
            }
        }
    }

    /// Watches the work tree that this directory is in from now on, in place of the session before.
    pub fn watch(&self, agent: AgentId, number: SessionNumber, dir: &Path) {
        self.order(Order::Watch { agent, number, dir: dir.to_owned() });
    }

    /// Nothing is watched for this agent any more.
    pub fn forget(&self, agent: AgentId) {
        self.order(Order::Forget(agent));
    }

    fn order(&self, order: Order) {
        // A thread that is gone watches nothing; it has said so.
        let _ = self.0.as_ref().map(|orders| orders.send(order));
    }
}

/// Tells which directories have changed, until nobody listens.
fn wait(watch: &Watch, tell: &Sender<Order>) {
    loop {
        let mut changed = BTreeSet::new();
        let looked = watch.wait(None).and_then(|_| {
            watch.drain(|change| {
                // What git makes of a repository last, and what tells of its commits.
                let names = [".git", "HEAD", "logs", "objects", "config"];
                if change.is_over || change.name.is_some_and(|name| names.contains(&name)) {
                    changed.insert(change.of);
                }
            })
        });
        if !changed.is_empty() && tell.send(Order::Look(changed)).is_err() {
            return;
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

#[derive(Debug)]
struct Repositories {
    watch: Arc<Watch>,
    sessions: BTreeMap<AgentId, Session>,
}

#[derive(Debug)]
struct Session {
    number: SessionNumber,
    dir: PathBuf,
    /// Directories in which a repository may come or go. Several sessions may be in one work tree, and have one watch.
    around: BTreeSet<Watched>,
    /// Git's own directory, or that of its logs.
    inside: Option<Watched>,
    repository: Option<WatchedRepository>,
}

#[derive(Debug)]
struct WatchedRepository {
    /// Which directory of git's it is, whatever its name.
    device_and_inode: (u64, u64),
    logs: PathBuf,
    /// Nothing until git has made its first log there.
    reflog: Option<Reflog>,
}

/// Whether a repository was there when its session began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    AtBeginning,
    Later,
}

impl Repositories {
    fn run(mut self, inbox: &Receiver<Order>, driver: &DriverHandle) {
        for order in inbox {
            match order {
                Order::Watch { agent, number, dir } => self.begin(agent, number, dir),
                Order::Forget(agent) => {
                    self.sessions.remove(&agent).iter().for_each(|session| self.leave(session));
                }
                Order::Look(changed) => {
                    for sighting in self.look(&changed) {
                        if driver.send(Incoming::Sighted(sighting)).is_err() {
                            return;
                        }
                    }
                }
            }
        }
    }

    fn begin(&mut self, agent: AgentId, number: SessionNumber, dir: PathBuf) {
        if self.sessions.get(&agent).is_some_and(|known| known.number == number) {
            return;
        }
        let before = self.sessions.remove(&agent);
        let (around, repository) = (BTreeSet::new(), None);
        let mut session = Session { number, dir, around, inside: None, repository };
        session.find(&self.watch, Found::AtBeginning);
        self.sessions.insert(agent, session);
        before.iter().for_each(|before| self.leave(before));
    }

    /// A watch ends with the last session that needs it.
    fn leave(&self, session: &Session) {
        for watched in session.watched() {
            if !self.sessions.values().any(|other| other.watched().any(|it| it == watched)) {
                self.watch.remove(watched);
            }
        }
    }

    fn look(&mut self, changed: &BTreeSet<Watched>) -> Vec<Sighting> {
        let (mut committed, mut left) = (Vec::new(), BTreeSet::new());
        for (agent, session) in &mut self.sessions {
            let before: BTreeSet<Watched> = session.watched().collect();
            if before.is_disjoint(changed) {
                continue;
            }
            session.find(&self.watch, Found::Later);
            let (agent, number, figures) = (*agent, session.number, None);
            if session.has_commit(&self.watch) {
                let facts = vec![Fact::new(Origin::Git, Seen::Committed)];
                let has_found = false;
                committed.push(Sighting { agent, number, facts, figures, has_found });
            }
            left.extend(before);
        }
        let needed: BTreeSet<Watched> =
            self.sessions.values().flat_map(|session| session.watched()).collect();
        left.difference(&needed).for_each(|watched| self.watch.remove(*watched));
        committed
    }
}

impl Session {
    fn watched(&self) -> impl Iterator<Item = Watched> {
        self.around.iter().copied().chain(self.inside)
    }

    /// Finds the repository that the session is in now, and watches it if it is another one than before.
    fn find(&mut self, watch: &Watch, found: Found) {
        // Before anything is read: what comes from here on is told.
        self.look_around(watch, &self.dir.clone());
        let dot_git = self.dir.join(".git");
        let place = reflog::place(&self.dir).or_else(|error| {
            // It may be about to be made.
            self.inside = watch.add(&dot_git, Interest::Names).ok();
            reflog::place(&self.dir).map_err(|_| error)
        });
        let place = match place {
            Ok(place) => place,
            Err(error) => {
                tracing::debug!(dir = %self.dir.display(), %error, "no commits are watched");
                self.repository = None;
                return;
            }
        };
        self.look_around(watch, &place.work_tree);
        let which = std::fs::metadata(&place.git_dir).map(|it| (it.dev(), it.ino()));
        let Ok(device_and_inode) = which else { return };
        let is_known =
            self.repository.as_ref().is_some_and(|it| it.device_and_inode == device_and_inode);
        if !is_known {
            self.enter(watch, place, device_and_inode, found);
        }
    }

    fn look_around(&mut self, watch: &Watch, dir: &Path) {
        match watch.add(dir, Interest::Names) {
            Ok(watched) => _ = self.around.insert(watched),
            Err(error) => tracing::debug!(dir = %dir.display(), %error, "it is not watched"),
        }
    }

    fn enter(&mut self, watch: &Watch, place: Place, which: (u64, u64), found: Found) {
        let Place { logs, git_dir, .. } = place;
        // Before it is read: what is written from here on is told.
        let (inside, reflog) = match watch.add(&logs, Interest::Growth) {
            Ok(watched) if found == Found::AtBeginning => {
                (Some(watched), Some(Reflog::at_end(&logs)))
            }
            Ok(watched) => (Some(watched), Some(Reflog::at_beginning(&logs))),
            Err(_) => (watch.add(&git_dir, Interest::Names).ok(), None),
        };
        self.inside = inside;
        self.repository = Some(WatchedRepository { device_and_inode: which, logs, reflog });
    }

    /// A log that can't be read shows nothing; the next line is another try. The first log of a repository comes with its first
    /// commit.
    fn has_commit(&mut self, watch: &Watch) -> bool {
        let Some(repository) = &mut self.repository else { return false };
        if repository.reflog.is_none()
            && let Ok(watched) = watch.add(&repository.logs, Interest::Growth)
        {
            self.inside = Some(watched);
            repository.reflog = Some(Reflog::at_beginning(&repository.logs));
        }
        repository.reflog.as_mut().is_some_and(|reflog| reflog.has_commit().unwrap_or(false))
    }
}
