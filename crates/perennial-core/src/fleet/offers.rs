//! What sessions are given in the replies to their hooks. Changes nothing.

use super::{Fleet, told};
use crate::event::Event;
use crate::id::{AgentId, SessionNumber};
use crate::message;
use crate::time::Time;

impl Fleet {
    /// What goes into the reply to a hook of this session: the offers, to be given once they are
    /// durable.
    pub fn offer(&self, agent: AgentId, number: SessionNumber, now: Time) -> Vec<Event> {
        self.with_consequences(told(message::for_hook(self, agent, number, now), now))
    }

    /// The same for the hook that reports the end of a turn, which goes on then.
    pub fn offer_at_turn_end(
        &self,
        agent: AgentId,
        number: SessionNumber,
        now: Time,
    ) -> Vec<Event> {
        self.with_consequences(told(message::at_turn_end(self, agent, number, now), now))
    }
}
