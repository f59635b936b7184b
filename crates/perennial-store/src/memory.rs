//! The journal in memory, for tests and the simulation: the same contract, without a thread, and
//! with faults on order.
//!
//! `new` commits at once, within `append`. `held` commits when told to, so that a simulation has
//! every order of events in its hand; `crash` is the loss of all that was not committed.

mod grounds;
mod signals;
mod snapshots;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, IdEnd, MessageId, NodeId, SignalId};
use perennial_core::name::NameKey;
use perennial_core::state::Roster;
use perennial_core::text::Digest;
use perennial_core::time::Time;

use crate::chain::Hash;
use crate::follow::{Follower, Head, Source};
use crate::journal::{AppendError, Batch, Done, Journal, ReadError, Seq, StoreError, Version};
use crate::projection::{
    IdsOf, Kept as KeptDone, Latest, MailQuery, MessageChange, MessageFault, MessageRow,
    MessageRows, MessagesOf, Projections, RosterQuery, RosterRow, Snapshot, SnapshotSet,
};
use signals::Signals;

use crate::record::{EncodedBatch, Record, Row, Unreadable, read_rows, stream_key};
use crate::signal_index::{self, SignalQuery, SignalRow};
use crate::task_rows::{self, TaskQuery, TaskRow, TaskTable};

pub struct MemoryJournal {
    shared: Arc<Shared>,
}

struct Shared {
    head: Head,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    rows: BTreeMap<Seq, Row>,
    versions: HashMap<Entity, Version>,
    texts: HashMap<Digest, Arc<str>>,
    messages: BTreeMap<MessageId, MessageRow>,
    signals: Signals,
    tasks: TaskTable,
    /// The record up to which the snapshots hold.
    covers: Seq,
    snapshots: BTreeMap<Entity, Snapshot>,
    samples: BTreeMap<AgentId, Latest>,
    roster: BTreeMap<AgentId, RosterRow>,
    quarantine: BTreeMap<Seq, Unreadable>,
    /// Commit only when told to.
    held: bool,
    queue: VecDeque<Work>,
    /// Answers that are due, in commit order.
    answers: VecDeque<Box<dyn FnOnce() + Send>>,
    /// Somebody is giving the answers out.
    answering: bool,
    /// Appends that came to be committed, failed ones included.
    tried: u64,
    /// The last append of each writer that was taken.
    last_taken: BTreeMap<NodeId, u64>,
    failing: BTreeSet<u64>,
    full: bool,
}

enum Work {
    Append { batch: Result<EncodedBatch, AppendError>, done: Done },
    Snapshots { snapshots: Vec<Snapshot>, kept: KeptDone },
    Latest(Vec<Latest>),
    Roster(Vec<RosterRow>),
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal").field("head", &self.shared.head.get()).finish()
    }
}

impl Default for MemoryJournal {
    fn default() -> MemoryJournal {
        MemoryJournal::new()
    }
}

impl MemoryJournal {
    /// Commits at once.
    pub fn new() -> MemoryJournal {
        MemoryJournal::with(Kept::default())
    }

    /// Commits when `commit` says so.
    pub fn held() -> MemoryJournal {
        MemoryJournal::with(Kept { held: true, ..Kept::default() })
    }

    fn with(kept: Kept) -> MemoryJournal {
        let head = Head::new(Seq(0), Hash::GENESIS);
        MemoryJournal { shared: Arc::new(Shared { head, kept: Mutex::new(kept) }) }
    }

    /// Commits the first `count` of what is queued and answers; returns how much is still queued.
    pub fn commit(&self, count: usize) -> usize {
        let left = {
            let mut kept = self.shared.lock();
            for _ in 0..count {
                self.shared.step(&mut kept);
            }
            kept.queue.len()
        };
        self.shared.answer();
        left
    }

    /// How much is queued.
    pub fn queued(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// The program dies: the first `count` of what is queued is in the journal all the same, the
    /// rest is not, and nobody is answered.
    pub fn crash(&self, count: usize) {
        let mut kept = self.shared.lock();
        for _ in 0..count {
            self.shared.step(&mut kept);
        }
        kept.queue.clear();
        kept.answers.clear();
    }

    /// Has the `nth` append that comes to be committed from now on fail; 1 is the next.
    pub fn fail_append(&self, nth: u64) {
        let mut kept = self.shared.lock();
        let number = kept.tried + nth;
        kept.failing.insert(number);
    }

    /// While it is full every append fails.
    pub fn set_full(&self, full: bool) {
        self.shared.lock().full = full;
    }

    /// Flips the lowest bit of the last byte of a record's payload.
    pub fn flip(&self, seq: Seq) {
        if let Some(row) = self.shared.lock().rows.get_mut(&seq)
            && let Some(byte) = row.payload.last_mut()
        {
            *byte ^= 1;
        }
    }

    fn queue(&self, work: Work) {
        {
            let mut kept = self.shared.lock();
            kept.queue.push_back(work);
            if !kept.held {
                self.shared.step(&mut kept);
            }
        }
        self.shared.answer();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits the oldest of what is queued; its answer becomes due.
    fn step(&self, kept: &mut Kept) {
        match kept.queue.pop_front() {
            Some(Work::Append { batch, done }) => {
                kept.tried += 1;
                let failed = kept.failing.remove(&kept.tried) || kept.full;
                let answer = if failed {
                    Err(AppendError::Store(StoreError::Injected))
                } else {
                    batch.and_then(|batch| self.append(kept, batch))
                };
                kept.answers.push_back(Box::new(move || done(answer)));
            }
            Some(Work::Snapshots { snapshots, kept: done }) => {
                let is_kept = kept.put_snapshots(snapshots, self.head.get().0);
                kept.answers.push_back(Box::new(move || done(is_kept)));
            }
            Some(Work::Latest(samples)) => {
                kept.samples.extend(samples.into_iter().map(|sample| (sample.agent, sample)));
            }
            Some(Work::Roster(rows)) => {
                kept.roster.extend(rows.into_iter().map(|row| (row.agent, row)));
            }
            None => {}
        }
    }

    fn append(&self, kept: &mut Kept, mut batch: EncodedBatch) -> Result<Seq, AppendError> {
        let after = batch.admit(kept)?;
        kept.last_taken.extend(batch.link.map(|link| (link.writer, link.number)));
        let texts = batch.texts.iter().map(|text| (text.text.digest, Arc::clone(&text.body)));
        kept.texts.extend(texts);
        batch.messages.iter().for_each(|change| kept.change(change));
        batch.tasks.iter().for_each(|change| task_rows::change(&mut kept.tasks, change));
        let mut head = self.head.get();
        let mut entries = std::mem::take(&mut batch.signals).into_iter().peekable();
        for (position, row) in batch.rows(head, &after).into_iter().enumerate() {
            kept.signals.extend(entries.next_if(|one| one.position == position), &row);
            head = (row.seq, row.hash.unwrap_or(Hash::GENESIS));
            kept.rows.insert(row.seq, row);
        }
        kept.versions.extend(after);
        self.head.advance(head.0, head.1);
        Ok(head.0)
    }

    /// Gives out what is due. One thread at a time, so that the order holds; none holds the lock
    /// meanwhile, since an answer may lead to the next append.
    fn answer(&self) {
        {
            let mut kept = self.lock();
            if kept.answering {
                return;
            }
            kept.answering = true;
        }
        loop {
            let due = {
                let mut kept = self.lock();
                let due = kept.answers.pop_front();
                kept.answering = due.is_some();
                due
            };
            match due {
                Some(answer) => answer(),
                None => return,
            }
        }
    }
}

impl Source for Shared {
    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        let mut kept = self.lock();
        let previous = match after {
            Seq(0) => Some(Hash::GENESIS),
            _ => kept.rows.get(&after).and_then(|row| row.hash),
        };
        let later = (Bound::Excluded(after), Bound::Unbounded);
        let rows = kept.rows.range(later).take(limit).map(|(_, row)| row.clone());
        let records = read_rows(after, previous, rows.collect());
        kept.note(&records);
        Ok(records)
    }

    fn head(&self) -> &Head {
        &self.head
    }
}

impl Kept {
    fn change(&mut self, change: &MessageChange) {
        let message = change.message();
        let row = change.clone().applied(self.messages.remove(&message));
        self.messages.extend(row.map(|row| (message, row)));
    }

    /// Reads rows that need not follow each other.
    fn read_singly(&mut self, rows: Vec<Row>) -> Vec<Record> {
        let read = |row: Row| {
            let before = Seq(row.seq.0 - 1);
            let previous = match before {
                Seq(0) => Some(Hash::GENESIS),
                _ => self.rows.get(&before).and_then(|row| row.hash),
            };
            row.read(previous)
        };
        let records: Vec<Record> = rows.into_iter().map(read).collect();
        self.note(&records);
        records
    }

    fn note(&mut self, records: &[Record]) {
        let unreadable = records.iter().filter_map(|record| record.event.as_ref().err());
        self.quarantine.extend(unreadable.map(|one| (one.seq, one.clone())));
    }
}

impl Journal for MemoryJournal {
    fn append(&self, batch: Batch, done: Done) {
        self.queue(Work::Append { batch: EncodedBatch::of(&batch), done });
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
        let mut kept = self.shared.lock();
        let key = stream_key(stream);
        let of_stream = |row: &&Row| row.stream == key && row.version > after.0;
        let rows: Vec<Row> = kept.rows.values().filter(of_stream).take(limit).cloned().collect();
        Ok(kept.read_singly(rows))
    }

    fn streams_before(&self, before: &Entity, limit: usize) -> Result<Vec<Record>, ReadError> {
        let mut kept = self.shared.lock();
        let key = stream_key(before);
        let is_wanted =
            |row: &&Row| row.stream[..1] == key[..1] && row.stream < key && row.version == 1;
        let mut rows: Vec<Row> = kept.rows.values().filter(is_wanted).cloned().collect();
        rows.sort_by(|one, other| other.stream.cmp(&one.stream));
        rows.truncate(limit);
        Ok(kept.read_singly(rows))
    }

    fn read_stream_back(
        &self,
        stream: &Entity,
        before: Version,
        limit: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let last = self.shared.lock().versions.get(stream).copied().unwrap_or_default();
        let end = last.0.min(before.0.saturating_sub(1));
        let first = end.saturating_sub(limit as u64);
        let mut records =
            self.read_stream(stream, Version(first), usize::try_from(end - first).unwrap_or(0))?;
        records.reverse();
        Ok(records)
    }

    fn text(&self, digest: Digest) -> Result<Option<String>, ReadError> {
        Ok(self.shared.lock().texts.get(&digest).map(|body| body.to_string()))
    }

    fn head(&self) -> (Seq, Hash) {
        self.shared.head.get()
    }

    fn follow(&self, after: Seq) -> Follower {
        Follower::new(Arc::clone(&self.shared) as Arc<dyn Source>, after)
    }

    fn quarantine(&self) -> Vec<Unreadable> {
        self.shared.lock().quarantine.values().cloned().collect()
    }
}

impl Projections for MemoryJournal {
    fn message(&self, id: MessageId) -> Result<Option<MessageRow>, ReadError> {
        Ok(self.shared.lock().messages.get(&id).cloned())
    }

    fn messages(&self, to: AgentId, limit: usize) -> Result<MessageRows, ReadError> {
        let kept = self.shared.lock();
        let mut rows: Vec<MessageRow> =
            kept.messages.values().filter(|row| row.mailbox == to.into()).cloned().collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.recorded_at, row.message)));
        rows.truncate(limit);
        Ok(MessageRows { rows, unreadable: 0 })
    }

    fn messages_since(
        &self,
        whose: MessagesOf,
        changed: Time,
        behind: (Time, MessageId),
        limit: usize,
    ) -> Result<MessageRows, ReadError> {
        let kept = self.shared.lock();
        let mut rows: Vec<MessageRow> =
            kept.messages.values().filter(|row| row.is_of(whose)).cloned().collect();
        rows.retain(|row| row.changed_at >= changed && (row.recorded_at, row.message) > behind);
        rows.sort_by_key(|row| (row.recorded_at, row.message));
        rows.truncate(limit);
        Ok(MessageRows { rows, unreadable: 0 })
    }

    fn mail(
        &self,
        query: MailQuery<'_>,
        before: Option<(Time, MessageId)>,
        limit: usize,
    ) -> Result<MessageRows, ReadError> {
        let kept = self.shared.lock();
        let is_asked = |row: &&MessageRow| match &query {
            MailQuery::To(mailbox) => row.mail.is_some() && row.mailbox == **mailbox,
            MailQuery::From(sender) => row.mail.is_some() && row.sender == *sender,
            MailQuery::Thread(thread) => {
                row.mail.as_ref().is_some_and(|mail| mail.thread == *thread)
            }
        };
        let mut rows: Vec<MessageRow> = kept.messages.values().filter(is_asked).cloned().collect();
        rows.retain(|row| before.is_none_or(|before| (row.recorded_at, row.message) < before));
        rows.sort_by_key(|row| std::cmp::Reverse((row.recorded_at, row.message)));
        rows.truncate(limit);
        Ok(MessageRows { rows, unreadable: 0 })
    }

    /// Nobody but this program can write to its memory.
    fn signals(&self, query: &SignalQuery, limit: usize) -> Result<Vec<SignalRow>, ReadError> {
        let found = self.shared.lock().signals.found(query, limit);
        let row = |(seq, id, entry): (Seq, SignalId, signal_index::Entry)| {
            let records = self.shared.read(Seq(seq.0 - 1), 1)?;
            let row = |it| signal_index::row(it, (id, entry.kind), entry.session);
            Ok(records.first().and_then(row))
        };
        found.into_iter().filter_map(|one| row(one).transpose()).collect()
    }

    fn signal_place(&self, id: SignalId) -> Result<Option<Seq>, ReadError> {
        Ok(self.shared.lock().signals.place(id))
    }

    fn ids_ending(&self, of: IdsOf, end: IdEnd, limit: usize) -> Result<Vec<u128>, ReadError> {
        let kept = self.shared.lock();
        let mut ids: Vec<u128> = match of.first().map(|first| stream_key(&first)) {
            Some(key) => {
                let is_first = |row: &&Row| row.stream[..1] == key[..1] && row.version == 1;
                let id = |row: &Row| Some(u128::from_be_bytes(row.stream[1..].try_into().ok()?));
                kept.rows.values().filter(is_first).filter_map(id).collect()
            }
            None => kept.signals.ids().collect(),
        };
        ids.retain(|id| end.is_of(*id));
        ids.sort_unstable();
        ids.truncate(limit);
        Ok(ids)
    }

    fn tasks(&self, query: &TaskQuery) -> Result<Vec<TaskRow>, ReadError> {
        Ok(task_rows::find(&self.shared.lock().tasks, query))
    }

    fn check_messages(&self) -> Result<Vec<MessageFault>, ReadError> {
        Ok(Vec::new())
    }

    fn put_snapshots(&self, snapshots: Vec<Snapshot>, kept: KeptDone) {
        self.queue(Work::Snapshots { snapshots, kept });
    }

    fn snapshots(&self) -> Result<SnapshotSet, ReadError> {
        let kept = self.shared.lock();
        let (over, living): (Vec<_>, Vec<_>) = kept.snapshots.values().partition(|one| one.is_over);
        let snapshots = living.into_iter().cloned().collect();
        Ok(SnapshotSet { covers: kept.covers, snapshots, over: over.len() as u64 })
    }

    fn snapshot(&self, stream: &Entity) -> Result<Option<Snapshot>, ReadError> {
        Ok(self.shared.lock().snapshots.get(stream).cloned())
    }

    fn put_latest(&self, latest: Vec<Latest>) {
        self.queue(Work::Latest(latest));
    }

    fn latest(&self, agents: &[AgentId]) -> Result<Vec<Latest>, ReadError> {
        let kept = self.shared.lock();
        Ok(agents.iter().filter_map(|agent| kept.samples.get(agent).copied()).collect())
    }

    fn put_roster(&self, rows: Vec<RosterRow>) {
        self.queue(Work::Roster(rows));
    }

    fn roster(&self, query: RosterQuery<'_>) -> Result<Vec<RosterRow>, ReadError> {
        let kept = self.shared.lock();
        Ok(match query {
            RosterQuery::Of(agents) => {
                agents.iter().filter_map(|agent| kept.roster.get(agent).cloned()).collect()
            }
            RosterQuery::Buried { name, limit } => {
                let is_named = |row: &&RosterRow| {
                    let own = row.name.as_deref().map(NameKey::of);
                    row.state.roster() == Roster::Cemetery && own.as_ref() == Some(name)
                };
                let mut rows: Vec<&RosterRow> = kept.roster.values().filter(is_named).collect();
                rows.sort_by_key(|row| Reverse((row.named_at, row.agent)));
                rows.into_iter().take(limit).cloned().collect()
            }
            RosterQuery::InState { state, before, limit } => {
                let is_before = |row: &RosterRow| before.is_none_or(|it| row.agent < it);
                let of_state = kept.roster.values().rev().filter(|row| row.state == state);
                of_state.filter(|row| is_before(row)).take(limit).cloned().collect()
            }
        })
    }
}
