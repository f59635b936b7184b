//! What holders need beyond their orders: who an agent is lies beside each, and each obeys the newest
//! daemon only.

use perennial_core::event::{AgentEvent, Event, NodeEvent, What};
use perennial_core::id::{AgentId, Epoch};
use perennial_core::observation::Observation;

use super::driver::Driver;
use crate::daemon::{claim, version};

impl Driver {
    /// Holders obeyed a daemon that the journal does not know: it was restored, or has lost its end. The
    /// start of this one is recorded again, as newer than that.
    pub fn outranked(&mut self, by: Epoch) {
        tracing::warn!(by = by.0, "holders obeyed a daemon that the journal does not know");
        self.observe(Observation::Outranked { by, version: version() });
    }

    /// Keeps beside the holder who the agent is, before a session of it starts.
    pub fn keep_claim(&self, agent: AgentId) {
        if let Some(known) = self.supervisor.fleet().agent(agent) {
            claim::keep(&self.world.harnesses.holder(agent), known);
        }
    }

    /// What of the events matters to holders.
    pub fn tell_holders(&self, events: &[Event]) {
        for event in events {
            match &event.what {
                What::Node(_, NodeEvent::DaemonStarted { epoch, .. }) => {
                    self.world.holders.set_epoch(*epoch);
                }
                What::Agent(
                    id,
                    AgentEvent::Renamed { .. } | AgentEvent::SettingsChanged { .. },
                ) => self.keep_claim(*id),
                What::Agent(..)
                | What::Node(..)
                | What::Name(..)
                | What::Conversation(..)
                | What::Message(..)
                | What::Post(..)
                | What::Job(..) => {}
            }
        }
    }
}
