//! The journal in one SQLite file: WAL, synchronous FULL, one writer thread, one connection to read.
//!
//! Invariants
//! - L1  Only the writer thread writes; it alone numbers records and links the chain.
//! - L2  After an error the connection is not used again: a new one finds out what the disk holds.
//! - L3  Opening writes nothing to a file that is damaged, foreign or of a newer program.

mod derived;
mod error;
mod files;
mod head_file;
mod id_ends;
mod message_check;
mod messages;
mod open;
mod rows;
mod schema;
mod signals;
mod tasks;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, IdEnd, MessageId, SignalId};
use perennial_core::observation::LostRecords;
use perennial_core::text::Digest;
use perennial_core::time::Time;
use rusqlite::Connection;

use crate::chain::{Hash, Verified};
use crate::follow::{Follower, Head, Source};
use crate::journal::{AppendError, Batch, Done, Journal, ReadError, Seq, StoreError, Version};
use crate::projection::{
    IdsOf, Kept, Latest, MailQuery, MessageFault, MessageRow, MessageRows, MessagesOf, Projections,
    RosterQuery, RosterRow, Snapshot, SnapshotSet,
};
use crate::record::{EncodedBatch, Record, Unreadable};
use crate::signal_index::{SignalQuery, SignalRow};
use crate::task_rows::{TaskQuery, TaskRow};
use crate::text;
pub use open::OpenError;
pub use schema::SchemaError;
use writer::{Pending, Writer, WriterOrder};

pub struct SqliteJournal {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    lost: Option<LostRecords>,
}

/// What the writer, the readers and the followers share.
struct Shared {
    path: PathBuf,
    head: Head,
    files: files::Files,
    orders: Sender<WriterOrder>,
    /// `None` after an error: opened again by the next read.
    reader: Mutex<Option<Connection>>,
    quarantine: Mutex<BTreeMap<Seq, Unreadable>>,
    /// Set when a record became readable again that the snapshots were made without.
    snapshots_void: AtomicBool,
}

impl fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteJournal").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl SqliteJournal {
    /// Opens the journal at `path`, makes it if there is none, and checks the chain from where it
    /// was checked last.
    pub fn open(path: &Path) -> Result<SqliteJournal, OpenError> {
        let open::Opened { writer: connection, reader, head, found, healed, lost } =
            open::open(path)?;
        let (orders, received) = mpsc::channel();
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            head: Head::new(head.0, head.1),
            files: files::Files::of(path),
            orders,
            reader: Mutex::new(Some(reader)),
            snapshots_void: AtomicBool::new(!healed.is_empty()),
            quarantine: Mutex::new(found.iter().map(|one| (one.seq, one.clone())).collect()),
        });
        let pending = Pending::at_open(head, found, healed);
        let writer = Writer::new(connection, head, pending, Arc::clone(&shared))
            .map_err(|error| OpenError::at(path, error.into()))?;
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || writer.run(&received))
            .map_err(|source| OpenError::Thread { source })?;
        Ok(SqliteJournal { shared, writer: Mutex::new(Some(thread)), lost })
    }

    /// The newest records, if opening found that they are gone.
    pub fn lost(&self) -> Option<LostRecords> {
        self.lost
    }

    /// Checks a journal's file and its whole chain without writing; also beside a running daemon.
    pub fn inspect(path: &Path) -> Result<Inspection, OpenError> {
        open::inspect(path)
    }

    /// Writes a consistent copy of a journal to a file that does not exist yet; also beside a running daemon.
    pub fn copy(path: &Path, to: &Path) -> Result<(), OpenError> {
        open::copy(path, to)
    }
}

/// What `inspect` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// What SQLite says is wrong with the file; empty if nothing is.
    pub file_faults: Vec<String>,
    pub records: Verified,
    pub messages: Vec<MessageFault>,
    pub lost: Option<LostRecords>,
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        self.close();
    }
}

impl Journal for SqliteJournal {
    fn close(&self) {
        // What was queued before is written first. A writer that is gone has nothing left to close.
        let _ = self.shared.orders.send(WriterOrder::Close);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.shared.files.check()
    }

    fn append(&self, batch: Batch, done: Done) {
        let batch = EncodedBatch::of(&batch);
        if let Err(mpsc::SendError(order)) =
            self.shared.orders.send(WriterOrder::Append { batch, done })
            && let WriterOrder::Append { done, .. } = order
        {
            done(Err(AppendError::Closed));
        }
    }

    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.shared.read(after, limit)
    }

    fn read_stream(
        &self,
        stream: &Entity,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.shared.read_stream(stream, rows::From::After(after), limit)
    }

    fn read_stream_back(
        &self,
        stream: &Entity,
        before: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.shared.read_stream(stream, rows::From::Before(before), limit)
    }

    fn streams_before(&self, before: &Entity, limit: usize) -> Result<Vec<Record>, ReadError> {
        let records =
            self.shared.with_reader(|reader| Ok(rows::streams_before(reader, before, limit)?))?;
        self.shared.note(&records);
        Ok(records)
    }

    fn text(&self, digest: Digest) -> Result<Option<String>, ReadError> {
        let found = self.shared.with_reader(|reader| Ok(rows::text(reader, digest)?))?;
        Ok(found.filter(|body| text::digest(body) == digest))
    }

    fn head(&self) -> (Seq, Hash) {
        self.shared.head.get()
    }

    fn follow(&self, after: Seq) -> Follower {
        Follower::new(Arc::clone(&self.shared) as Arc<dyn Source>, after)
    }

    fn quarantine(&self) -> Vec<Unreadable> {
        let quarantine = self.shared.quarantine.lock().unwrap_or_else(PoisonError::into_inner);
        quarantine.values().cloned().collect()
    }
}

impl Projections for SqliteJournal {
    fn message(&self, id: MessageId) -> Result<Option<MessageRow>, ReadError> {
        self.shared.with_reader(|reader| messages::message(reader, id))
    }

    fn messages(&self, to: AgentId, limit: usize) -> Result<MessageRows, ReadError> {
        self.shared.with_reader(|reader| messages::messages(reader, to, limit))
    }

    fn messages_since(
        &self,
        whose: MessagesOf,
        changed: Time,
        behind: (Time, MessageId),
        limit: usize,
    ) -> Result<MessageRows, ReadError> {
        self.shared
            .with_reader(|reader| messages::messages_since(reader, whose, changed, behind, limit))
    }

    fn mail(
        &self,
        query: MailQuery<'_>,
        before: Option<(Time, MessageId)>,
        limit: usize,
    ) -> Result<MessageRows, ReadError> {
        self.shared.with_reader(|reader| messages::mail(reader, &query, before, limit))
    }

    fn signals(&self, query: &SignalQuery, limit: usize) -> Result<Vec<SignalRow>, ReadError> {
        self.shared.with_reader(|reader| signals::signals(reader, query, limit))
    }

    fn signal_place(&self, id: SignalId) -> Result<Option<Seq>, ReadError> {
        self.shared.with_reader(|reader| signals::place(reader, id))
    }

    fn ids_ending(&self, of: IdsOf, end: IdEnd, limit: usize) -> Result<Vec<u128>, ReadError> {
        self.shared.with_reader(|reader| id_ends::ids_ending(reader, of, end, limit))
    }

    fn tasks(&self, query: &TaskQuery) -> Result<Vec<TaskRow>, ReadError> {
        self.shared.with_reader(|reader| tasks::tasks(reader, query))
    }

    fn check_messages(&self) -> Result<Vec<MessageFault>, ReadError> {
        // A connection of its own: this takes time, and nobody else should wait for it.
        let faults = message_check::faults(&open::reader(&self.shared.path)?)?;
        let altered: Vec<MessageId> = faults.iter().filter_map(MessageFault::row).collect();
        if !altered.is_empty() {
            self.shared.order(WriterOrder::Messages(altered));
        }
        Ok(faults)
    }

    fn put_snapshots(&self, snapshots: Vec<Snapshot>, kept: Kept) {
        let order = WriterOrder::Snapshots { snapshots, kept };
        if let Err(mpsc::SendError(WriterOrder::Snapshots { kept, .. })) =
            self.shared.orders.send(order)
        {
            kept(false);
        }
    }

    fn snapshots(&self) -> Result<SnapshotSet, ReadError> {
        let none = SnapshotSet::default();
        if self.shared.snapshots_void.load(Ordering::Acquire) {
            return Ok(none);
        }
        self.shared.with_reader(|reader| {
            // One transaction: the set and its mark belong together.
            let reading = reader.unchecked_transaction()?;
            let covers = derived::covers(&reading)?;
            if covers == Seq(0) {
                return Ok(none);
            }
            let Some(snapshots) = derived::snapshots(&reading)? else { return Ok(none) };
            Ok(SnapshotSet { covers, snapshots, over: derived::over(&reading)? })
        })
    }

    fn snapshot(&self, stream: &Entity) -> Result<Option<Snapshot>, ReadError> {
        self.shared.with_reader(|reader| Ok(derived::snapshot(reader, stream)?))
    }

    fn put_latest(&self, latest: Vec<Latest>) {
        self.shared.order(WriterOrder::Latest(latest));
    }

    fn latest(&self, agents: &[AgentId]) -> Result<Vec<Latest>, ReadError> {
        self.shared.with_reader(|reader| derived::samples(reader, agents))
    }

    fn put_roster(&self, rows: Vec<RosterRow>) {
        self.shared.order(WriterOrder::Roster(rows));
    }

    fn roster(&self, query: RosterQuery<'_>) -> Result<Vec<RosterRow>, ReadError> {
        self.shared.with_reader(|reader| derived::roster(reader, query))
    }
}

impl Source for Shared {
    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        let records = self.with_reader(|reader| Ok(rows::read(reader, after, limit)?))?;
        self.note(&records);
        Ok(records)
    }

    fn head(&self) -> &Head {
        &self.head
    }
}

impl Shared {
    /// For what nobody waits for: a writer that is gone is told by the next append.
    fn order(&self, order: WriterOrder) {
        let _ = self.orders.send(order);
    }

    fn read_stream(
        &self,
        stream: &Entity,
        from: rows::From,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let records =
            self.with_reader(|reader| Ok(rows::read_stream(reader, stream, from, limit)?))?;
        self.note(&records);
        Ok(records)
    }

    fn with_reader<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match reader.take() {
            Some(connection) => connection,
            None => open::reader(&self.path)?,
        };
        let result = read(&connection);
        match &result {
            Err(ReadError::Store(StoreError::Io(_) | StoreError::Damaged(_))) => {}
            Ok(_) | Err(_) => *reader = Some(connection),
        }
        result
    }

    /// Keeps what could not be read in the quarantine.
    fn note(&self, records: &[Record]) {
        let mut quarantine = self.quarantine.lock().unwrap_or_else(PoisonError::into_inner);
        for unreadable in records.iter().filter_map(|record| record.event.as_ref().err()) {
            if quarantine.get(&unreadable.seq) != Some(unreadable) {
                quarantine.insert(unreadable.seq, unreadable.clone());
                self.order(WriterOrder::Quarantine(unreadable.clone()));
            }
        }
    }
}
