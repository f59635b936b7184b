//! Whom the daemon hears now: the holders that are connected, and when others were last heard.
//!
//! Memory of this run only, but for the last times, which are kept as samples.

use std::collections::BTreeMap;

use perennial_core::agent::{Agent, Confirmation};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;

#[derive(Debug, Default)]
pub struct Presence {
    connected: BTreeMap<AgentId, SessionNumber>,
    heard: BTreeMap<AgentId, Time>,
    lost: BTreeMap<AgentId, String>,
}

impl Presence {
    /// What an earlier run kept.
    pub fn remembered(heard: BTreeMap<AgentId, Time>) -> Presence {
        Presence { heard, ..Presence::default() }
    }

    pub fn connected(&mut self, agent: AgentId, number: SessionNumber) {
        self.connected.insert(agent, number);
        self.lost.remove(&agent);
    }

    pub fn disconnected(&mut self, agent: AgentId, why: String, now: Time) {
        // A holder that was never reached is not lost: it was not heard in this run at all.
        if self.connected.remove(&agent).is_some() {
            self.heard.insert(agent, now);
        }
        self.lost.insert(agent, why);
    }

    pub fn confirmation(&self, agent: &Agent) -> Confirmation {
        let session = agent.session.as_ref().map(|session| session.number);
        match self.connected.get(&agent.id) {
            Some(number) if Some(*number) == session => Confirmation::Confirmed,
            Some(_) | None if self.lost.contains_key(&agent.id) => Confirmation::Lost,
            Some(_) | None => Confirmation::NotYet,
        }
    }

    /// When the agent's holder was last heard.
    pub fn heard(&self, agent: AgentId) -> Option<Time> {
        self.heard.get(&agent).copied()
    }

    pub fn connections(&self) -> usize {
        self.connected.len()
    }

    /// Why holders can't be reached, for `doctor`.
    pub fn lost(&self) -> impl Iterator<Item = (AgentId, &str)> {
        self.lost.iter().map(|(agent, why)| (*agent, why.as_str()))
    }

    /// Everyone's last time, with those heard right now at `now`.
    pub fn times(&self, now: Time) -> BTreeMap<AgentId, Time> {
        let mut times = self.heard.clone();
        times.extend(self.connected.keys().map(|agent| (*agent, now)));
        times
    }
}
