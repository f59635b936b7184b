//! The index of signals: which records are signals, or are followed by one that Perennial emits.
//!
//! Derived, and written with the records themselves. It has no words of its own: what a signal says is read from the
//! record. Made again from the journal it is the same (`Index`).
//!
//! Invariant
//! - SX1  A record has at most one signal; its place in the order of signals is the record's.

use std::collections::HashMap;

use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::id::{AgentId, SessionNumber, SignalId};
use perennial_core::message::{Mailbox, Sender};
use perennial_core::signal::{self, SignalEvent, SignalKind};
use perennial_core::time::Time;

use crate::journal::{Seq, Version};
use crate::record::Record;

/// Which signals to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalQuery {
    /// Of these kinds; of any, if there are none.
    pub kinds: Vec<SignalKind>,
    pub place: SignalPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalPlace {
    /// Those behind a record, the oldest first.
    After(Seq),
    /// Those before a record, or all, the newest first.
    Before(Option<Seq>),
}

/// One signal, sent or emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalRow {
    pub seq: Seq,
    pub id: SignalId,
    pub at: Time,
    pub kind: SignalKind,
    pub origin: SignalOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalOrigin {
    /// Somebody sent it.
    Sent(Box<SignalEvent>),
    /// It follows from what happened to an agent.
    Emitted { agent: AgentId, session: Option<SessionNumber>, exit_reason: Option<&'static str> },
}

/// A signal as the index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which event of its batch it belongs to.
    pub position: usize,
    /// Of one that somebody sent; the id of another follows from the event's place in its stream.
    pub sent: Option<SignalId>,
    pub kind: SignalKind,
    /// Who sent it or whom it is about, if that is an agent.
    pub agent: Option<AgentId>,
    /// Without one: the guardian of the agent.
    pub target: Option<Mailbox>,
    pub session: Option<SessionNumber>,
}

impl Entry {
    pub fn id(&self, version: Version, at: Time) -> SignalId {
        let stream = self.agent.map_or(0, |agent| agent.0);
        self.sent.unwrap_or_else(|| signal::derived_id(stream, version.0, at))
    }
}

/// Finds signals among events that are read in their order.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The last session of each agent that ended, and when.
    ended: HashMap<AgentId, (SessionNumber, Time)>,
}

impl Index {
    /// The signals of one batch.
    pub fn of_batch<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<Entry> {
        let mut index = Index::default();
        events.enumerate().filter_map(|(position, event)| index.entry(position, event)).collect()
    }

    pub fn entry(&mut self, position: usize, event: &Event) -> Option<Entry> {
        if let What::Signal(id, SignalEvent::Sent { kind, by, to, .. }) = &event.what {
            let agent = match by {
                Sender::Agent(id) => Some(*id),
                Sender::Person | Sender::Perennial => None,
            };
            let (sent, target, session) = (Some(*id), Some(to.clone()), None);
            return Some(Entry { position, sent, kind: *kind, agent, target, session });
        }
        if let Some((id, AgentEvent::SessionEnded { number, .. })) = event.of_agent() {
            self.ended.insert(id, (*number, event.at));
        }
        let ended = event.of_agent().and_then(|(id, _)| self.ended.get(&id));
        // A batch has one moment.
        let ended = ended.filter(|(_, at)| *at == event.at).map(|(number, _)| *number);
        let derived = signal::derived(event, ended)?;
        let (kind, agent, session) = (derived.kind, Some(derived.agent), derived.session);
        Some(Entry { position, sent: None, kind, agent, target: None, session })
    }
}

/// The signal that a record has, as the index has its session.
pub(crate) fn row(
    record: &Record,
    (id, kind): (SignalId, SignalKind),
    session: Option<SessionNumber>,
) -> Option<SignalRow> {
    let event = record.event.as_ref().ok()?;
    let origin = match &event.what {
        What::Signal(_, sent) => SignalOrigin::Sent(Box::new(sent.clone())),
        What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Job(..)
        | What::Role(..)
        | What::Escalation(..)
        | What::Task(..) => {
            let derived = signal::derived(event, session)?;
            let (agent, exit_reason) = (derived.agent, derived.exit_reason);
            SignalOrigin::Emitted { agent, session, exit_reason }
        }
    };
    Some(SignalRow { seq: record.seq, id, at: event.at, kind, origin })
}
