//! The one thread that writes: it takes all that has queued, commits it at once, and answers.
//!
//! Invariants
//! - W1  Answers are given after COMMIT has returned, in the order of the records.
//! - W2  Derived rows never cost a commit of their own while appends come.
//! - W3  Nothing is written on top of a chain that another program broke, nor to files that have other names now.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, MessageId, NodeId};
use rusqlite::{Connection, ErrorCode};

use super::head_file::HeadFile;
use super::{Shared, derived, message_check, messages, open, rows, signals, tasks};
use crate::chain::Hash;
use crate::journal::{AppendError, Done, Seq, StoreError, Version};
use crate::projection::{Kept, Latest, MessageChange, RosterRow, Snapshot};
use crate::record::{Damage, EncodedBatch, Grounds, Unreadable, has_snapshots, stream_key};

/// One commit carries at most this many orders: the first of them should not wait for long.
const GROUP_ORDERS: usize = 1024;
/// Derived rows that no append takes along are written after this.
const DERIVED_WAIT: Duration = Duration::from_secs(1);
/// … or after this many of their orders.
const DERIVED_ORDERS: usize = 64;
/// The log is brought into the file at this many pages when nothing is queued …
const CHECKPOINT_PAGES: i64 = 1000;
/// … and at this many in any case.
const CHECKPOINT_PAGES_AT_ONCE: i64 = 8000;

pub(super) enum WriterOrder {
    Append {
        batch: Result<EncodedBatch, AppendError>,
        done: Done,
    },
    Snapshots {
        snapshots: Vec<Snapshot>,
        kept: Kept,
    },
    Latest(Vec<Latest>),
    Roster(Vec<RosterRow>),
    Quarantine(Unreadable),
    /// To be made again from their records.
    Messages(Vec<MessageId>),
    Close,
}

/// The versions of this many streams are kept in memory; all are dropped when there are more.
const VERSIONS_MAX: usize = 4096;

/// Derived rows that wait for a commit; of each agent only the latest.
#[derive(Default)]
pub(super) struct Pending {
    orders: usize,
    samples: HashMap<AgentId, Latest>,
    roster: HashMap<AgentId, RosterRow>,
    quarantined: BTreeMap<Seq, Unreadable>,
    healed: Vec<Seq>,
    messages: BTreeSet<MessageId>,
    verified: Option<(Seq, Hash)>,
}

impl Pending {
    /// What opening found, to be written with the first commit.
    pub fn at_open(head: (Seq, Hash), found: Vec<Unreadable>, healed: Vec<Seq>) -> Pending {
        let quarantined = found.into_iter().map(|record| (record.seq, record)).collect();
        Pending { quarantined, healed, verified: Some(head), ..Pending::default() }
    }

    fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.samples.values().try_for_each(|sample| derived::put_sample(connection, sample))?;
        self.roster.values().try_for_each(|row| derived::put_roster(connection, row))?;
        self.healed.iter().try_for_each(|seq| rows::drop_quarantined(connection, *seq))?;
        if !self.healed.is_empty() {
            // They were made beside the damage; once its mark is gone, nothing else would say so.
            derived::drop_covers(connection)?;
        }
        for message in &self.messages {
            let row = message_check::remade(connection, *message)?;
            let change = row.map(MessageChange::New);
            change.map_or(Ok(()), |change| messages::put_message(connection, &change))?;
        }
        self.quarantined
            .values()
            .try_for_each(|record| rows::put_quarantined(connection, record))?;
        self.verified.map_or(Ok(()), |place| rows::put_mark(connection, open::VERIFIED, place))
    }
}

/// What one commit carries.
#[derive(Default)]
struct Group {
    works: Vec<Work>,
    /// Of the appends among the works, in their order.
    dones: Vec<Done>,
    /// Of the sets of snapshots among the works, in their order.
    kepts: Vec<Kept>,
    /// Commit now, whatever there is.
    due: bool,
    /// Nothing comes after it.
    last: bool,
}

/// What became of a group's works.
#[derive(Default)]
struct Written {
    answers: Vec<Result<Seq, AppendError>>,
    /// Whether each set of snapshots was kept.
    sets: Vec<bool>,
}

enum Work {
    Append(Result<EncodedBatch, AppendError>),
    Snapshots(Vec<Snapshot>),
}

pub(super) struct Writer {
    shared: Arc<Shared>,
    /// `None` after an error.
    connection: Option<Connection>,
    /// Changes when another connection writes; `None` for a connection not looked through yet.
    data_version: Option<i64>,
    /// Another program wrote, and the whole chain has not been found good since.
    edited: bool,
    head: (Seq, Hash),
    head_file: HeadFile,
    /// Of streams written to by this thread; others are looked up.
    versions: HashMap<Entity, Version>,
    /// Answers that were errors.
    last_taken: Option<u64>,
    /// The end of the last set of snapshots that was kept in this run.
    covered: Option<(Seq, Hash)>,
    pending: Pending,
}

impl Writer {
    pub fn new(
        connection: Connection,
        head: (Seq, Hash),
        pending: Pending,
        shared: Arc<Shared>,
    ) -> rusqlite::Result<Writer> {
        let data_version = Some(data_version(&connection)?);
        let (connection, versions) = (Some(connection), HashMap::new());
        let head_file = HeadFile::open(&shared.path);
        Ok(Writer {
            shared,
            connection,
            data_version,
            edited: false,
            head,
            head_file,
            versions,
            last_taken: None,
            covered: None,
            pending,
        })
    }

    pub fn run(mut self, orders: &Receiver<WriterOrder>) {
        loop {
            let group = self.gather(orders);
            let last = group.last;
            let full = group.works.len() >= GROUP_ORDERS;
            self.commit(group);
            self.checkpoint(full);
            if last {
                break;
            }
        }
        self.shared.files.let_go();
        // Best effort: what is in the log is as durable as what is in the file.
        if let Some(connection) = &self.connection {
            let _ = checkpoint(connection, "TRUNCATE");
        }
    }

    /// Waits for something worth a commit, and takes all that has queued.
    fn gather(&mut self, orders: &Receiver<WriterOrder>) -> Group {
        let mut group = Group::default();
        while group.works.is_empty() && !group.due && !group.last {
            let next = if self.pending.orders == 0 {
                orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                orders.recv_timeout(DERIVED_WAIT)
            };
            match next {
                Ok(order) => self.take(order, &mut group),
                Err(RecvTimeoutError::Timeout) => group.due = true,
                Err(RecvTimeoutError::Disconnected) => group.last = true,
            }
        }
        while group.works.len() < GROUP_ORDERS
            && !group.last
            && let Ok(order) = orders.try_recv()
        {
            self.take(order, &mut group);
        }
        group
    }

    fn take(&mut self, order: WriterOrder, group: &mut Group) {
        let pending = &mut self.pending;
        match order {
            WriterOrder::Append { batch, done } => {
                group.works.push(Work::Append(batch));
                group.dones.push(done);
                return;
            }
            WriterOrder::Snapshots { snapshots, kept } => {
                group.works.push(Work::Snapshots(snapshots));
                group.kepts.push(kept);
                return;
            }
            WriterOrder::Latest(samples) => {
                pending.samples.extend(samples.into_iter().map(|sample| (sample.agent, sample)));
            }
            WriterOrder::Roster(rows) => {
                pending.roster.extend(rows.into_iter().map(|row| (row.agent, row)));
            }
            WriterOrder::Quarantine(record) => {
                pending.quarantined.insert(record.seq, record);
            }
            WriterOrder::Messages(messages) => pending.messages.extend(messages),
            WriterOrder::Close => {
                group.last = true;
                return;
            }
        }
        pending.orders += 1;
        group.due |= pending.orders >= DERIVED_ORDERS;
    }

    fn commit(&mut self, group: Group) {
        // Where the files are not, the connection is kept: it may be all that still has them.
        if let Err(fault) = self.shared.files.check() {
            return refuse(group.dones, group.kepts, &fault);
        }
        let connection = match self.connection.take() {
            Some(connection) => Ok(connection),
            None => open::writer(&self.shared.path).map_err(StoreError::from),
        };
        let written = connection.and_then(|connection| {
            let answers = self.write(&connection, group.works)?;
            self.connection = Some(connection);
            Ok(answers)
        });
        match written {
            Ok(Written { answers, sets }) => {
                if sets.contains(&true) {
                    self.shared.snapshots_void.store(false, Ordering::Release);
                }
                if self.shared.head.get().0 != self.head.0 {
                    self.head_file.write(self.head);
                    self.shared.head.advance(self.head.0, self.head.1);
                }
                group.dones.into_iter().zip(answers).for_each(|(done, answer)| done(answer));
                group.kepts.into_iter().zip(sets).for_each(|(kept, is_kept)| kept(is_kept));
                if self.versions.len() > VERSIONS_MAX {
                    self.versions.clear();
                }
            }
            Err(fault) => {
                // The connection is dropped by now, and its transaction with it.
                self.data_version = None;
                self.versions.clear();
                refuse(group.dones, group.kepts, &fault);
            }
        }
    }

    /// One transaction; on an error nothing of it is to be believed, the connection included.
    fn write(&mut self, connection: &Connection, works: Vec<Work>) -> Result<Written, StoreError> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.look_through(connection)?;
        let mut head = self.head;
        let mut last_taken = self.last_taken;
        let mut covered = self.covered;
        let mut written = Written::default();
        for work in works {
            match work {
                Work::Append(batch) => {
                    let answer = match batch {
                        Ok(batch) => self.append(connection, batch, &mut last_taken, &mut head)?,
                        Err(refused) => Err(refused),
                    };
                    written.answers.push(answer);
                }
                Work::Snapshots(snapshots) => {
                    let is_kept = self.put_snapshots(connection, &snapshots, head)?;
                    if is_kept {
                        // What this thread has linked need not be checked for ever: the next
                        // opening begins where the set before this one ended.
                        self.pending.verified = covered.or(self.pending.verified);
                        covered = Some(head);
                    }
                    written.sets.push(is_kept);
                }
            }
        }
        self.pending.write(connection)?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        self.head = head;
        self.last_taken = last_taken;
        self.covered = covered;
        self.pending = Pending::default();
        Ok(written)
    }

    /// The set holds up to `head`, if it knows all that has been appended until there: every
    /// stream that changed since the last set that was kept, at the version that it has now.
    fn put_snapshots(
        &mut self,
        connection: &Connection,
        snapshots: &[Snapshot],
        head: (Seq, Hash),
    ) -> rusqlite::Result<bool> {
        for Snapshot { stream, version, state, .. } in snapshots {
            if state.is_some() && self.version(connection, stream)? != *version {
                return Ok(false);
            }
        }
        let is_void = self.shared.snapshots_void.load(Ordering::Acquire);
        let covers = if is_void { Seq(0) } else { derived::covers(connection)? };
        let given: HashSet<Vec<u8>> = snapshots.iter().map(|one| stream_key(&one.stream)).collect();
        let changed = match rows::streams_after(connection, covers) {
            Ok(changed) => changed,
            // Where a page is damaged nothing can be said of what has changed.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if !changed.iter().all(|key| given.contains(key) || !has_snapshots(key)) {
            return Ok(false);
        }
        derived::put_snapshots(connection, head, snapshots)?;
        Ok(true)
    }

    fn version(&self, connection: &Connection, stream: &Entity) -> rusqlite::Result<Version> {
        match self.versions.get(stream) {
            Some(version) => Ok(*version),
            None => rows::version(connection, stream),
        }
    }

    fn append(
        &mut self,
        connection: &Connection,
        mut batch: EncodedBatch,
        last_taken: &mut Option<u64>,
        head: &mut (Seq, Hash),
    ) -> Result<Result<Seq, AppendError>, rusqlite::Error> {
        let after = match batch.admit(&Ground { writer: self, connection, last_taken: *last_taken })
        {
            Ok(after) => after,
            Err(NotTaken::Refused(why)) => return Ok(Err(why)),
            Err(NotTaken::Failed(error)) => return Err(error),
        };
        *last_taken = batch.link.map(|link| link.number).or(*last_taken);
        for text in &batch.texts {
            rows::put_text(connection, text)?;
        }
        for change in &batch.messages {
            messages::put_message(connection, change)?;
        }
        for change in &batch.tasks {
            tasks::put_task(connection, change)?;
        }
        let mut entries = std::mem::take(&mut batch.signals).into_iter().peekable();
        for (position, row) in batch.rows(*head, &after).into_iter().enumerate() {
            rows::insert(connection, &row)?;
            if let Some(entry) = entries.next_if(|entry| entry.position == position) {
                signals::put(connection, &entry, &row)?;
            }
            *head = (row.seq, row.hash.unwrap_or(Hash::GENESIS));
        }
        self.versions.extend(after.into_iter().filter(|(stream, _)| stream.is_counted()));
        Ok(Ok(head.0))
    }

    /// Finds out what the disk holds after an error, and whether another program wrote to it.
    fn look_through(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let data_version = data_version(connection)?;
        if self.data_version == Some(data_version) {
            return Ok(());
        }
        self.edited |= self.data_version.is_some();
        let (at, hash) = self.head;
        if rows::hash_at(connection, at)? != Some(hash) {
            return Err(StoreError::Edited { at });
        }
        // A new connection after an error: only the end can differ. An edit can be anywhere.
        let from = if self.edited { Seq(0) } else { at };
        let known: Vec<Seq> = {
            let quarantine = self.shared.quarantine.lock();
            let quarantine = quarantine.unwrap_or_else(std::sync::PoisonError::into_inner);
            quarantine.keys().copied().collect()
        };
        for unreadable in open::walk(connection, from)?.unreadable {
            let broken = matches!(
                unreadable.why,
                Damage::Altered | Damage::Missing { .. } | Damage::Damaged
            );
            if broken && !known.contains(&unreadable.seq) {
                return Err(StoreError::Edited { at: unreadable.seq });
            }
        }
        self.head = rows::head(connection)?;
        self.versions.clear();
        self.edited = false;
        self.data_version = Some(data_version);
        Ok(())
    }

    /// Brings the log into the file, after the answers, so that hardly any commit waits for it.
    fn checkpoint(&mut self, more_waits: bool) {
        let Some(connection) = &self.connection else { return };
        let limit = if more_waits { CHECKPOINT_PAGES_AT_ONCE } else { CHECKPOINT_PAGES };
        let done = match checkpoint(connection, "NOOP") {
            Ok(pages) if pages >= limit => checkpoint(connection, "PASSIVE"),
            other => other,
        };
        if done.is_err() {
            self.connection = None;
            self.data_version = None;
        }
    }
}

/// Nothing of a group is written.
fn refuse(dones: Vec<Done>, kepts: Vec<Kept>, fault: &StoreError) {
    for done in dones {
        done(Err(AppendError::Store(fault.clone())));
    }
    kepts.into_iter().for_each(|kept| kept(false));
}

/// What is in the database now, and in the transaction that is open.
struct Ground<'a> {
    writer: &'a Writer,
    connection: &'a Connection,
    last_taken: Option<u64>,
}

/// Why an append is not written.
enum NotTaken {
    Refused(AppendError),
    Failed(rusqlite::Error),
}

impl From<AppendError> for NotTaken {
    fn from(error: AppendError) -> NotTaken {
        NotTaken::Refused(error)
    }
}

impl Grounds for Ground<'_> {
    type Error = NotTaken;

    /// A file has one writer.
    fn last_taken(&self, _writer: NodeId) -> Option<u64> {
        self.last_taken
    }

    fn version(&self, stream: &Entity) -> Result<Version, NotTaken> {
        self.writer.version(self.connection, stream).map_err(NotTaken::Failed)
    }

    fn since(&self, stream: &Entity, seq: Seq) -> Result<u64, NotTaken> {
        rows::count_since(self.connection, stream, seq).map_err(NotTaken::Failed)
    }
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Returns how many pages the log has.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    statement.query_row([], |row| row.get(1))
}
