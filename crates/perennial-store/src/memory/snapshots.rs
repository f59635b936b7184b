//! Sets of snapshots in memory: a set is whole, or it is dropped.

use std::collections::BTreeSet;

use perennial_core::entity::Entity;

use super::Kept;
use crate::journal::Seq;
use crate::projection::Snapshot;
use crate::record::{has_snapshots, stream_key};

impl Kept {
    pub(super) fn put_snapshots(&mut self, snapshots: Vec<Snapshot>, head: Seq) -> bool {
        let version = |stream: &Entity| self.versions.get(stream).copied().unwrap_or_default();
        let fits = |one: &Snapshot| one.state.is_none() || one.version == version(&one.stream);
        let given: BTreeSet<Vec<u8>> =
            snapshots.iter().map(|one| stream_key(&one.stream)).collect();
        let mut changed = self.rows.range(Seq(self.covers.0 + 1)..).map(|(_, row)| &row.stream);
        if !snapshots.iter().all(fits)
            || !changed.all(|key| given.contains(key) || !has_snapshots(key))
        {
            return false;
        }
        for snapshot in snapshots {
            match snapshot.state {
                Some(_) => _ = self.snapshots.insert(snapshot.stream.clone(), snapshot),
                None => _ = self.snapshots.remove(&snapshot.stream),
            }
        }
        self.covers = head;
        true
    }
}
