//! The journal's trait: a completion port for appends, reads in commit order, and the rows that are
//! derived from it. SQLite and memory keep the same contract (`tests/contract`).
//!
//! Invariants
//! - J1  An append is whole or not at all, over all its streams.
//! - J2  An append whose expected versions do not hold changes nothing.
//! - J3  `done` is called once, after the append is durable, in commit order.
//! - J4  Sequence numbers have no gaps, and reading skips nothing: what can't be read is a value.
//! - J5  A batch that says what it knows is refused if it does not know of every failure before it.
//! - J6  After a failed append everything is as before it, and the next one may succeed. Only if the
//!   program dies before one does, the failed one may be found in the journal, whole.

use std::fmt;
use std::sync::Arc;

use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::id::{AgentId, MessageId};
use perennial_core::text::{Digest, TextBody};
use serde::{Deserialize, Serialize};

use crate::chain::Hash;
use crate::follow::Follower;
use crate::projection::{
    Latest, MessageRow, MessageRows, RosterQuery, RosterRow, Snapshot, SnapshotSet,
};
use crate::record::{Record, Unreadable};

/// A place in the journal: 1 is the first record, 0 lies before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Seq(pub u64);

/// How many events a stream has.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Version(pub u64);

/// One append, atomic over all its streams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub entries: Vec<StreamAppend>,
    /// Texts that its events name; one that is there already is not written again.
    pub texts: Vec<TextBody>,
    /// How many failed appends its maker has heard of; refused unless there were no others, since it
    /// may rest on one of them, across streams. `None`: it rests on nothing but its versions.
    pub failures_heard: Option<u64>,
}

/// What one stream gets, if it is where the writer believes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamAppend {
    pub stream: Entity,
    /// `None`: wherever it is.
    pub expected: Option<Version>,
    pub events: Vec<Event>,
}

/// Called once with the sequence number of the append's last event. Must be quick: the next commit
/// waits for it.
pub type Done = Box<dyn FnOnce(Result<Seq, AppendError>) + Send>;

/// Called once with whether a set of snapshots is durable, and all rows that were queued before it.
pub type Kept = Box<dyn FnOnce(bool) + Send>;

pub trait Journal: Send + Sync {
    /// Writes what was queued before, and takes nothing more.
    fn close(&self) {}

    /// Queues one append. One commit carries all that queued meanwhile. A batch without events is
    /// done when all queued before it is.
    fn append(&self, batch: Batch, done: Done);

    /// Up to `limit` records after `after` in commit order; fewer where they are large.
    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError>;

    /// Up to `limit` records of one stream.
    fn read_stream(
        &self,
        stream: &Entity,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError>;

    /// The first record of each of up to `limit` streams that are of the same kind as `before` and
    /// have a lower id, highest id first. Ids are made in the order of time: newest first.
    fn streams_before(&self, before: &Entity, limit: usize) -> Result<Vec<Record>, ReadError>;

    /// Up to `limit` records of one stream before `before`, the newest first.
    fn read_stream_back(
        &self,
        stream: &Entity,
        before: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError>;

    /// A text by its digest; nothing where no event has named it, or where it was damaged.
    fn text(&self, digest: Digest) -> Result<Option<String>, ReadError>;

    /// How far a message has come.
    fn message(&self, id: MessageId) -> Result<Option<MessageRow>, ReadError>;

    /// Up to `limit` messages to an agent, newest first, as far as each has come.
    fn messages(&self, to: AgentId, limit: usize) -> Result<MessageRows, ReadError>;

    /// The last durable record and its hash, which stands for the whole chain.
    fn head(&self) -> (Seq, Hash);

    /// Everything after `after`, now and as it comes.
    fn follow(&self, after: Seq) -> Follower;

    /// Every record that was found to be unreadable and still is.
    fn quarantine(&self) -> Vec<Unreadable>;

    /// Queues the state, as all appends queued before have left it, of every stream that has changed
    /// since the last set that was kept. Whole or not at all: a set is dropped where a version does
    /// not fit or a changed stream is missing. That costs time at the next start, no more.
    fn put_snapshots(&self, snapshots: Vec<Snapshot>, kept: Kept);

    /// The newest snapshots of everything that is not over; none where they can't be trusted.
    fn snapshots(&self) -> Result<SnapshotSet, ReadError>;

    /// The snapshot of one entity, over or not. Who reads it compares the version.
    fn snapshot(&self, stream: &Entity) -> Result<Option<Snapshot>, ReadError>;

    /// Queues the latest values of these agents. Written with the next commit, or soon.
    fn put_samples(&self, samples: Vec<Latest>);

    /// Of these agents, as far as there are any.
    fn samples(&self, agents: &[AgentId]) -> Result<Vec<Latest>, ReadError>;

    /// Queues these rows of the roster. Written with the next commit, or soon.
    fn put_roster(&self, rows: Vec<RosterRow>);

    fn roster(&self, query: RosterQuery<'_>) -> Result<Vec<RosterRow>, ReadError>;
}

impl Batch {
    /// Events in their order, put to their streams; `version` tells where each stream is now.
    pub fn of(events: Vec<Event>, version: impl Fn(&Entity) -> Option<Version>) -> Batch {
        let mut entries: Vec<StreamAppend> = Vec::new();
        for event in events {
            let stream = event.entity();
            // Neighbours share an entry; a stream that comes again later expects what it got before.
            if let Some(last) = entries.last_mut().filter(|last| last.stream == stream) {
                last.events.push(event);
                continue;
            }
            let before: usize =
                entries.iter().filter(|e| e.stream == stream).map(|e| e.events.len()).sum();
            let expected = version(&stream).map(|version| version.plus(before));
            entries.push(StreamAppend { stream, expected, events: vec![event] });
        }
        Batch { entries, texts: Vec::new(), failures_heard: None }
    }

    /// Has these texts written with it.
    pub fn with_texts(self, texts: Vec<TextBody>) -> Batch {
        Batch { texts, ..self }
    }

    /// Has it refused if an append failed that its maker does not know of. Each answer that is an
    /// error counts, from the journal's opening on.
    pub fn knowing(self, failures_heard: u64) -> Batch {
        Batch { failures_heard: Some(failures_heard), ..self }
    }
}

impl Version {
    /// Behind the last event of any stream.
    pub const END: Version = Version(i64::MAX as u64);

    pub(crate) fn plus(self, events: usize) -> Version {
        Version(self.0 + events as u64)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why an append was refused or failed; in each case nothing of it was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    #[error("{stream:?} is at version {actual}, not at {expected}")]
    Conflict { stream: Entity, expected: Version, actual: Version },
    #[error("an event for {stream:?} has {bytes} bytes, more than a record holds")]
    TooLarge { stream: Entity, bytes: usize },
    #[error("a text has {bytes} bytes, more than the store takes")]
    TextTooLarge { bytes: usize },
    #[error("an event of {found:?} was put to {stream:?}")]
    Misplaced { stream: Entity, found: Entity },
    #[error("an append before it failed, and it may rest on that one")]
    AfterFailed,
    #[error("the journal could not be written")]
    Store(#[source] StoreError),
    #[error("the journal is closed")]
    Closed,
}

/// What is wrong with the store itself.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("the disk is full")]
    Full(#[source] Arc<rusqlite::Error>),
    #[error("the journal's file is damaged")]
    Damaged(#[source] Arc<rusqlite::Error>),
    #[error("the disk failed")]
    Io(#[source] Arc<rusqlite::Error>),
    #[error("the database refused")]
    Database(#[source] Arc<rusqlite::Error>),
    #[error("another program wrote to the journal; its chain breaks at record {at}")]
    Edited { at: Seq },
    /// A fault that a simulation ordered.
    #[error("a fault was injected")]
    Injected,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    #[error("the journal could not be read")]
    Store(#[source] StoreError),
    #[error("a row of {table} holds {value:?}, which says nothing")]
    Row { table: &'static str, value: String },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode;
        let code = error.sqlite_error_code();
        let error = Arc::new(error);
        match code {
            Some(ErrorCode::DiskFull) => StoreError::Full(error),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged(error)
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
                StoreError::Io(error)
            }
            Some(_) | None => StoreError::Database(error),
        }
    }
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> ReadError {
        ReadError::Store(error.into())
    }
}
