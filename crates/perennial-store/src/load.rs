//! Start-up: the fleet as the journal tells it; and an agent that has left memory, recalled.
//!
//! Invariants
//! - D1  Loading never fails on what a record holds: an agent with an unreadable record is marked,
//!   one whose birth is unreadable too, and what an operator ordered after that record outranks the
//!   mark. So is one whose last record is gone, where its snapshot was made with that record.
//! - D4  What may have been done is not done again: a text or job with an unreadable or missing record
//!   that is not known to be over is marked. A text whose last record is gone is found by its row in
//!   the table of messages; a job may be concerned by every loss whose stream is not known.
//! - D2  With or without snapshots the fleet is the same. Where anything is unreadable, none are
//!   used: a mark is no event, so a snapshot can't tell how it came about. What is over may be there
//!   or not: it is not loaded where its snapshot says that it is over.
//! - D3  What ended after the last snapshots is loaded and planned once more: its end may not have
//!   been acted on.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::agent::Agent;
use perennial_core::entity::Entity;
use perennial_core::escalation::Escalation;
use perennial_core::event::{AgentEvent, Event};
use perennial_core::fleet::{self, Fleet, Node, Restored};
use perennial_core::id::{AgentId, MessageId, NodeId, TaskId};
use perennial_core::job::Job;
use perennial_core::message::{Message, Sender};
use perennial_core::role::Role;
use perennial_core::task::Task;
use perennial_core::text::Text;
use perennial_core::time::Time;
use serde::Serialize;

use crate::journal::{ReadError, Seq, Version};
use crate::projection::{Snapshot, SnapshotSet, Store};
use crate::record::{Damage, Record, Unreadable};

const RECORDS_AT_ONCE: usize = 1000;

/// The form of snapshots; those of another are not read. To be counted up when an agent's fields, or
/// what folding makes of them, change between two releases.
const FORM: &str = concat!(env!("CARGO_PKG_VERSION"), "/24");

/// Everything that a supervisor starts from.
#[derive(Debug)]
pub struct Loaded {
    pub fleet: Fleet,
    pub head: Seq,
    pub versions: BTreeMap<Entity, Version>,
    /// What the next set of snapshots must have: all that changed since the last one, and what has
    /// ended and is not marked so there.
    pub changed: BTreeSet<Entity>,
    /// How many agents are over and were not loaded.
    pub over: u64,
    /// How many records were folded.
    pub folded: u64,
    /// The newest moment in the journal: time never goes back behind it.
    pub latest: Time,
    /// Every record in the journal that is known to be unreadable.
    pub unreadable: Vec<Unreadable>,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("the journal could not be loaded")]
    Read(#[from] ReadError),
}

/// Folds the journal for this node, from the newest snapshots on.
pub fn load(journal: &dyn Store, node: NodeId) -> Result<Loaded, LoadError> {
    let restored = if journal.quarantine().is_empty() { restore(journal, node)? } else { None };
    let from_snapshots = restored.is_some();
    let anew = || Folding { fleet: Fleet::of_node(node), ..Folding::default() };
    let mut folding = restored.unwrap_or_else(anew);
    loop {
        let records = journal.read(folding.head, RECORDS_AT_ONCE)?;
        if records.is_empty() {
            break;
        }
        records.iter().for_each(|record| folding.take(record));
    }
    let unreadable = journal.quarantine();
    if from_snapshots && !unreadable.is_empty() {
        // Found just now: the second time none are used.
        return load(journal, node);
    }
    if unreadable.iter().any(|one| matches!(one.why, Damage::Missing { .. })) {
        folding.mark_cut_off(journal)?;
    }
    if unreadable.iter().any(|one| one.seq > folding.head) {
        folding.mark_open_jobs();
    }
    folding.mark_texts(journal, &unreadable);
    Ok(folding.finish(unreadable))
}

/// The fold up to the newest snapshots, if they are all there and of this program's form.
fn restore(journal: &dyn Store, node: NodeId) -> Result<Option<Folding>, ReadError> {
    let SnapshotSet { covers: head, snapshots, over } = journal.snapshots()?;
    let Some(before) = head.0.checked_sub(1) else { return Ok(None) };
    // Time never decreases, so the last record that they cover has the newest moment.
    let last = journal.read(Seq(before), 1)?;
    let latest = last.first().map_or(Time(0), |record| record.at);
    let mut versions = BTreeMap::new();
    let mut restored = Restored { node, ..Restored::default() };
    for Snapshot { stream, version, form, state, .. } in snapshots {
        let Some(state) = state.filter(|_| form == FORM) else { return Ok(None) };
        match stream.clone() {
            Entity::Node(id) => match serde_json::from_str::<Node>(&state) {
                Ok(node) => _ = restored.nodes.insert(id, node),
                Err(_) => return Ok(None),
            },
            Entity::Agent(_) => match serde_json::from_str::<Agent>(&state) {
                Ok(agent) => restored.agents.push(agent),
                Err(_) => return Ok(None),
            },
            Entity::Message(_) => match serde_json::from_str::<Message>(&state) {
                Ok(message) => restored.messages.push(message),
                Err(_) => return Ok(None),
            },
            Entity::Job(_) => match serde_json::from_str::<Job>(&state) {
                Ok(job) => restored.jobs.push(job),
                Err(_) => return Ok(None),
            },
            Entity::Role(key) => match serde_json::from_str::<Role>(&state) {
                Ok(role) => _ = restored.roles.insert(key, role),
                Err(_) => return Ok(None),
            },
            Entity::Escalation(_) => match serde_json::from_str::<Escalation>(&state) {
                Ok(escalation) => restored.escalations.push(escalation),
                Err(_) => return Ok(None),
            },
            Entity::Task(_) => match serde_json::from_str::<Task>(&state) {
                Ok(task) => restored.tasks.push(task),
                Err(_) => return Ok(None),
            },
            // A claim's state follows from the agents; a post or a signal has none.
            Entity::Name(_) | Entity::Conversation(_) | Entity::Post(_) | Entity::Signal(_) => {}
        }
        if version > Version(0) {
            versions.insert(stream, version);
        }
    }
    if restored.nodes.is_empty() {
        return Ok(None);
    }
    let fleet = Fleet::restore(restored);
    Ok(Some(Folding { fleet, head, versions, over, latest, ..Folding::default() }))
}

#[derive(Default)]
struct Folding {
    fleet: Fleet,
    head: Seq,
    versions: BTreeMap<Entity, Version>,
    changed: BTreeSet<Entity>,
    over: u64,
    folded: u64,
    latest: Time,
    /// Whose state can't be trusted, with what is wrong and since when.
    marks: BTreeMap<Entity, (String, Time)>,
}

impl Folding {
    fn take(&mut self, record: &Record) {
        self.head = record.seq;
        self.folded += 1;
        if let Some(stream) = record.stream.as_ref().filter(|stream| stream.is_counted()) {
            self.changed.insert(stream.clone());
            let version = self.versions.entry(stream.clone()).or_default();
            // A record that is gone leaves no stream to mark, but a hole in its versions.
            let whole = record.version.0 == version.0 + 1;
            *version = record.version.max(*version);
            if !whole {
                self.mark(stream, "a record before it is gone", record.at);
            }
        }
        if let Some(Entity::Agent(id)) = &record.stream
            && !record.event.as_ref().is_ok_and(is_birth)
        {
            // It was born: only that can't be read.
            self.fleet.list_unborn(*id, record.at);
        }
        match &record.event {
            Ok(event) => {
                self.latest = self.latest.max(event.at);
                self.fleet.evolve(event);
                if fleet::is_known_again(event) {
                    self.marks.remove(&event.entity());
                }
            }
            Err(unreadable) => {
                // The stream of an altered record may be what was altered.
                if !record.stream.as_ref().is_some_and(|stream| self.fleet.has(stream)) {
                    self.mark_open_jobs();
                }
                if let Some(stream) = &record.stream {
                    self.mark(stream, &unreadable.to_string(), record.at);
                }
            }
        }
    }

    /// A record that is gone leaves no hole in a stream that it was the last one of. The snapshot of
    /// the stream may have been made with it, and then has a version that the stream does not reach.
    fn mark_cut_off(&mut self, journal: &dyn Store) -> Result<(), ReadError> {
        let agents: Vec<Entity> = self.fleet.agents().map(|agent| agent.id.into()).collect();
        for stream in agents {
            let reached = self.versions.get(&stream).copied().unwrap_or_default();
            let snapshot = journal.snapshot(&stream)?;
            if snapshot.is_some_and(|snapshot| snapshot.version > reached) {
                self.mark(&stream, "its last record is gone", self.latest);
            }
        }
        Ok(())
    }

    /// D4: records are gone, or of unknown streams; each may have been the end of a job.
    fn mark_open_jobs(&mut self) {
        let open: Vec<Entity> = self.fleet.jobs().iter().map(|job| Entity::Job(job.id)).collect();
        for job in open {
            self.mark(&job, "a record that may be of it is gone", self.latest);
        }
    }

    /// D4: the texts that are listed in the table of messages as farther than they were folded, and
    /// those whose first record can't be read. That table is written with the records themselves.
    fn mark_texts(&mut self, journal: &dyn Store, unreadable: &[Unreadable]) {
        let open: Vec<MessageId> = self.fleet.messages().iter().map(|text| text.id).collect();
        for id in open {
            let row = journal.message(id).ok().flatten();
            let is_told = match (row, self.fleet.messages().get(id)) {
                (Some(row), Some(message)) => row.step.is_of(message.state),
                // Nothing tells of what is missing but the records themselves.
                (None, _) | (_, None) => unreadable.is_empty(),
            };
            if !is_told {
                self.mark(&Entity::Message(id), "its last record is gone", self.latest);
            }
        }
        let unknown = self.marks.keys().filter(|stream| !self.fleet.has(stream));
        let unrecorded: Vec<Message> =
            unknown.filter_map(|stream| unrecorded(journal, stream)).collect();
        for message in unrecorded {
            let owner = message.to.agent();
            if owner.is_none_or(|id| self.fleet.agent(id).is_some()) {
                self.fleet.list_unrecorded(message);
            }
        }
    }

    fn mark(&mut self, stream: &Entity, why: &str, at: Time) {
        match stream {
            Entity::Agent(_) | Entity::Message(_) | Entity::Job(_) => {
                self.marks.entry(stream.clone()).or_insert_with(|| (why.to_owned(), at));
            }
            // These have no state that anything would be held for.
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Escalation(_)
            | Entity::Task(_) => {}
        }
    }

    fn finish(mut self, unreadable: Vec<Unreadable>) -> Loaded {
        for (stream, (why, at)) in &self.marks {
            match stream {
                Entity::Agent(id) => self.fleet.mark_unreadable(*id, why, *at),
                Entity::Message(id) => self.fleet.mark_message_unreadable(*id),
                Entity::Job(id) => self.fleet.mark_job_unreadable(*id),
                Entity::Node(_)
                | Entity::Name(_)
                | Entity::Conversation(_)
                | Entity::Post(_)
                | Entity::Role(_)
                | Entity::Signal(_)
                | Entity::Escalation(_)
                | Entity::Task(_) => {}
            }
        }
        let Folding { fleet, head, mut versions, mut changed, over, folded, latest, .. } = self;
        // What has left memory gets no more events.
        versions.retain(|stream, _| match stream {
            Entity::Message(_) | Entity::Job(_) | Entity::Escalation(_) | Entity::Task(_) => {
                fleet.has(stream)
            }
            Entity::Node(_)
            | Entity::Agent(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_) => true,
        });
        changed.extend(fleet.entities().filter(|entity| fleet.is_over(entity)));
        Loaded { fleet, head, versions, changed, over, folded, latest, unreadable }
    }
}

fn is_birth(event: &Event) -> bool {
    matches!(event.of_agent(), Some((_, AgentEvent::Hatched(_))))
}

/// A person's text or a mail whose first record can't be read, as far as the table of messages tells of it.
fn unrecorded(journal: &dyn Store, stream: &Entity) -> Option<Message> {
    let Entity::Message(id) = stream else { return None };
    let row = journal.message(*id).ok().flatten()?;
    if row.step.is_final() {
        return None;
    }
    if let Some(mail) = row.mail {
        let whose = (row.sender, row.mailbox);
        return Some(Message::unrecorded_mail(*id, whose, mail, row.recorded_at));
    }
    let (digest, head) = (row.digest?, row.head);
    let bytes = journal.text(digest).ok().flatten().map_or(0, |body| body.len() as u64);
    let text = Text { digest, bytes, head };
    let to = row.mailbox.agent().filter(|_| row.sender == Sender::Person)?;
    Some(Message::unrecorded(*id, to, text, row.recorded_at))
}

/// The state of what has changed, for `put_snapshots`.
pub fn snapshots(
    fleet: &Fleet,
    versions: &BTreeMap<Entity, Version>,
    changed: &BTreeSet<Entity>,
) -> Vec<Snapshot> {
    let snapshot = |stream: &Entity, state: Option<String>| Snapshot {
        stream: stream.clone(),
        version: versions.get(stream).copied().unwrap_or_default(),
        form: FORM.to_owned(),
        is_over: state.is_some() && fleet.is_over(stream),
        state,
    };
    let of_node = |(id, node): (&NodeId, &Node)| snapshot(&Entity::Node(*id), Some(plain(node)));
    let mut snapshots: Vec<Snapshot> = fleet.nodes().iter().map(of_node).collect();
    for stream in changed {
        let state = match stream {
            Entity::Agent(id) => fleet.agent(*id).map(plain),
            Entity::Message(id) => fleet.messages().get(*id).map(plain),
            Entity::Job(id) => fleet.jobs().get(*id).filter(|job| !job.is_over()).map(plain),
            Entity::Role(key) => fleet.roles().get(key).map(plain),
            Entity::Escalation(id) => fleet.escalations().get(*id).map(plain),
            Entity::Task(id) => fleet.tasks().get(*id).filter(|task| !task.is_over()).map(plain),
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Post(_)
            | Entity::Signal(_) => {
                continue;
            }
        };
        snapshots.push(snapshot(stream, state));
    }
    snapshots
}

fn plain(state: &impl Serialize) -> String {
    // Derived for plain types with string keys: nothing that JSON can't say.
    serde_json::to_string(state).expect("states are plain")
}

/// An agent that has left memory: from its snapshot, or folded from its own records.
pub fn recall(journal: &dyn Store, id: AgentId) -> Result<Option<Agent>, ReadError> {
    let stream = Entity::Agent(id);
    if journal.quarantine().is_empty()
        && let Some(Snapshot { version, form, state: Some(state), .. }) =
            journal.snapshot(&stream)?
        && form == FORM
        && journal.read_stream(&stream, version, 1)?.is_empty()
        && let Ok(agent) = serde_json::from_str::<Agent>(&state)
    {
        return Ok(Some(agent));
    }
    let mut folding = Folding::default();
    let mut after = Version(0);
    loop {
        let records = journal.read_stream(&stream, after, RECORDS_AT_ONCE)?;
        let Some(last) = records.last() else { break };
        after = last.version;
        records.iter().for_each(|record| folding.take(record));
    }
    Ok(folding.finish(Vec::new()).fleet.agent(id).cloned())
}

/// A task as its own records tell it, over or not.
pub fn recall_task(journal: &dyn Store, id: TaskId) -> Result<Option<Task>, ReadError> {
    let stream = Entity::Task(id);
    let (mut folding, mut after) = (Folding::default(), Version(0));
    loop {
        let records = journal.read_stream(&stream, after, RECORDS_AT_ONCE)?;
        let Some(last) = records.last() else { break };
        after = last.version;
        records.iter().for_each(|record| folding.take(record));
    }
    Ok(folding.finish(Vec::new()).fleet.tasks().get(id).cloned())
}
