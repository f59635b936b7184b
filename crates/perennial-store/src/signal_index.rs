//! The index of signals: which records are signals, or are followed by one that Perennial emits.
//!
//! Derived, and written with the records themselves. It has no words of its own: what a signal says is read from the
//! record. Made again from the journal it is the same (`entries`).
//!
//! Invariant
//! - SX1  A record has at most one signal; its place in the order of signals is the record's.

use perennial_core::event::{Event, What};
use perennial_core::id::{AgentId, SessionNumber, SignalId};
use perennial_core::message::{Mailbox, Sender};
use perennial_core::signal::{self, Beside, Emitted, SignalEvent, SignalKind};
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
    Emitted { agent: AgentId, session: Option<SessionNumber>, says: Emitted },
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

/// The signals of events that happened in one moment, as those of a batch do, in their order.
pub(crate) fn entries<'a>(moment: &(impl Iterator<Item = &'a Event> + Clone)) -> Vec<Entry> {
    let of = |(position, event)| entry(position, event, moment.clone());
    moment.clone().enumerate().filter_map(of).collect()
}

fn entry<'a>(
    position: usize,
    event: &Event,
    moment: impl Iterator<Item = &'a Event>,
) -> Option<Entry> {
    if let What::Signal(id, SignalEvent::Sent { kind, by, to, .. }) = &event.what {
        let agent = match by {
            Sender::Agent(id) => Some(*id),
            Sender::Person | Sender::Perennial => None,
        };
        let (sent, target, session) = (Some(*id), Some(to.clone()), None);
        return Some(Entry { position, sent, kind: *kind, agent, target, session });
    }
    let derived = signal::derived(event, |agent| Beside::of(agent, moment))?;
    let (kind, agent, session) = (derived.kind, Some(derived.agent), derived.session);
    Some(Entry { position, sent: None, kind, agent, target: None, session })
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
            // Older indexes have the signal of a move whose session ended later.
            let beside = Beside { ended: session, is_end_told: false };
            let derived = signal::derived(event, |_| beside)?;
            let (agent, says) = (derived.agent, derived.says);
            SignalOrigin::Emitted { agent, session, says }
        }
    };
    Some(SignalRow { seq: record.seq, id, at: event.at, kind, origin })
}
