//! The executor of `Effect::Snapshot`: restores and removes snapshots, reads work trees ahead of time, and tells what came
//! of it.
//!
//! Decides nothing. A restore always comes to an end that is told, whatever its files do.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::effect::{RemoveEffect, RestoreEffect, SnapshotEffect};
use perennial_core::entity::Entity;
use perennial_core::event::{NodeEvent, What};
use perennial_core::id::AgentId;
use perennial_core::observation::Observation;
use perennial_core::snapshot::{
    DaemonBefore, MOST_LISTED, RestoreOutcome, SnapshotFiles, SnapshotReport, StoredSnapshot,
    left_by, left_since,
};
use perennial_core::time::Time;
use perennial_engine::git::GitError;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::snapshot::{
    Restored, SnapshotStore, Stopped, TakeOrder, WithIndex, drop_snapshots, drop_unrecorded,
    fill_cache, restore, take, unrecorded,
};
use perennial_engine::host::monotonic;
use perennial_store::journal::{Seq, Version};

use super::driver::{Driver, Incoming};
use crate::daemon::snapshot_keeper::{SnapshotKeeper, Stored, in_time, recorded_files};
use crate::error_chain::chain;

/// The work tree is read twice for a restore; no read of it begins, or goes on, after this.
const RESTORED_WITHIN: Duration = Duration::from_secs(600);

/// Of the records of a node that are read at a time, back to the start of the daemon before this one.
const PAGE: usize = 100;

impl Driver {
    pub fn carry_out_snapshot(&mut self, effect: SnapshotEffect) {
        let (now, driver) = (self.now(), self.driver.clone());
        let tell = move |agent, report| {
            tracing::debug!(%agent, ?report, "snapshots");
            // A driver that is gone needs no answer.
            let _ = driver.send(Incoming::Snapshots { agent, report });
        };
        let agent = match &effect {
            SnapshotEffect::Restore(effect) => effect.agent,
            SnapshotEffect::Remove(effect) => effect.agent,
            SnapshotEffect::Look { agent, .. } => *agent,
        };
        let recorded = self.supervisor.fleet().agent(agent).and_then(recorded);
        // As of now, as what is recorded is: the order may wait in line.
        let within = left_since(self.presence.since(), monotonic::wall_time());
        // Without its thread nothing is told: the next daemon begins again.
        let _ = self.world.snapshots.order(agent, move |keeper| match effect {
            SnapshotEffect::Restore(effect) => {
                let (agent, report) = (effect.agent, restored(keeper, &effect, now));
                tell(agent, report);
            }
            SnapshotEffect::Remove(effect) => {
                if let Some(report) = removed(keeper, &effect) {
                    tell(effect.agent, report);
                }
                recorded.iter().for_each(|all| remove_unrecorded(keeper, agent, all, &within));
            }
            SnapshotEffect::Look { agent, dir, .. } => {
                look(keeper, agent, &PathBuf::from(dir), now);
            }
        });
    }
}

impl Driver {
    /// Removes snapshots that the daemon before this one took, and could not record any more. `first` is what this one found
    /// as it started. Nothing of it is recorded yet.
    pub fn remove_unrecorded(&mut self, first: &Observation) {
        let left = self.daemon_before(first).as_ref().and_then(left_by);
        let agents = self.supervisor.fleet().agents();
        let known: Vec<_> = agents.filter_map(|agent| Some((agent.id, recorded(agent)?))).collect();
        let Some(agent) = known.first().map(|(agent, _)| *agent) else { return };
        let work = move |keeper: &SnapshotKeeper| {
            let Some(left) = left else {
                tracing::warn!(
                    "records were lost: no snapshot that they may have told of is removed"
                );
                return;
            };
            let newer = left.end..Time(u64::MAX);
            let is_newer = |(agent, all): &(AgentId, RecordedCommits)| {
                each_store(keeper, *agent, all, |store, holder, commits| {
                    let found = unrecorded(store, Some(holder), commits, nanoseconds(&newer))?;
                    Ok(tell_of(store, &found))
                })
            };
            // All of them are told of.
            if known.iter().filter(|one| is_newer(one) > 0).count() == 0 {
                known.iter().for_each(|(agent, all)| remove_unrecorded(keeper, *agent, all, &left));
            }
        };
        // Without its thread the next daemon does it.
        let _ = self.world.snapshots.order(agent, work);
    }

    /// Nothing if this is the first one, or if its records can't be read.
    fn daemon_before(&self, first: &Observation) -> Option<DaemonBefore> {
        let Observation::Started { stocktaking, .. } = first else { return None };
        let journal = &self.world.journal;
        let newest = Seq(journal.head().0.0.checked_sub(1)?);
        let latest = journal.read(newest, 1).ok()?.first()?.at;
        let node = Entity::Node(self.supervisor.fleet().node());
        let mut before = Version::END;
        loop {
            let page = journal.read_stream_back(&node, before, PAGE).ok()?;
            let start = page.iter().find(|record| {
                let event = record.event.as_ref().map(|event| &event.what);
                matches!(event, Ok(What::Node(_, NodeEvent::DaemonStarted { .. })))
            });
            if let Some(start) = start {
                let has_lost_records = stocktaking.lost.is_some();
                return Some(DaemonBefore { started: start.at, latest, has_lost_records });
            }
            before = page.last()?.version;
        }
    }
}

/// The commits that are recorded of an agent, by the name of their store; nothing of one whose records can't be read, or whose
/// restore goes on: what was there before is recorded when that has ended.
type RecordedCommits = BTreeMap<String, HashSet<ObjectId>>;

fn recorded(agent: &Agent) -> Option<RecordedCommits> {
    let is_restored = agent.snapshot_record.restoring.is_some();
    if agent.is_damaged() || agent.snapshots == 0 || is_restored {
        return None;
    }
    let mut recorded = RecordedCommits::new();
    for StoredSnapshot { store, commit } in agent.snapshot_record.kept.all_stored() {
        recorded.entry(store).or_default().extend(ObjectId::parse(&commit.to_string()));
    }
    Some(recorded)
}

fn remove_unrecorded(
    keeper: &SnapshotKeeper,
    agent: AgentId,
    recorded: &RecordedCommits,
    within: &Range<Time>,
) {
    let count = each_store(keeper, agent, recorded, |store, holder, commits| {
        drop_unrecorded(store, Some(holder), commits, nanoseconds(within))
    });
    if count > 0 {
        tracing::info!(%agent, count, "snapshots that nobody recorded removed");
    }
}

/// Says which snapshots stay although no record tells of them, and where.
fn tell_of(store: &SnapshotStore, found: &[ObjectId]) -> usize {
    for commit in found {
        let store = store.path().display();
        tracing::warn!(%commit, %store, "a snapshot without a record, newer than the journal: kept");
    }
    found.len()
}

/// Counts in each store of an agent.
fn each_store(
    keeper: &SnapshotKeeper,
    agent: AgentId,
    recorded: &RecordedCommits,
    count: impl Fn(&SnapshotStore, &str, &HashSet<ObjectId>) -> Result<usize, GitError>,
) -> usize {
    let holder = agent.to_string();
    let in_store = |(store, commits): (&String, &HashSet<ObjectId>)| {
        let path = keeper.repository(store);
        if !path.exists() {
            return 0;
        }
        count(&SnapshotStore::at(path), &holder, commits).unwrap_or_else(|error| {
            tracing::warn!(why = %chain(&error), "snapshots can't be looked through");
            0
        })
    };
    recorded.iter().map(in_store).sum()
}

fn nanoseconds(range: &Range<Time>) -> (i64, i64) {
    let ns = |time: Time| i64::try_from(time.0.saturating_mul(1000)).unwrap_or(i64::MAX);
    (ns(range.start), ns(range.end))
}

/// Takes a snapshot of what is there now, which is the one of the present unless somebody has changed something since,
/// and puts the files back.
fn restored(keeper: &SnapshotKeeper, effect: &RestoreEffect, now: Time) -> SnapshotReport {
    let mut found = None;
    let done = catch_unwind(AssertUnwindSafe(|| put_back(keeper, effect, now, &mut found)));
    let outcome = match done {
        Ok(Ok(restored)) => outcome(&restored),
        Ok(Err(stopped)) => {
            let left = || stopped.left.iter().chain(&stopped.restored.missing);
            let listed = left().take(MOST_LISTED);
            RestoreOutcome {
                failed: Some(told(&stopped)),
                left: left().count() as u64,
                listed: listed.map(|path| path.chars().take(300).collect()).collect(),
                ..outcome(&stopped.restored)
            }
        }
        Err(_) => {
            let failed = Some("an error in Perennial itself; see the daemon's log".to_owned());
            RestoreOutcome { failed, ..RestoreOutcome::default() }
        }
    };
    SnapshotReport::Restored { restore: effect.restore, found, outcome }
}

fn put_back(
    keeper: &SnapshotKeeper,
    effect: &RestoreEffect,
    now: Time,
    found: &mut Option<Box<SnapshotFiles>>,
) -> Result<Restored, Box<Stopped>> {
    let missing = || GitError::Missing(ObjectId([0; 20]));
    let snapshot = effect.snapshot.as_ref().ok_or_else(missing)?;
    let (store, commit) = (snapshot.store.clone(), snapshot.commit.to_string());
    let target = keeper.open(&Stored { store, commit })?;
    let (dir, holder) = (PathBuf::from(&effect.work_tree), effect.agent.to_string());
    let in_time = in_time(RESTORED_WITHIN);
    let order = TakeOrder { holder: Some(&holder), ..keeper.take_order(&dir, now) };
    let order = TakeOrder { go_on: &in_time, ..order };
    let taken = take(&order)?;
    let files = recorded_files(&taken);
    let present = Stored { store: files.store.clone(), commit: files.commit.clone() };
    *found = Some(Box::new(files));
    let with_index = if effect.with_index { WithIndex::Yes } else { WithIndex::No };
    restore(&order, &target, &keeper.open(&present)?, with_index)
}

/// What is lost, and what somebody has changed meanwhile, is left as it is, and listed.
fn outcome(restored: &Restored) -> RestoreOutcome {
    let listed = |paths: &[String]| {
        let paths = paths.iter().take(MOST_LISTED);
        paths.map(|path| path.chars().take(300).collect()).collect()
    };
    RestoreOutcome {
        left: restored.missing.len() as u64,
        listed: listed(&restored.missing),
        written: restored.written as u64,
        removed: restored.removed as u64,
        changed: restored.changed.len() as u64,
        changed_listed: listed(&restored.changed),
        indexes: u32::try_from(restored.indexes).unwrap_or(u32::MAX),
        ..RestoreOutcome::default()
    }
}

fn told(stopped: &Stopped) -> String {
    let why = match &stopped.error {
        GitError::InTheWay(paths) => {
            let named = paths.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            format!("files that no snapshot holds are in the way: {named}")
        }
        GitError::Locked(path) => format!("git's index is locked: {} exists", path.display()),
        error => chain(error),
    };
    why.chars().take(300).collect()
}

/// Nothing is told if it can't be done now: the next daemon tries again.
fn removed(keeper: &SnapshotKeeper, effect: &RemoveEffect) -> Option<SnapshotReport> {
    let mut by_store: BTreeMap<&str, (Vec<u32>, Vec<ObjectId>)> = BTreeMap::new();
    for (number, snapshot) in &effect.snapshots {
        let (numbers, commits) = by_store.entry(&snapshot.store).or_default();
        numbers.push(*number);
        commits.extend(ObjectId::parse(&snapshot.commit.to_string()));
    }
    let (mut gone, mut freed) = (Vec::new(), 0);
    let holder = effect.agent.to_string();
    for (store, (numbers, commits)) in by_store {
        let path = keeper.repository(store);
        // A repository that somebody removed has nothing to remove.
        let dropped = match path.exists() {
            true => drop_snapshots(&SnapshotStore::at(path), Some(&holder), &commits),
            false => Ok(0),
        };
        match dropped {
            Ok(bytes) => {
                gone.extend(numbers);
                freed += bytes;
            }
            Err(error) => tracing::warn!(why = %chain(&error), "snapshots can't be removed"),
        }
    }
    gone.sort_unstable();
    (!gone.is_empty()).then_some(SnapshotReport::Removed { numbers: gone, bytes: freed })
}

/// Gives way to everything else that waits for the thread.
fn look(keeper: &SnapshotKeeper, agent: AgentId, dir: &std::path::Path, now: Time) {
    let is_alone = |_| keeper.is_idle();
    let order = TakeOrder { go_on: &is_alone, ..keeper.take_order(dir, now) };
    if let Err(error) = fill_cache(&order) {
        tracing::debug!(%agent, why = %chain(&error), "a work tree was not read ahead");
    }
}
