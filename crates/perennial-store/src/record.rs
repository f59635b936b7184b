//! One record: as it lies in the store (`Row`), and as it is read (`Record`).
//!
//! Invariants
//! - K1  Reading never fails on what a row holds: a bad row becomes a record that says so.
//! - K2  A gap in the sequence becomes one record that stands for all that is missing.

use std::collections::BTreeMap;

use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::id::{
    AgentId, EscalationId, JobId, MessageId, NodeId, PostId, SignalId, TaskId,
};
use perennial_core::name::Name;
use perennial_core::text::TextBody;
use perennial_core::time::Time;

use crate::chain::{self, Hash};
use crate::journal::{AppendError, Batch, Expected, Link, Seq, Version};
use crate::projection::MessageChange;
use crate::signal_index;
use crate::stored::{self, Encoded};
use crate::task_rows::TaskChange;
use crate::text::LONGEST_TEXT_BYTES;

/// A record's payload is at most this long.
pub const LONGEST_PAYLOAD_BYTES: usize = 1 << 20;

/// One record of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    /// `None`: the stream is of a kind that this program does not know.
    pub stream: Option<Entity>,
    pub version: Version,
    pub at: Time,
    pub prev_hash: Hash,
    pub hash: Hash,
    pub event: Result<Event, Unreadable>,
}

/// A record that can't be read. Its bytes stay where they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record {seq} ({kind} v{form}) can't be read: {why}")]
pub struct Unreadable {
    pub seq: Seq,
    pub stream: Option<Entity>,
    pub version: Version,
    pub at: Time,
    /// As far as it can be made out, at most 64 characters.
    pub kind: String,
    pub form: u64,
    pub why: Damage,
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("it is missing, with all records from {from}")]
    Missing { from: Seq },
    #[error("its hash does not match: this record or the one before it was altered")]
    Altered,
    #[error("the file is damaged")]
    Damaged,
    #[error("its stream is of an unknown kind")]
    UnknownStream,
    #[error("its kind is unknown: a newer program may have written it")]
    UnknownKind,
    #[error("its form is newer than {known}: a newer program wrote it")]
    NewerForm { known: u32 },
    #[error("{0}")]
    Malformed(String),
}

/// A record as it lies in the store, nothing believed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub seq: Seq,
    pub stream: Vec<u8>,
    pub version: u64,
    pub at: u64,
    pub kind: Vec<u8>,
    pub form: u64,
    pub payload: Vec<u8>,
    /// `None`: not the length of a hash.
    pub hash: Option<Hash>,
}

/// Reads rows that follow each other; `previous` is the hash of the record at `after`.
pub(crate) fn read_rows(after: Seq, previous: Option<Hash>, rows: Vec<Row>) -> Vec<Record> {
    let (mut after, mut previous) = (after, previous);
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        let expected = Seq(after.0 + 1);
        if row.seq > expected {
            records.push(missing(expected, Seq(row.seq.0 - 1)));
            previous = None;
        }
        after = row.seq;
        let hash = row.hash;
        records.push(row.read(previous));
        previous = hash;
    }
    records
}

fn missing(from: Seq, through: Seq) -> Record {
    unread(through, Damage::Missing { from })
}

/// The record at `seq`, of which nothing is known but that it can't be read.
pub(crate) fn unread(seq: Seq, why: Damage) -> Record {
    let unreadable = Unreadable {
        seq,
        stream: None,
        version: Version(0),
        at: Time(0),
        kind: String::new(),
        form: 0,
        why,
    };
    Record {
        seq,
        stream: None,
        version: Version(0),
        at: Time(0),
        prev_hash: Hash::GENESIS,
        hash: Hash::GENESIS,
        event: Err(unreadable),
    }
}

impl Row {
    /// Reads one row; `previous` is its predecessor's hash, `None` where that is not to be had.
    pub fn read(self, previous: Option<Hash>) -> Record {
        let stream = stream_of(&self.stream);
        let event = self.event(stream.as_ref(), previous).map_err(|why| Unreadable {
            seq: self.seq,
            stream: stream.clone(),
            version: Version(self.version),
            at: Time(self.at),
            kind: String::from_utf8_lossy(&self.kind).chars().take(64).collect(),
            form: self.form,
            why,
        });
        Record {
            seq: self.seq,
            stream,
            version: Version(self.version),
            at: Time(self.at),
            prev_hash: previous.unwrap_or(Hash::GENESIS),
            hash: self.hash.unwrap_or(Hash::GENESIS),
            event,
        }
    }

    fn event(&self, stream: Option<&Entity>, previous: Option<Hash>) -> Result<Event, Damage> {
        // Before anything is believed: a flipped bit often leaves good JSON.
        let fits = previous.is_some_and(|previous| self.hash == Some(chain::link(previous, self)));
        if !fits {
            return Err(Damage::Altered);
        }
        let stream = stream.ok_or(Damage::UnknownStream)?;
        let kind = std::str::from_utf8(&self.kind).map_err(|_| Damage::UnknownKind)?;
        let what = stored::read(stream, kind, self.form, &self.payload)?;
        Ok(Event { at: Time(self.at), what })
    }
}

/// What an append is held against before it is taken.
pub(crate) trait Grounds {
    type Error: From<AppendError>;

    /// The last append of this writer that was taken.
    fn last_taken(&self, writer: NodeId) -> Option<u64>;

    fn version(&self, stream: &Entity) -> Result<Version, Self::Error>;

    /// How many events the stream has got since this record.
    fn since(&self, stream: &Entity, seq: Seq) -> Result<u64, Self::Error>;
}

/// An append in stored form, made by the caller's thread so that the writer only writes.
#[derive(Debug)]
pub(crate) struct EncodedBatch {
    pub entries: Vec<EncodedAppend>,
    pub texts: Vec<TextBody>,
    pub messages: Vec<MessageChange>,
    /// In the order of their events.
    pub signals: Vec<signal_index::Entry>,
    pub tasks: Vec<TaskChange>,
    pub link: Option<Link>,
}

#[derive(Debug)]
pub(crate) struct EncodedAppend {
    pub stream: Entity,
    pub expected: Expected,
    pub events: Vec<(Time, Encoded)>,
}

impl EncodedBatch {
    pub fn of(batch: &Batch) -> Result<EncodedBatch, AppendError> {
        let longest = batch.texts.iter().map(|text| text.body.len()).max().unwrap_or(0);
        if longest > LONGEST_TEXT_BYTES {
            return Err(AppendError::TextTooLarge { bytes: longest });
        }
        let mut entries = Vec::with_capacity(batch.entries.len());
        for entry in &batch.entries {
            let stream = &entry.stream;
            let mut events = Vec::with_capacity(entry.events.len());
            for event in &entry.events {
                let found = event.entity();
                if found != *stream {
                    return Err(AppendError::Misplaced { stream: stream.clone(), found });
                }
                let encoded = stored::write(&event.what);
                let bytes = encoded.payload.len();
                if bytes > LONGEST_PAYLOAD_BYTES {
                    return Err(AppendError::TooLarge { stream: stream.clone(), bytes });
                }
                events.push((event.at, encoded));
            }
            let (stream, expected) = (stream.clone(), entry.expected);
            entries.push(EncodedAppend { stream, expected, events });
        }
        let events = batch.entries.iter().flat_map(|entry| &entry.events);
        let messages = events.clone().filter_map(MessageChange::of).collect();
        let tasks = events.clone().filter_map(TaskChange::of).collect();
        let signals = signal_index::entries(&events);
        let (texts, link) = (batch.texts.clone(), batch.link);
        Ok(EncodedBatch { entries, texts, messages, signals, tasks, link })
    }

    /// Checks what it rests on: the append before it, and all that it expects. Returns where
    /// each stream is after the append.
    pub fn admit<G: Grounds>(&self, grounds: &G) -> Result<BTreeMap<Entity, Version>, G::Error> {
        if let Some(Link { writer, after: Some(after), .. }) = self.link
            && grounds.last_taken(writer) != Some(after)
        {
            return Err(AppendError::AfterFailed.into());
        }
        let mut after: BTreeMap<Entity, Version> = BTreeMap::new();
        for EncodedAppend { stream, expected, events } in &self.entries {
            let before = grounds.version(stream)?;
            let actual = after.get(stream).copied().unwrap_or(before);
            let is_so = match *expected {
                Expected::Anything => true,
                Expected::Version(version) => version == actual,
                Expected::Since { seq, own } => {
                    grounds.since(stream, seq)? + (actual.0 - before.0) == own
                }
            };
            if !is_so {
                let (stream, expected) = (stream.clone(), *expected);
                return Err(AppendError::Conflict { stream, expected, actual }.into());
            }
            after.insert(stream.clone(), actual.plus(events.len()));
        }
        Ok(after)
    }

    /// The rows of this append after `head`, all linked; `after` is where it brings each stream.
    pub fn rows(self, mut head: (Seq, Hash), after: &BTreeMap<Entity, Version>) -> Vec<Row> {
        let mut left: BTreeMap<&Entity, u64> = BTreeMap::new();
        for entry in &self.entries {
            *left.entry(&entry.stream).or_default() += entry.events.len() as u64;
        }
        let mut rows = Vec::new();
        for entry in &self.entries {
            let key = stream_key(&entry.stream);
            for (at, event) in &entry.events {
                let end = after.get(&entry.stream).copied().unwrap_or_default();
                let left = left.entry(&entry.stream).or_default();
                *left -= 1;
                let mut row = Row {
                    seq: Seq(head.0.0 + 1),
                    stream: key.clone(),
                    version: end.0 - *left,
                    at: at.0,
                    kind: event.kind.into(),
                    form: u64::from(event.form),
                    payload: event.payload.clone().into_bytes(),
                    hash: None,
                };
                let hash = chain::link(head.1, &row);
                row.hash = Some(hash);
                head = (row.seq, hash);
                rows.push(row);
            }
        }
        rows
    }
}

/// A stream's name in the store: one letter for what it is of, then its id or text.
pub(crate) fn stream_key(stream: &Entity) -> Vec<u8> {
    let key = |letter: u8, id: &[u8]| [&[letter], id].concat();
    match stream {
        Entity::Node(NodeId::HOME) => vec![b'n'],
        Entity::Node(NodeId(id)) => key(b'n', &id.to_be_bytes()),
        Entity::Agent(AgentId(id)) => key(b'a', &id.to_be_bytes()),
        Entity::Name(name) => key(b'i', name.as_str().as_bytes()),
        Entity::Conversation(id) => key(b'c', id.as_str().as_bytes()),
        Entity::Message(MessageId(id)) => key(b'm', &id.to_be_bytes()),
        Entity::Post(PostId(id)) => key(b'p', &id.to_be_bytes()),
        Entity::Job(JobId(id)) => key(b'j', &id.to_be_bytes()),
        Entity::Role(name) => key(b'r', name.as_str().as_bytes()),
        Entity::Signal(SignalId(id)) => key(b's', &id.to_be_bytes()),
        Entity::Escalation(EscalationId(id)) => key(b'e', &id.to_be_bytes()),
        Entity::Task(TaskId(id)) => key(b't', &id.to_be_bytes()),
    }
}

/// Whether the state of such a stream is kept: not that of a claim, which follows from the agents,
/// nor that of a post or a signal, which have none.
pub(crate) fn has_snapshots(key: &[u8]) -> bool {
    stream_of(key).is_some_and(|stream| stream.is_counted())
}

pub(crate) fn stream_of(key: &[u8]) -> Option<Entity> {
    let id = |id: &[u8]| Some(u128::from_be_bytes(id.try_into().ok()?));
    let text = |text: &[u8]| Some(std::str::from_utf8(text).ok()?.to_owned());
    match key {
        [b'n'] => Some(Entity::Node(NodeId::HOME)),
        [b'n', rest @ ..] => id(rest).map(NodeId).map(Entity::Node),
        [b'a', rest @ ..] => id(rest).map(AgentId).map(Entity::Agent),
        [b'i', rest @ ..] => Some(Entity::Name(text(rest)?.parse::<Name>().ok()?.key())),
        [b'c', rest @ ..] => Some(Entity::Conversation(text(rest)?.parse().ok()?)),
        [b'm', rest @ ..] => id(rest).map(MessageId).map(Entity::Message),
        [b'p', rest @ ..] => id(rest).map(PostId).map(Entity::Post),
        [b'j', rest @ ..] => id(rest).map(JobId).map(Entity::Job),
        [b'r', rest @ ..] => Some(Entity::Role(text(rest)?.parse::<Name>().ok()?.key())),
        [b's', rest @ ..] => id(rest).map(SignalId).map(Entity::Signal),
        [b'e', rest @ ..] => id(rest).map(EscalationId).map(Entity::Escalation),
        [b't', rest @ ..] => id(rest).map(TaskId).map(Entity::Task),
        _ => None,
    }
}
