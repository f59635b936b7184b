//! The journal: what happened, kept for good, and the projections made from it.
//!
//! Knows events and rows; never processes, git, the network or the time of day. Everything that is
//! acknowledged here is on the disk first.

#![forbid(unsafe_code)]

pub mod chain;
pub mod checkpoint;
pub mod follow;
pub mod graph;
pub mod journal;
pub mod load;
pub mod memory;
pub mod projection;
pub mod record;
mod signal_index;
pub mod sqlite;
pub mod stored;
pub mod task_rows;
pub mod text;

pub use chain::Hash;
pub use follow::Follower;
pub use journal::{
    AppendError, Batch, Done, Expected, Journal, Link, ReadError, Seq, StoreError, StreamAppend,
    Version,
};
pub use load::{LoadError, Loaded, load, recall, recall_task};
pub use memory::MemoryJournal;
pub use projection::{
    IdsOf, Kept, Latest, MailQuery, MessageRow, MessageRows, MessageStep, MessagesOf, Projections,
    RosterQuery, RosterRow, Snapshot, SnapshotSet, Store,
};
pub use record::{Damage, Record, Unreadable};
pub use signal_index::{SignalOrigin, SignalPlace, SignalQuery, SignalRow};
pub use sqlite::{OpenError, SqliteJournal};
pub use task_rows::{TaskQuery, TaskRow};
