//! Which snapshots of an agent there still are, and which of them are to go.
//!
//! Pure. An agent is copied at every event, so that what is remembered of a snapshot is small and holds no text.
//!
//! Invariants
//! - KS1  A snapshot is kept, or is being removed, or is gone. One that was dropped is never kept again.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{SnapshotCause, SnapshotTaken};
use crate::time::Time;

/// The commit of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommitId([u8; 20]);

impl CommitId {
    pub fn parse(text: &str) -> Option<CommitId> {
        let digits = text.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let mut id = [0; 20];
        for (into, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            *into = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        (digits.len() == 40).then_some(CommitId(id))
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for CommitId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CommitId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CommitId, D::Error> {
        let text = String::deserialize(from)?;
        CommitId::parse(&text).ok_or_else(|| serde::de::Error::custom("not a commit"))
    }
}

/// What is remembered of one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotHead {
    pub number: u32,
    /// Why it was taken, or, if somebody asked for it later, that.
    pub why: SnapshotCause,
    pub at: Time,
    /// Which of the agent's places it is of.
    pub place: u32,
    pub commit: CommitId,
}

/// A work tree that snapshots were taken of, and the repository that has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotPlace {
    pub store: String,
    pub work_tree: String,
}

/// The snapshots of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeptSnapshots {
    places: Vec<SnapshotPlace>,
    /// By number.
    kept: Vec<SnapshotHead>,
    /// Dropped, and perhaps not removed yet.
    removing: Vec<SnapshotHead>,
    /// How many times snapshots were dropped.
    pub drops: u32,
}

/// A snapshot by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSnapshot {
    pub store: String,
    pub commit: CommitId,
}

impl KeptSnapshots {
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &SnapshotHead> {
        self.kept.iter()
    }

    pub fn get(&self, number: u32) -> Option<&SnapshotHead> {
        self.kept.iter().find(|head| head.number == number)
    }

    /// The newest that has this commit.
    pub fn find(&self, store: &str, commit: &str) -> Option<&SnapshotHead> {
        let commit = CommitId::parse(commit)?;
        let is_it = |head: &&SnapshotHead| {
            head.commit == commit && self.place(head).is_some_and(|place| place.store == store)
        };
        self.kept.iter().rev().find(is_it)
    }

    pub fn place(&self, head: &SnapshotHead) -> Option<&SnapshotPlace> {
        self.places.get(usize::try_from(head.place).ok()?)
    }

    pub fn stored(&self, number: u32) -> Option<StoredSnapshot> {
        let head = self.get(number)?;
        self.place(head)
            .map(|place| StoredSnapshot { store: place.store.clone(), commit: head.commit })
    }

    /// What is to be removed, by number.
    pub fn to_remove(&self) -> Vec<(u32, StoredSnapshot)> {
        let stored = |head: &SnapshotHead| {
            let store = self.place(head)?.store.clone();
            Some((head.number, StoredSnapshot { store, commit: head.commit }))
        };
        self.removing.iter().filter_map(stored).collect()
    }

    /// All that are recorded and may have files.
    pub fn all_stored(&self) -> Vec<StoredSnapshot> {
        let stored = |head: &SnapshotHead| {
            let store = self.place(head)?.store.clone();
            Some(StoredSnapshot { store, commit: head.commit })
        };
        self.kept.iter().chain(&self.removing).filter_map(stored).collect()
    }

    /// Folds a snapshot. One without a commit that can be read is nothing that could be removed.
    pub fn taken(&mut self, taken: &SnapshotTaken, at: Time) {
        let Some(commit) = CommitId::parse(&taken.files.commit) else { return };
        let (store, work_tree) = (&taken.files.store, &taken.files.work_tree);
        let is_it = |one: &SnapshotPlace| one.store == *store && one.work_tree == *work_tree;
        let known = self.places.iter().position(is_it);
        let place = known.unwrap_or_else(|| {
            let (store, work_tree) = (store.clone(), work_tree.clone());
            self.places.push(SnapshotPlace { store, work_tree });
            self.places.len() - 1
        });
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let (number, why) = (taken.number, taken.why);
        self.kept.push(SnapshotHead { number, why, at, place, commit });
    }

    /// Folds that nothing has changed since a snapshot: what somebody asked for counts as that from then on.
    pub fn served(&mut self, number: u32, why: SnapshotCause) {
        let head = self.kept.iter_mut().find(|head| head.number == number);
        if let Some(head) = head.filter(|head| why.is_asked() && !head.why.is_asked()) {
            head.why = why;
        }
    }

    /// Folds that snapshots are dropped.
    pub fn dropped(&mut self, numbers: &[u32]) {
        self.drops += 1;
        let is_dropped = |head: &mut SnapshotHead| numbers.contains(&head.number);
        self.removing.extend(self.kept.extract_if(.., is_dropped));
    }

    /// Folds that snapshots are gone.
    pub fn removed(&mut self, numbers: &[u32]) {
        self.removing.retain(|head| !numbers.contains(&head.number));
    }
}
