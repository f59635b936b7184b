//! The thread that takes, reads and restores snapshots of work trees, one at a time, and nothing else.
//!
//! What it is told to do has been decided; what it did is told to whoever asked. A snapshot that nobody recorded, because
//! the daemon ended in between, is complete, and is not listed.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use perennial_core::time::Time;
use perennial_engine::git::GitError;
use perennial_engine::git::ignore::owners_file;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::snapshot::{
    Change, Contents, PatchLimits, Restored, SnapshotStore, TakeOrder, Taken, WithIndex, compare,
    look, patch, restore, restore_to, take,
};
use tokio::sync::oneshot;

use crate::daemon::driving::driver::Closing;

type Work = Box<dyn FnOnce() + Send>;

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct SnapshotKeeper {
    work: Sender<Work>,
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
        let (work, inbox) = channel::<Work>();
        let run = move || inbox.into_iter().for_each(carry_out);
        std::thread::Builder::new().name("snapshots".to_owned()).spawn(run)?;
        let variable =
            |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let owners_ignore_file =
            owners_file(variable("HOME").as_deref(), variable("XDG_CONFIG_HOME").as_deref());
        Ok(SnapshotKeeper { work, snapshots, owners_ignore_file })
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SnapshotKeeper) -> Result<T, GitError> + Send + 'static,
    ) -> Result<Result<T, GitError>, Closing> {
        let (reply, answer) = oneshot::channel();
        let keeper = self.clone();
        self.work.send(Box::new(move || _ = reply.send(work(&keeper)))).map_err(|_| Closing)?;
        answer.await.map_err(|_| Closing)
    }

    fn order<'a>(&'a self, directory: &'a Path, now: Time) -> TakeOrder<'a> {
        let now_ns = i64::try_from(now.0.saturating_mul(1000)).unwrap_or(i64::MAX);
        TakeOrder {
            owners_ignore_file: self.owners_ignore_file.clone(),
            ..TakeOrder::new(directory, &self.snapshots, now_ns)
        }
    }

    /// Takes a snapshot of the work tree that a directory is in.
    pub async fn take(
        &self,
        directory: PathBuf,
        now: Time,
    ) -> Result<Result<Taken, GitError>, Closing> {
        self.run(move |keeper| take(&keeper.order(&directory, now))).await
    }

    /// Which repository this is; a name that is no name of ours has no snapshots.
    pub fn repository(&self, store: &str) -> PathBuf {
        let is_name = !store.is_empty() && !store.contains('/') && store != "..";
        self.snapshots.join(if is_name { store } else { "none.git" })
    }

    fn open(&self, stored: &Stored) -> Result<Contents, GitError> {
        let store = SnapshotStore::at(self.repository(&stored.store));
        let commit = ObjectId::parse(&stored.commit)
            .ok_or_else(|| GitError::damaged(store.path(), "a snapshot's id is none"))?;
        Contents::open(&store, commit)
    }

    pub async fn contents(&self, stored: Stored) -> Result<Result<Contents, GitError>, Closing> {
        self.run(move |keeper| keeper.open(&stored)).await
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
            let (then, now) = (keeper.open(&stored)?, look(&keeper.order(&directory, now))?);
            let changes = compare(&then.files(), &now.files());
            let patch = match with_patch {
                true => Some(patch((&then, &now), &changes, PatchLimits::default())?),
                false => None,
            };
            Ok(Difference { changes, patch })
        })
        .await
    }

    /// Puts files back. `present` is the snapshot of what they replace.
    pub async fn restore(
        &self,
        (stored, present): (Stored, Stored),
        directory: PathBuf,
        with_index: WithIndex,
        now: Time,
    ) -> Result<Result<Restored, GitError>, Closing> {
        self.run(move |keeper| {
            let (target, present) = (keeper.open(&stored)?, keeper.open(&present)?);
            restore(&keeper.order(&directory, now), &target, &present, with_index)
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
