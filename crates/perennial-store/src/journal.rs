//! The journal's trait: a completion port for appends, and reads in commit order. SQLite and memory keep
//! the same contract (`tests/contract`). What is derived from it follows it: `projection.rs`.
//!
//! Invariants
//! - J1  An append is whole or not at all, over all its streams.
//! - J2  An append with an expectation that does not hold changes nothing.
//! - J3  `done` is called once, after the append is durable, in commit order.
//! - J4  Sequence numbers grow in commit order, and may have gaps. Reading skips nothing: what can't be
//!   read is a value.
//! - J5  A batch that rests on an earlier one of its writer is refused unless that one was taken.
//! - J6  After a failed append everything is as before it, and the next one may succeed. Only if the
//!   program dies before one does, the failed one may be found in the journal, whole.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::id::NodeId;
use perennial_core::text::{Digest, TextBody};
use serde::{Deserialize, Serialize};

use crate::chain::Hash;
use crate::follow::Follower;
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
    /// Its place among the appends of its writer. `None`: it rests on nothing but what its entries expect.
    pub link: Option<Link>,
}

/// Which append of its writer a batch is, and which one it rests on, across streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub writer: NodeId,
    /// Later appends have higher numbers.
    pub number: u64,
    /// The one before it that was under way when it was decided: it is refused unless that one was taken.
    pub after: Option<u64>,
}

/// What one stream gets, if it is where the writer believes. Without events it is only looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamAppend {
    pub stream: Entity,
    pub expected: Expected,
    pub events: Vec<Event>,
}

/// Where a writer believes a stream to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Wherever it is.
    Anything,
    Version(Version),
    /// Since this record it got as many events as its writer put there itself, and no others. For streams
    /// whose version nobody keeps in memory.
    Since {
        seq: Seq,
        own: u64,
    },
}

impl Expected {
    /// Whether a stream at this version is further than its writer believes.
    pub fn is_passed_by(self, actual: Version) -> bool {
        match self {
            Expected::Anything => false,
            Expected::Version(expected) => actual > expected,
            // It got events that are not the writer's.
            Expected::Since { .. } => true,
        }
    }
}

impl From<Version> for Expected {
    fn from(version: Version) -> Expected {
        Expected::Version(version)
    }
}

/// Called once with the sequence number of the append's last event. Must be quick: the next commit
/// waits for it.
pub type Done = Box<dyn FnOnce(Result<Seq, AppendError>) + Send>;

pub trait Journal: Send + Sync {
    /// Writes what was queued before, and takes nothing more.
    fn close(&self) {}

    /// Whether its files are still where they were opened.
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }

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

    /// The last durable record and its hash, which stands for the whole chain.
    fn head(&self) -> (Seq, Hash);

    /// Everything after `after`, now and as it comes.
    fn follow(&self, after: Seq) -> Follower;

    /// Every record that was found to be unreadable and still is.
    fn quarantine(&self) -> Vec<Unreadable>;
}

impl Batch {
    /// Events in their order, put to their streams; `expected` tells where each stream is now.
    pub fn of(events: Vec<Event>, expected: impl Fn(&Entity) -> Expected) -> Batch {
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
            let expected = expected(&stream).plus(before);
            entries.push(StreamAppend { stream, expected, events: vec![event] });
        }
        Batch { entries, texts: Vec::new(), link: None }
    }

    /// Has it refused if one of these streams is not where its writer believes.
    pub fn resting_on(mut self, read: &[Entity], expected: impl Fn(&Entity) -> Expected) -> Batch {
        for stream in read {
            if self.entries.iter().all(|entry| entry.stream != *stream) {
                let (expected, stream) = (expected(stream), stream.clone());
                self.entries.push(StreamAppend { stream, expected, events: Vec::new() });
            }
        }
        self
    }

    /// Has these texts written with it.
    pub fn with_texts(self, texts: Vec<TextBody>) -> Batch {
        Batch { texts, ..self }
    }

    /// Has it refused unless the append that it rests on was taken.
    pub fn linked(self, link: Link) -> Batch {
        Batch { link: Some(link), ..self }
    }
}

impl Expected {
    /// Where the stream is after this many more events.
    fn plus(self, events: usize) -> Expected {
        match self {
            Expected::Anything => Expected::Anything,
            Expected::Version(version) => Expected::Version(version.plus(events)),
            Expected::Since { seq, own } => Expected::Since { seq, own: own + events as u64 },
        }
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
    #[error("{stream:?} is at version {actual}, not as expected: {expected:?}")]
    Conflict { stream: Entity, expected: Expected, actual: Version },
    #[error("an event for {stream:?} has {bytes} bytes, more than a record holds")]
    TooLarge { stream: Entity, bytes: usize },
    #[error("a text has {bytes} bytes, more than the store takes")]
    TextTooLarge { bytes: usize },
    #[error("an event of {found:?} was put to {stream:?}")]
    Misplaced { stream: Entity, found: Entity },
    #[error("an append that this one depends on failed")]
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
    Full(#[source] Cause),
    #[error("the journal's file is damaged")]
    Damaged(#[source] Cause),
    #[error("the disk failed")]
    Io(#[source] Cause),
    #[error("the database refused")]
    Database(#[source] Cause),
    #[error("another program wrote to the journal; its chain breaks at record {at}")]
    Edited { at: Seq },
    #[error("{} was moved or removed while the daemon runs: put it back", path.display())]
    Removed { path: PathBuf },
    #[error("{} was replaced while the daemon runs: put the one back that was there", path.display())]
    Replaced { path: PathBuf },
    #[error("{} was cut off while the daemon runs: `perennial down` and `perennial up` tell what is lost",
        path.display())]
    Cut { path: PathBuf },
    /// A fault that a simulation ordered.
    #[error("a fault was injected")]
    Injected,
}

/// What the database said, in its own words.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    #[error("the journal could not be read")]
    Store(#[source] StoreError),
    #[error("invalid value {value:?} in table {table}")]
    Row { table: &'static str, value: String },
}
