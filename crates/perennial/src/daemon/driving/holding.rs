//! What holders need beyond their orders: who an agent is lies beside each, what keys reach in a session, which
//! recordings are to go, and that each obeys the newest daemon only.

use perennial_core::effect::FocusEffect;
use perennial_core::event::{AgentEvent, Event, NodeEvent, What};
use perennial_core::hearing::Focus;
use perennial_core::id::{AgentId, Epoch};
use perennial_core::observation::Observation;
use perennial_engine::host::holders;

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

    pub fn tell_focus(&self, FocusEffect { agent, number, focus }: FocusEffect) {
        let focus = match focus {
            Focus::Line => holders::Focus::Line,
            Focus::Turn => holders::Focus::Turn,
            Focus::Dialog => holders::Focus::Dialog,
        };
        self.world.holders.focus(agent, number, focus);
    }

    /// What of the events matters to holders and their directories.
    pub fn tell_holders(&self, events: &[Event]) {
        for event in events {
            match &event.what {
                What::Node(_, NodeEvent::DaemonStarted { epoch, .. }) => {
                    self.world.holders.set_epoch(*epoch);
                }
                What::Node(node, NodeEvent::RecordingsPruned { agent, sessions, .. })
                    if *node == self.supervisor.fleet().node() =>
                {
                    self.world.house.remove(*agent, sessions.clone());
                }
                What::Node(node, NodeEvent::AgentCleaned { agent, harness, conversations, .. })
                    if *node == self.supervisor.fleet().node() =>
                {
                    let unwritten = self.world.reader.let_go(*agent);
                    let (harness, all) = (harness.clone(), conversations.clone());
                    self.world.house.remove_copies(harness, all, unwritten);
                }
                What::Agent(
                    id,
                    AgentEvent::Renamed { .. }
                    | AgentEvent::RoleTaken { .. }
                    | AgentEvent::RoleLeft { .. }
                    | AgentEvent::SettingsChanged { .. },
                ) => self.keep_claim(*id),
                What::Agent(..)
                | What::Node(..)
                | What::Name(..)
                | What::Conversation(..)
                | What::Message(..)
                | What::Post(..)
                | What::Role(..)
                | What::Job(..)
                | What::Signal(..)
                | What::Escalation(..)
                | What::Task(..) => {}
            }
        }
    }
}
