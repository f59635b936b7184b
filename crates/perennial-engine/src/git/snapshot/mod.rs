//! Snapshots of work trees: tracked, staged and untracked files as they are on the disk, without touching the work
//! tree, its index, HEAD or branches.
//!
//! A snapshot is a commit in a bare repository of our own (`store.rs`). Its tree has `work/`, the files; `index`, the
//! index as bytes; `staged/`, staged objects that are nowhere else; `state` (`state_file.rs`); and `nested/`, the same
//! for each repository in the work tree. docs/design/0050-snapshots.md says why it is so.
//!
//! Invariants
//! - SN1  Files are stored as their bytes: no filter and no conversion.
//! - SN2  All that a snapshot refers to is in its store, or is reachable from a commit that a ref of ours keeps in
//!   the owner's repository.
//! - SN3  A snapshot is complete or is not listed: its ref comes last.
//! - SN4  What is not in it is ignored by git or listed as left out.

mod against_head;
mod base;
mod base_owner;
mod borrowing;
mod contents;
mod diff;
mod drop;
mod elsewhere;
mod line_diff;
mod listing;
mod modes;
mod obstacles;
mod pack_writer;
mod path_text;
mod read_file;
mod restore;
mod restore_index;
mod secrets;
mod staged;
mod stat_cache;
mod state_file;
mod store;
mod take;
mod trees;
mod unit;
mod walk;
mod write_file;

use serde::{Deserialize, Serialize};

pub use against_head::against_head;
pub use contents::{Contents, StoredFile, Unit};
pub use diff::{Change, ChangeKind, PatchLimits, compare, patch};
pub use drop::{drop_snapshots, drop_unrecorded, unrecorded};
pub use path_text::escape;
pub use restore::{Restored, Stopped, WithIndex, check_restore, restore, restore_to};
pub use state_file::StateFile;
pub use store::SnapshotStore;
pub use take::{TakeOrder, Taken, fill_cache, look, take};

/// The largest file that is taken, by default.
pub const MOST_FILE_BYTES: u64 = 64 << 20;
/// The most that one snapshot may add, by default.
pub const MOST_NEW_BYTES: u64 = 4 << 30;

/// Something of the work tree that a snapshot does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// Escaped; below the top work tree.
    pub path: String,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Untracked, and its name says that it holds a secret.
    Secret,
    TooLarge,
    /// A pipe, a socket or a device.
    Special,
    Unreadable,
    TooDeep,
}
