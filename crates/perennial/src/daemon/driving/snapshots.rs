//! The executor of `Effect::Snapshot`: restores and removes snapshots, reads work trees ahead of time, and tells what came
//! of it.
//!
//! Decides nothing. A restore always comes to an end that is told, whatever its files do.

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::effect::{RemoveEffect, RestoreEffect, SnapshotEffect};
use perennial_core::id::AgentId;
use perennial_core::snapshot::{
    MOST_LISTED, RestoreOutcome, SnapshotFiles, SnapshotReport, StoredSnapshot,
};
use perennial_core::time::Time;
use perennial_engine::git::GitError;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::snapshot::{
    Restored, SnapshotStore, Stopped, TakeOrder, WithIndex, drop_snapshots, drop_unrecorded,
    fill_cache, restore, take,
};
use perennial_engine::host::monotonic;

use super::driver::{Driver, Incoming};
use crate::daemon::snapshot_keeper::{SnapshotKeeper, Stored, in_time, recorded_files};
use crate::error_chain::chain;

/// The work tree is read twice for a restore; no read of it begins, or goes on, after this.
const RESTORED_WITHIN: Duration = Duration::from_secs(600);

/// A snapshot that was taken is recorded within this, or not at all.
const RECORDED_WITHIN_MICROS: u64 = 600_000_000;

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
        let before = monotonic::wall_time().0.saturating_sub(RECORDED_WITHIN_MICROS);
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
                recorded.iter().for_each(|all| remove_unrecorded(keeper, agent, all, before));
            }
            SnapshotEffect::Look { agent, dir, .. } => {
                look(keeper, agent, &PathBuf::from(dir), now);
            }
        });
    }
}

impl Driver {
    /// Removes snapshots that the daemon before this one took, and could not record any more.
    pub fn remove_unrecorded(&mut self) {
        let before = monotonic::wall_time().0;
        let agents = self.supervisor.fleet().agents();
        let known: Vec<_> = agents.filter_map(|agent| Some((agent.id, recorded(agent)?))).collect();
        for (agent, recorded) in known {
            let work = move |keeper: &SnapshotKeeper| {
                remove_unrecorded(keeper, agent, &recorded, before);
            };
            // Without its thread the next daemon does it.
            let _ = self.world.snapshots.order(agent, work);
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

/// Nothing that was taken since `before` is touched: it may be about to be recorded.
fn remove_unrecorded(
    keeper: &SnapshotKeeper,
    agent: AgentId,
    recorded: &RecordedCommits,
    before_micros: u64,
) {
    let before_ns = i64::try_from(before_micros.saturating_mul(1000)).unwrap_or(i64::MAX);
    let holder = agent.to_string();
    for (store, commits) in recorded {
        let path = keeper.repository(store);
        if !path.exists() {
            continue;
        }
        match drop_unrecorded(&SnapshotStore::at(path), Some(&holder), commits, before_ns) {
            Ok(0) => {}
            Ok(count) => tracing::info!(%agent, count, "snapshots that nobody recorded removed"),
            Err(error) => tracing::warn!(why = %chain(&error), "snapshots can't be removed"),
        }
    }
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
