//! The threads that take, read and restore snapshots of work trees, and do nothing else.
//!
//! What a session waits for is taken at once, by threads of its own, several at a time. One thread does what people asked for.
//!
//! What they are told to do has been decided; what they did is told to whoever asked. A snapshot that nobody recorded, because
//! the daemon ended in between, is complete, and is not listed; the next daemon removes it.
//!
//! Invariants
//! - SK1  Of one agent one urgent work is done at a time, in order. So one whose work tree takes long holds nobody but itself.
//! - SK2  What others asked for is done before the next request of the one whose turn it was, and nothing of it has more time
//!   than the core gives it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perennial_api::snapshot::{RepositoryState, RestoredWorkTree};
use perennial_core::authority::Caller;
use perennial_core::id::AgentId;
use perennial_core::keeping::{ASKED_WITHIN, asked_within};
use perennial_core::snapshot::{MOST_LISTED, SnapshotFiles};
use perennial_core::time::Time;
use perennial_core::work::GitFindings;
use perennial_engine::git::GitError;
use perennial_engine::git::ignore::owners_file;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::snapshot::{
    Change, Contents, LeftOut, PatchLimits, Restored, SnapshotStore, StateFile, TakeOrder, Taken,
    WithIndex, against_head, check_restore, compare, look, patch, restore_to, take,
};
use perennial_engine::host::monotonic;
use tokio::sync::oneshot;

use crate::daemon::driving::driver::Closing;

type Work = Box<dyn FnOnce() + Send>;

/// At most this many snapshots that sessions wait for are taken at a time.
const MOST_URGENT: usize = 8;

/// What waits for the threads, each with whose it is: an agent, or the repository of its snapshots.
#[derive(Default)]
struct Waiting {
    /// What a session may wait for.
    urgent: VecDeque<(AgentId, Work)>,
    /// Threads that carry that out, and for whom.
    busy: Vec<AgentId>,
    threads: usize,
    others: VecDeque<(String, Work)>,
    /// Whose turn it was last.
    last: String,
}

impl Waiting {
    /// SK1
    fn next_urgent(&mut self) -> Option<(AgentId, Work)> {
        let at = self.urgent.iter().position(|(agent, _)| !self.busy.contains(agent))?;
        let (agent, work) = self.urgent.remove(at)?;
        self.busy.push(agent);
        Some((agent, work))
    }

    /// SK2
    fn next_other(&mut self) -> Option<Work> {
        let at = self.others.iter().position(|(whose, _)| *whose != self.last).unwrap_or(0);
        let (whose, work) = self.others.remove(at)?;
        self.last = whose;
        Some(work)
    }
}

#[derive(Clone, Default)]
struct Line(Arc<Mutex<Waiting>>);

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out what is urgent, until there is nothing more that it may begin with.
    fn serve(&self) {
        loop {
            let mut waiting = self.waiting();
            let Some((agent, work)) = waiting.next_urgent() else {
                waiting.threads -= 1;
                return;
            };
            drop(waiting);
            carry_out(work);
            self.waiting().busy.retain(|busy| *busy != agent);
        }
    }

    fn send_urgent(&self, agent: AgentId, work: Work) -> Result<(), Closing> {
        let mut waiting = self.waiting();
        waiting.urgent.push_back((agent, work));
        if waiting.threads >= MOST_URGENT {
            return Ok(());
        }
        waiting.threads += 1;
        drop(waiting);
        let line = self.clone();
        let begun = thread().spawn(move || line.serve());
        let Err(error) = begun else { return Ok(()) };
        tracing::warn!(%error, "a thread that takes snapshots can't be started");
        let mut waiting = self.waiting();
        waiting.threads -= 1;
        // Those that run carry it out.
        if waiting.threads > 0 { Ok(()) } else { Err(Closing) }
    }
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("snapshots".to_owned())
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waiting = self.waiting();
        write!(f, "Line({}, {})", waiting.urgent.len(), waiting.others.len())
    }
}

/// The way to the threads.
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
            // The line is free while work is carried out.
            let next = || waits.waiting().next_other();
            inbox.into_iter().filter_map(|()| next()).for_each(carry_out);
        };
        thread().spawn(run)?;
        let variable =
            |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let owners_ignore_file =
            owners_file(variable("HOME").as_deref(), variable("XDG_CONFIG_HOME").as_deref());
        Ok(SnapshotKeeper { line, signs, snapshots, owners_ignore_file })
    }

    fn send(&self, whose: String, work: Work) -> Result<(), Closing> {
        self.line.waiting().others.push_back((whose, work));
        self.signs.send(()).map_err(|_| Closing)
    }

    /// Whether nothing waits for the threads, and no session for what they do.
    pub fn is_idle(&self) -> bool {
        let waiting = self.line.waiting();
        waiting.urgent.is_empty() && waiting.busy.is_empty() && waiting.others.is_empty()
    }

    /// Has something done for an agent, in its turn.
    pub fn order(
        &self,
        agent: AgentId,
        work: impl FnOnce(&SnapshotKeeper) + Send + 'static,
    ) -> Result<(), Closing> {
        let keeper = self.clone();
        self.send(agent.to_string(), Box::new(move || work(&keeper)))
    }

    async fn run<T: Send + 'static>(
        &self,
        whose: String,
        work: impl FnOnce(&SnapshotKeeper) -> Result<T, GitError> + Send + 'static,
    ) -> Result<Result<T, GitError>, Closing> {
        let (reply, answer) = oneshot::channel();
        let keeper = self.clone();
        self.send(whose, Box::new(move || _ = reply.send(work(&keeper))))?;
        answer.await.map_err(|_| Closing)
    }

    pub fn take_order<'a>(&'a self, directory: &'a Path, now: Time) -> TakeOrder<'a> {
        let now_ns = i64::try_from(now.0.saturating_mul(1000)).unwrap_or(i64::MAX);
        TakeOrder {
            owners_ignore_file: self.owners_ignore_file.clone(),
            ..TakeOrder::new(directory, &self.snapshots, now_ns)
        }
    }

    /// Takes a snapshot of the work tree that a directory is in, in a time that is its asker's.
    pub async fn take(
        &self,
        (caller, agent): (Caller, AgentId),
        directory: PathBuf,
        now: Time,
    ) -> Result<Result<Taken, GitError>, Closing> {
        let holder = agent.to_string();
        self.run(holder.clone(), move |keeper| {
            let in_time = in_time(asked_within(caller));
            let order = keeper.take_order(&directory, now);
            take(&TakeOrder { holder: Some(&holder), go_on: &in_time, ..order })
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
        self.line.send_urgent(agent, Box::new(work))
    }

    /// Does something else for an agent that takes a while, in its turn.
    pub fn aside(
        &self,
        agent: AgentId,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), Closing> {
        self.line.send_urgent(agent, Box::new(work))
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
        self.run(stored.store.clone(), move |keeper| keeper.open(&stored)).await
    }

    /// What a snapshot shows of its work tree against HEAD.
    pub async fn against_head(
        &self,
        stored: Stored,
    ) -> Result<Result<GitFindings, GitError>, Closing> {
        self.run(stored.store.clone(), move |keeper| {
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
        self.run(stored.store.clone(), move |keeper| {
            let in_time = in_time(ASKED_WITHIN);
            let order = TakeOrder { go_on: &in_time, ..keeper.take_order(&directory, now) };
            let (then, now) = (keeper.open(&stored)?, look(&order)?);
            let changes = compare(&then.files(), &now.files());
            let patch = match with_patch {
                true => Some(patch((&then, &now), &changes, PatchLimits::default())?),
                false => None,
            };
            Ok(Difference { changes, patch })
        })
        .await
    }

    /// Why files can't be put back, of which `present` is the snapshot of what they replace; or the repositories that were
    /// there then and are there now, which a restore leaves as they are.
    pub async fn check_restore(
        &self,
        (stored, present): (Stored, Stored),
        directory: PathBuf,
        with_index: WithIndex,
        now: Time,
    ) -> Result<Result<Vec<RestoredWorkTree>, GitError>, Closing> {
        self.run(stored.store.clone(), move |keeper| {
            let (target, present) = (keeper.open(&stored)?, keeper.open(&present)?);
            let order = keeper.take_order(&directory, now);
            check_restore(&order, &target, &present, with_index)?;
            Ok(repositories(&target, &present))
        })
        .await
    }

    /// Writes the files of a snapshot of `work_tree` to another directory.
    pub async fn restore_to(
        &self,
        stored: Stored,
        work_tree: PathBuf,
        directory: PathBuf,
    ) -> Result<Result<Restored, GitError>, Closing> {
        let whose = stored.store.clone();
        let run = move |keeper: &SnapshotKeeper| {
            restore_to(&directory, &work_tree, &keeper.open(&stored)?)
        };
        self.run(whose, run).await
    }
}

/// Whether there is time left, from now on.
pub fn in_time(time: Duration) -> impl Fn(usize) -> bool + Sync {
    let latest = monotonic::now() + time;
    move |_| monotonic::now() < latest
}

/// The work trees of two snapshots, the top one first.
fn repositories(then: &Contents, now: &Contents) -> Vec<RestoredWorkTree> {
    let mut found: BTreeMap<&str, RestoredWorkTree> = BTreeMap::new();
    let of = |contents: &Contents| -> Vec<(String, Option<RepositoryState>)> {
        let units = contents.units.iter().map(|unit| {
            let StateFile { path, head, head_commit, operation, .. } = unit.state.clone();
            let is_one = unit.state.repository.is_some();
            (path, is_one.then_some(RepositoryState { head, head_commit, operation }))
        });
        units.collect()
    };
    let (then, now) = (of(then), of(now));
    for (path, state) in &then {
        found.entry(path).or_default().then.clone_from(state);
    }
    for (path, state) in &now {
        found.entry(path).or_default().now.clone_from(state);
    }
    let named = found.into_iter();
    named.map(|(path, one)| RestoredWorkTree { path: path.to_owned(), ..one }).collect()
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    const ADA: AgentId = AgentId(1);
    const BOB: AgentId = AgentId(2);
    /// For what happens at once.
    const SOON: Duration = Duration::from_secs(20);

    fn keeper() -> (tempfile::TempDir, SnapshotKeeper) {
        let dir = tempfile::tempdir().unwrap();
        let keeper = SnapshotKeeper::start(dir.path().join("snapshots")).unwrap();
        (dir, keeper)
    }

    /// Work of ADA's that goes on until the sender is dropped.
    fn stuck(keeper: &SnapshotKeeper) -> Sender<()> {
        let (end, ended) = channel::<()>();
        let (begin, begun) = channel();
        let work = move || {
            let _ = begin.send(());
            let _ = ended.recv();
        };
        keeper.aside(ADA, work).unwrap();
        begun.recv_timeout(SOON).unwrap();
        end
    }

    fn told(keeper: &SnapshotKeeper, agent: AgentId, dir: &Path) -> Receiver<&'static str> {
        let (tell, told) = channel();
        let times = (Duration::from_secs(2), Duration::from_secs(2));
        let tell = move |taken: Result<Taken, GitError>| {
            let what = match taken {
                Err(GitError::Interrupted) => "too late",
                Err(GitError::NotARepository(_)) => "looked",
                _ => "something else",
            };
            let _ = tell.send(what);
        };
        keeper.keep(agent, dir.to_owned(), Time(0), times, tell).unwrap();
        told
    }

    /// SK1
    #[test]
    fn one_whose_work_takes_long_holds_nobody_but_itself() {
        let (dir, keeper) = keeper();
        let end = stuck(&keeper);
        let own = told(&keeper, ADA, dir.path());
        assert_eq!(told(&keeper, BOB, dir.path()).recv_timeout(SOON), Ok("looked"));
        assert!(own.try_recv().is_err(), "in its order");
        assert!(!keeper.is_idle());
        drop(end);
        assert_eq!(own.recv_timeout(SOON), Ok("looked"));
        // The threads are counted as they come and go.
        for _ in 0..MOST_URGENT * 3 {
            assert_eq!(told(&keeper, BOB, dir.path()).recv_timeout(SOON), Ok("looked"));
        }
        assert!(keeper.line.waiting().threads <= MOST_URGENT);
    }

    /// SK2
    #[test]
    fn whoever_asks_again_and_again_waits_for_the_others() {
        let (_dir, keeper) = keeper();
        let ((end, ended), (tell, told)) = (channel::<()>(), channel());
        keeper.order(ADA, move |_| _ = ended.recv()).unwrap();
        for (agent, word) in [(ADA, "ada 1"), (ADA, "ada 2"), (BOB, "bob 1"), (BOB, "bob 2")] {
            let tell = tell.clone();
            keeper.order(agent, move |_| _ = tell.send(word)).unwrap();
        }
        drop((end, tell));
        let order: Vec<&str> = told.into_iter().collect();
        assert_eq!(order, ["bob 1", "ada 1", "bob 2", "ada 2"]);
    }
}
