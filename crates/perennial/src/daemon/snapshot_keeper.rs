//! The thread that takes, reads and restores snapshots of work trees, one at a time, and nothing else.
//!
//! What a session waits for comes before what people asked for, and its time begins when its turn comes: a reboot ends many
//! sessions at once.
//!
//! What it is told to do has been decided; what it did is told to whoever asked. A snapshot that nobody recorded, because
//! the daemon ended in between, is complete, and is not listed.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perennial_core::id::AgentId;
use perennial_core::snapshot::{MOST_LISTED, SnapshotFiles};
use perennial_core::time::Time;
use perennial_core::work::GitFindings;
use perennial_engine::git::GitError;
use perennial_engine::git::ignore::owners_file;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::snapshot::{
    Change, Contents, LeftOut, PatchLimits, Restored, SnapshotStore, TakeOrder, Taken, WithIndex,
    against_head, check_restore, compare, look, patch, restore_to, take,
};
use perennial_engine::host::monotonic;
use tokio::sync::oneshot;

use crate::daemon::driving::driver::Closing;

type Work = Box<dyn FnOnce() + Send>;

/// What waits for the thread.
#[derive(Default)]
struct Waiting {
    /// What a session may wait for.
    urgent: VecDeque<Work>,
    others: VecDeque<Work>,
}

#[derive(Clone, Default)]
struct Line(Arc<Mutex<Waiting>>);

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Work> {
        let mut waiting = self.waiting();
        waiting.urgent.pop_front().or_else(|| waiting.others.pop_front())
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waiting = self.waiting();
        write!(f, "Line({}, {})", waiting.urgent.len(), waiting.others.len())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    Urgent,
    Other,
}

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct SnapshotKeeper {
    line: Line,
    /// One sign for each that was put in line.
    signs: Sender<()>,
    snapshots: PathBuf,
    owners_ignore_file: Option<PathBuf>,
}

/// A snapshot by its place.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The name of its repository.
    pub store: String,
    pub commit: String,
}

/// What changed, and the changed lines if they were asked for.
#[derive(Debug)]
pub struct Difference {
    pub changes: Vec<Change>,
    pub patch: Option<(String, bool)>,
}

/// A repository that makes us panic must not take the snapshots of all others with it. Nothing is shared with the next.
fn carry_out(work: Work) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
        tracing::error!("the thread that takes snapshots panicked, and goes on");
    }
}

impl SnapshotKeeper {
    pub fn start(snapshots: PathBuf) -> std::io::Result<SnapshotKeeper> {
        let (signs, inbox) = channel::<()>();
        let line = Line::default();
        let waits = line.clone();
        let run = move || {
            inbox.into_iter().filter_map(|()| waits.next()).for_each(carry_out);
        };
        std::thread::Builder::new().name("snapshots".to_owned()).spawn(run)?;
        let variable =
            |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let owners_ignore_file =
            owners_file(variable("HOME").as_deref(), variable("XDG_CONFIG_HOME").as_deref());
        Ok(SnapshotKeeper { line, signs, snapshots, owners_ignore_file })
    }

    fn send(&self, rank: Rank, work: Work) -> Result<(), Closing> {
        let mut waiting = self.line.waiting();
        match rank {
            Rank::Urgent => waiting.urgent.push_back(work),
            Rank::Other => waiting.others.push_back(work),
        }
        drop(waiting);
        self.signs.send(()).map_err(|_| Closing)
    }

    /// Whether nothing waits for the thread.
    pub fn is_idle(&self) -> bool {
        let waiting = self.line.waiting();
        waiting.urgent.is_empty() && waiting.others.is_empty()
    }

    /// Has something done by the thread.
    pub fn order(
        &self,
        work: impl FnOnce(&SnapshotKeeper) + Send + 'static,
    ) -> Result<(), Closing> {
        let keeper = self.clone();
        self.send(Rank::Other, Box::new(move || work(&keeper)))
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SnapshotKeeper) -> Result<T, GitError> + Send + 'static,
    ) -> Result<Result<T, GitError>, Closing> {
        let (reply, answer) = oneshot::channel();
        let keeper = self.clone();
        self.send(Rank::Other, Box::new(move || _ = reply.send(work(&keeper))))?;
        answer.await.map_err(|_| Closing)
    }

    pub fn take_order<'a>(&'a self, directory: &'a Path, now: Time) -> TakeOrder<'a> {
        let now_ns = i64::try_from(now.0.saturating_mul(1000)).unwrap_or(i64::MAX);
        TakeOrder {
            owners_ignore_file: self.owners_ignore_file.clone(),
            ..TakeOrder::new(directory, &self.snapshots, now_ns)
        }
    }

    /// Takes a snapshot of the work tree that a directory is in.
    pub async fn take(
        &self,
        agent: AgentId,
        directory: PathBuf,
        now: Time,
    ) -> Result<Result<Taken, GitError>, Closing> {
        let holder = agent.to_string();
        self.run(move |keeper| {
            take(&TakeOrder { holder: Some(&holder), ..keeper.take_order(&directory, now) })
        })
        .await
    }

    /// Takes a snapshot that a session may wait for, and tells what came of it. It has so long from when its turn comes, and
    /// after the second time nobody waits for it any more.
    pub fn keep(
        &self,
        agent: AgentId,
        directory: PathBuf,
        now: Time,
        (within, at_most): (Duration, Duration),
        tell: impl FnOnce(Result<Taken, GitError>) + Send + 'static,
    ) -> Result<(), Closing> {
        let (holder, latest) = (agent.to_string(), monotonic::now() + at_most);
        let keeper = self.clone();
        let work = move || {
            let deadline = latest.min(monotonic::now() + within);
            let is_in_time = |_| monotonic::now() < deadline;
            let order = keeper.take_order(&directory, now);
            let order = TakeOrder { go_on: &is_in_time, holder: Some(&holder), ..order };
            tell(if is_in_time(0) { take(&order) } else { Err(GitError::Interrupted) });
        };
        self.send(Rank::Urgent, Box::new(work))
    }

    /// Does something else that takes a while, in its turn.
    pub fn aside(&self, work: impl FnOnce() + Send + 'static) -> Result<(), Closing> {
        self.send(Rank::Urgent, Box::new(work))
    }

    /// Which repository this is; a name that is no name of ours has no snapshots.
    pub fn repository(&self, store: &str) -> PathBuf {
        let is_name = !store.is_empty() && !store.contains('/') && store != "..";
        self.snapshots.join(if is_name { store } else { "none.git" })
    }

    pub fn open(&self, stored: &Stored) -> Result<Contents, GitError> {
        let store = SnapshotStore::at(self.repository(&stored.store));
        let commit = ObjectId::parse(&stored.commit)
            .ok_or_else(|| GitError::damaged(store.path(), "a snapshot's id is none"))?;
        Contents::open(&store, commit)
    }

    pub async fn contents(&self, stored: Stored) -> Result<Result<Contents, GitError>, Closing> {
        self.run(move |keeper| keeper.open(&stored)).await
    }

    /// What a snapshot shows of its work tree against HEAD.
    pub async fn against_head(
        &self,
        stored: Stored,
    ) -> Result<Result<GitFindings, GitError>, Closing> {
        self.run(move |keeper| {
            let store = SnapshotStore::at(keeper.repository(&stored.store));
            let commit = ObjectId::parse(&stored.commit)
                .ok_or_else(|| GitError::damaged(store.path(), "a snapshot's id is none"))?;
            against_head(&store, commit)
        })
        .await
    }

    /// What changed in a work tree since a snapshot.
    pub async fn diff(
        &self,
        stored: Stored,
        directory: PathBuf,
        with_patch: bool,
        now: Time,
    ) -> Result<Result<Difference, GitError>, Closing> {
        self.run(move |keeper| {
            let (then, now) = (keeper.open(&stored)?, look(&keeper.take_order(&directory, now))?);
            let changes = compare(&then.files(), &now.files());
            let patch = match with_patch {
                true => Some(patch((&then, &now), &changes, PatchLimits::default())?),
                false => None,
            };
            Ok(Difference { changes, patch })
        })
        .await
    }

    /// Why files can't be put back, of which `present` is the snapshot of what they replace.
    pub async fn check_restore(
        &self,
        (stored, present): (Stored, Stored),
        directory: PathBuf,
        with_index: WithIndex,
        now: Time,
    ) -> Result<Result<(), GitError>, Closing> {
        self.run(move |keeper| {
            let (target, present) = (keeper.open(&stored)?, keeper.open(&present)?);
            check_restore(&keeper.take_order(&directory, now), &target, &present, with_index)
        })
        .await
    }

    /// Writes a snapshot's files to another directory.
    pub async fn restore_to(
        &self,
        stored: Stored,
        directory: PathBuf,
    ) -> Result<Result<Restored, GitError>, Closing> {
        self.run(move |keeper| restore_to(&directory, &keeper.open(&stored)?)).await
    }
}

pub fn why_word(left: &LeftOut) -> String {
    serde_json::to_value(left.why)
        .ok()
        .and_then(|word| Some(word.as_str()?.to_owned()))
        .unwrap_or_default()
}

/// What the journal keeps of a snapshot.
pub fn recorded_files(taken: &Taken) -> SnapshotFiles {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let store = taken.store.file_name().unwrap_or_default().to_string_lossy().into_owned();
    SnapshotFiles {
        store,
        work_tree: taken.work_tree.display().to_string(),
        commit: taken.commit.to_string(),
        base: taken.base.map(|base| base.to_string()),
        files: taken.files as u64,
        bytes: taken.bytes,
        nested: count(taken.nested),
        left_out: count(taken.left_out.len()),
        listed: taken
            .left_out
            .iter()
            .take(MOST_LISTED)
            .map(|one| (one.path.chars().take(300).collect(), why_word(one)))
            .collect(),
        torn: count(taken.torn.len()),
    }
}
