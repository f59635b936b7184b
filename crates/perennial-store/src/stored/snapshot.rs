//! Snapshots of work trees as they are stored.

use perennial_core::event::AgentEvent;
use perennial_core::keeping::MissCause;
use perennial_core::snapshot::{
    DropCause, RestoreBegun, RestoreEnded, RestoreOutcome, RestoreRun, SnapshotCause,
    SnapshotEvent, SnapshotFiles, SnapshotMissed, SnapshotTaken, SnapshotWanted,
};
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::Encoded;
use super::part::StoredEvidence;
use super::word::Worded;
use super::{misplaced, parsed};
use crate::record::Damage;

/// The kinds with the newest form of each.
pub(super) const KINDS: &[(&str, u32)] = &[
    ("snapshot-taken", 1),
    ("snapshot-wanted", 1),
    ("snapshot-unchanged", 1),
    ("snapshot-missed", 1),
    ("snapshots-dropped", 1),
    ("snapshots-removed", 1),
    ("restore-begun", 1),
    ("restore-ended", 1),
];

#[derive(Serialize, Deserialize)]
struct StoredSnapshot {
    number: u32,
    why: Worded<SnapshotCause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wish: Option<u32>,
    store: String,
    work_tree: String,
    commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    files: u64,
    bytes: u64,
    #[serde(default)]
    nested: u32,
    #[serde(default)]
    left_out: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    listed: Vec<(String, String)>,
    #[serde(default)]
    torn: u32,
    evidence: StoredEvidence,
}

#[derive(Serialize, Deserialize)]
struct StoredRestore {
    number: u32,
    present: u32,
    with_index: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restore: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work_tree: Option<String>,
    evidence: StoredEvidence,
}

#[derive(Serialize, Deserialize)]
struct StoredRestoreEnded {
    restore: u32,
    number: u32,
    present: u32,
    written: u64,
    removed: u64,
    indexes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    #[serde(default)]
    left: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    listed: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    changed: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed_listed: Vec<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Serialize, Deserialize)]
struct StoredDropped {
    numbers: Vec<u32>,
    why: Worded<DropCause>,
}

#[derive(Serialize, Deserialize)]
struct StoredRemoved {
    numbers: Vec<u32>,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredWanted {
    wish: u32,
    why: Worded<SnapshotCause>,
    dir: String,
    until: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredUnchanged {
    wish: u32,
    why: Worded<SnapshotCause>,
    number: u32,
}

#[derive(Serialize, Deserialize)]
struct StoredMissed {
    wish: u32,
    why: Worded<SnapshotCause>,
    cause: Worded<MissCause>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    told: String,
}

pub(super) fn write(event: &SnapshotEvent) -> Encoded {
    match event {
        SnapshotEvent::Wanted(SnapshotWanted { wish, why, dir, until }) => {
            let (why, dir) = (Worded(*why), dir.clone());
            super::encoded(
                "snapshot-wanted",
                &StoredWanted { wish: *wish, why, dir, until: until.0 },
            )
        }
        SnapshotEvent::Unchanged { wish, why, number } => {
            let stored = StoredUnchanged { wish: *wish, why: Worded(*why), number: *number };
            super::encoded("snapshot-unchanged", &stored)
        }
        SnapshotEvent::Missed(SnapshotMissed { wish, why, cause, told }) => {
            let (why, cause, told) = (Worded(*why), Worded(*cause), told.clone());
            super::encoded("snapshot-missed", &StoredMissed { wish: *wish, why, cause, told })
        }
        SnapshotEvent::Taken(SnapshotTaken { number, why, wish, files, evidence }) => {
            let files = files.clone();
            let stored = StoredSnapshot {
                number: *number,
                why: Worded(*why),
                wish: *wish,
                store: files.store,
                work_tree: files.work_tree,
                commit: files.commit,
                base: files.base,
                files: files.files,
                bytes: files.bytes,
                nested: files.nested,
                left_out: files.left_out,
                listed: files.listed,
                torn: files.torn,
                evidence: evidence.into(),
            };
            super::encoded("snapshot-taken", &stored)
        }
        SnapshotEvent::Dropped { numbers, why } => {
            let stored = StoredDropped { numbers: numbers.clone(), why: Worded(*why) };
            super::encoded("snapshots-dropped", &stored)
        }
        SnapshotEvent::Removed { numbers, bytes } => {
            let stored = StoredRemoved { numbers: numbers.clone(), bytes: *bytes };
            super::encoded("snapshots-removed", &stored)
        }
        SnapshotEvent::RestoreBegun(RestoreBegun {
            number,
            present,
            with_index,
            run,
            evidence,
        }) => {
            let run = run.as_ref();
            let stored = StoredRestore {
                number: *number,
                present: *present,
                with_index: *with_index,
                restore: run.map(|run| run.restore),
                work_tree: run.map(|run| run.work_tree.clone()),
                evidence: evidence.into(),
            };
            super::encoded("restore-begun", &stored)
        }
        SnapshotEvent::RestoreEnded(ended) => {
            super::encoded("restore-ended", &StoredRestoreEnded::of(ended))
        }
    }
}

pub(super) fn read(kind: &str, payload: &[u8]) -> Result<AgentEvent, Damage> {
    Ok(match kind {
        "snapshot-taken" => parsed::<StoredSnapshot>(payload)?.read()?,
        "snapshot-wanted" => parsed::<StoredWanted>(payload)?.read(),
        "snapshot-unchanged" => parsed::<StoredUnchanged>(payload)?.read(),
        "snapshot-missed" => parsed::<StoredMissed>(payload)?.read(),
        "snapshots-dropped" => parsed::<StoredDropped>(payload)?.read(),
        "snapshots-removed" => parsed::<StoredRemoved>(payload)?.read(),
        "restore-begun" => parsed::<StoredRestore>(payload)?.read()?,
        "restore-ended" => parsed::<StoredRestoreEnded>(payload)?.read(),
        _ => return Err(misplaced()),
    })
}

impl StoredSnapshot {
    fn read(self) -> Result<AgentEvent, Damage> {
        let files = SnapshotFiles {
            store: self.store,
            work_tree: self.work_tree,
            commit: self.commit,
            base: self.base,
            files: self.files,
            bytes: self.bytes,
            nested: self.nested,
            left_out: self.left_out,
            listed: self.listed,
            torn: self.torn,
        };
        let (number, why, wish) = (self.number, self.why.0, self.wish);
        let taken = SnapshotTaken { number, why, wish, files, evidence: self.evidence.try_into()? };
        Ok(of(SnapshotEvent::Taken(taken)))
    }
}

impl StoredWanted {
    fn read(self) -> AgentEvent {
        let (wish, why, dir, until) = (self.wish, self.why.0, self.dir, Time(self.until));
        of(SnapshotEvent::Wanted(SnapshotWanted { wish, why, dir, until }))
    }
}

impl StoredUnchanged {
    fn read(self) -> AgentEvent {
        let (wish, why, number) = (self.wish, self.why.0, self.number);
        of(SnapshotEvent::Unchanged { wish, why, number })
    }
}

impl StoredMissed {
    fn read(self) -> AgentEvent {
        let (wish, why, cause, told) = (self.wish, self.why.0, self.cause.0, self.told);
        of(SnapshotEvent::Missed(SnapshotMissed { wish, why, cause, told }))
    }
}

fn of(event: SnapshotEvent) -> AgentEvent {
    AgentEvent::Snapshot(Box::new(event))
}

impl StoredRestore {
    fn read(self) -> Result<AgentEvent, Damage> {
        let run = match (self.restore, self.work_tree) {
            (Some(restore), Some(work_tree)) => Some(RestoreRun { restore, work_tree }),
            // As earlier versions wrote it.
            (None, _) | (_, None) => None,
        };
        Ok(of(SnapshotEvent::RestoreBegun(RestoreBegun {
            number: self.number,
            present: self.present,
            with_index: self.with_index,
            run,
            evidence: self.evidence.try_into()?,
        })))
    }
}

impl StoredRestoreEnded {
    fn of(ended: &RestoreEnded) -> StoredRestoreEnded {
        let RestoreOutcome { written, removed, indexes, failed, left, listed, .. } = &ended.outcome;
        let RestoreOutcome { changed, changed_listed, .. } = &ended.outcome;
        StoredRestoreEnded {
            restore: ended.restore,
            number: ended.number,
            present: ended.present,
            written: *written,
            removed: *removed,
            indexes: *indexes,
            failed: failed.clone(),
            left: *left,
            listed: listed.clone(),
            changed: *changed,
            changed_listed: changed_listed.clone(),
        }
    }

    fn read(self) -> AgentEvent {
        let outcome = RestoreOutcome {
            written: self.written,
            removed: self.removed,
            indexes: self.indexes,
            failed: self.failed,
            left: self.left,
            listed: self.listed,
            changed: self.changed,
            changed_listed: self.changed_listed,
        };
        let (restore, number, present) = (self.restore, self.number, self.present);
        of(SnapshotEvent::RestoreEnded(RestoreEnded { restore, number, present, outcome }))
    }
}

impl StoredDropped {
    fn read(self) -> AgentEvent {
        of(SnapshotEvent::Dropped { numbers: self.numbers, why: self.why.0 })
    }
}

impl StoredRemoved {
    fn read(self) -> AgentEvent {
        of(SnapshotEvent::Removed { numbers: self.numbers, bytes: self.bytes })
    }
}
