//! What the journal can't tell any more, marked in the fleet so that nothing is done twice for it.
//!
//! Pure. No mark is an event: all are found again at every start, so that a mended record needs none.

use super::Fleet;
use crate::event::{AgentEvent, Event, Move, What};
use crate::id::{AgentId, JobId, MessageId};
use crate::job::JobEvent;
use crate::message::Message;
use crate::reason::{Finding, Witness};
use crate::time::Time;

/// Whether the state of what an event is about is known from here on, whatever was lost before: an
/// operator has just set that of an agent by a verb, or a text or job is over.
pub fn is_known_again(event: &Event) -> bool {
    match &event.what {
        What::Agent(_, AgentEvent::Moved(Move { evidence, .. }))
        | What::Agent(_, AgentEvent::HoldLifted { evidence }) => {
            evidence.witness == Witness::Operator && matches!(evidence.fact, Finding::Asked(_))
        }
        What::Message(_, event) => event.is_last(),
        What::Job(_, JobEvent::Ended { .. }) => true,
        What::Job(_, JobEvent::Wanted { .. } | JobEvent::Running { .. }) => false,
        What::Agent(..) | What::Node(..) | What::Name(..) => false,
        What::Conversation(..) | What::Post(..) => false,
    }
}

impl Fleet {
    /// A record of this agent can't be read: it is unknown, held, and told; nothing starts it but
    /// the operator.
    pub fn mark_unreadable(&mut self, id: AgentId, why: &str, at: Time) {
        self.agents.mark_unreadable(id, why, at);
    }

    /// The birth of this agent can't be read: it is listed all the same.
    pub fn list_unborn(&mut self, id: AgentId, at: Time) {
        self.agents.list_unborn(id, at);
    }

    /// A record of this message can't be read: it is held, and told; it is never offered (T7).
    pub fn mark_message_unreadable(&mut self, id: MessageId) {
        self.messages.mark_unreadable(id);
    }

    /// The first record of this message can't be read: it is listed, and held, all the same.
    pub fn list_unrecorded(&mut self, message: Message) {
        self.messages.list_unrecorded(message);
    }

    /// A record of this job can't be read: it may have run, and is not run again (O2).
    pub fn mark_job_unreadable(&mut self, id: JobId) {
        self.jobs.mark_unreadable(id);
    }
}
