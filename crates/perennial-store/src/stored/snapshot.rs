//! Snapshots of work trees as they are stored.

use perennial_core::event::AgentEvent;
use perennial_core::snapshot::{SnapshotCause, SnapshotEvent, SnapshotFiles, SnapshotTaken};
use serde::{Deserialize, Serialize};

use super::Encoded;
use super::part::StoredEvidence;
use super::word::Worded;
use crate::record::Damage;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSnapshot {
    number: u32,
    why: Worded<SnapshotCause>,
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
pub(super) struct StoredRestore {
    number: u32,
    present: u32,
    with_index: bool,
    evidence: StoredEvidence,
}

pub(super) fn write(event: &SnapshotEvent) -> Encoded {
    match event {
        SnapshotEvent::Taken(SnapshotTaken { number, why, files, evidence }) => {
            let files = files.clone();
            let stored = StoredSnapshot {
                number: *number,
                why: Worded(*why),
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
        SnapshotEvent::RestoreBegun { number, present, with_index, evidence } => {
            let stored = StoredRestore {
                number: *number,
                present: *present,
                with_index: *with_index,
                evidence: evidence.into(),
            };
            super::encoded("restore-begun", &stored)
        }
    }
}

impl StoredSnapshot {
    pub fn read(self) -> Result<AgentEvent, Damage> {
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
        let (number, why) = (self.number, self.why.0);
        let taken = SnapshotTaken { number, why, files, evidence: self.evidence.try_into()? };
        Ok(AgentEvent::Snapshot(Box::new(SnapshotEvent::Taken(taken))))
    }
}

impl StoredRestore {
    pub fn read(self) -> Result<AgentEvent, Damage> {
        Ok(AgentEvent::Snapshot(Box::new(SnapshotEvent::RestoreBegun {
            number: self.number,
            present: self.present,
            with_index: self.with_index,
            evidence: self.evidence.try_into()?,
        })))
    }
}
