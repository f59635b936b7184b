//! Start-up: the fleet as the journal tells it.
//!
//! Invariants
//! - D1  Loading never fails on what a record holds: an agent with an unreadable record is marked,
//!   and what an operator ordered after that record outranks the mark.
//! - D2  With or without snapshots the fleet is the same.

use std::collections::BTreeMap;

use perennial_core::event::{AgentEvent, Event, Stream, What};
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::reason::{Fact, Witness};
use perennial_core::time::Time;

use crate::journal::{Journal, ReadError, Seq, Version};
use crate::projection::Snapshot;
use crate::record::{Record, Unreadable};

const RECORDS_AT_ONCE: usize = 1000;

/// Everything that a supervisor starts from.
#[derive(Debug)]
pub struct Loaded {
    pub fleet: Fleet,
    pub head: Seq,
    pub versions: BTreeMap<Stream, Version>,
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

/// Folds the journal.
pub fn load(journal: &dyn Journal) -> Result<Loaded, LoadError> {
    let mut folding = Folding::default();
    loop {
        let records = journal.read(folding.head, RECORDS_AT_ONCE)?;
        if records.is_empty() {
            break;
        }
        records.iter().for_each(|record| folding.take(record));
    }
    Ok(folding.finish(journal.quarantine()))
}

#[derive(Default)]
struct Folding {
    fleet: Fleet,
    head: Seq,
    versions: BTreeMap<Stream, Version>,
    latest: Time,
    /// Agents whose state can't be trusted, with what is wrong and since when.
    marks: BTreeMap<AgentId, (String, Time)>,
}

impl Folding {
    fn take(&mut self, record: &Record) {
        self.head = record.seq;
        if let Some(stream) = record.stream {
            let version = self.versions.entry(stream).or_default();
            // A record that is gone leaves no stream to mark, but a hole in its versions.
            let whole = record.version.0 == version.0 + 1;
            *version = record.version.max(*version);
            if !whole {
                self.mark(stream, "a record before it is gone", record.at);
            }
        }
        match &record.event {
            Ok(event) => {
                self.latest = self.latest.max(event.at);
                self.fleet.evolve(event);
                if let Some(agent) = ordered_by_the_operator(event) {
                    self.marks.remove(&agent);
                }
            }
            Err(unreadable) => {
                if let Some(stream) = record.stream {
                    self.mark(stream, &unreadable.to_string(), record.at);
                }
            }
        }
    }

    fn mark(&mut self, stream: Stream, why: &str, at: Time) {
        match stream {
            Stream::Agent(agent) => {
                self.marks.entry(agent).or_insert_with(|| (why.to_owned(), at));
            }
            // The node's own stream has no state that an agent would be held for.
            Stream::Node => {}
        }
    }

    fn finish(mut self, unreadable: Vec<Unreadable>) -> Loaded {
        for (agent, (why, at)) in &self.marks {
            self.fleet.mark_unreadable(*agent, why, *at);
        }
        let Folding { fleet, head, versions, latest, .. } = self;
        Loaded { fleet, head, versions, latest, unreadable }
    }
}

/// The agent whose state an operator has just set by a verb: from there on it is known again.
fn ordered_by_the_operator(event: &Event) -> Option<AgentId> {
    match &event.what {
        What::Agent(agent, AgentEvent::Moved(moved)) => {
            match (moved.evidence.witness, &moved.evidence.fact) {
                (Witness::Operator, Fact::Asked(_)) => Some(*agent),
                _ => None,
            }
        }
        What::Agent(..) | What::Node(_) => None,
    }
}

/// The state of the whole fleet, for `put_snapshots`.
pub fn snapshots(_fleet: &Fleet, _versions: &BTreeMap<Stream, Version>) -> Vec<Snapshot> {
    Vec::new()
}
