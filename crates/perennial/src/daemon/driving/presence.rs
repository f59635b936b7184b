//! Which holders are connected now, and when the others were last heard.
//!
//! Kept for this run only, except for the last times, which are stored as latest values.

use std::collections::BTreeMap;

use perennial_core::agent::{Agent, Confirmation};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Session;
use perennial_core::time::Time;
use tokio::sync::watch;

#[derive(Debug)]
pub struct Presence {
    /// When this run began to listen.
    since: Time,
    connected: BTreeMap<AgentId, SessionNumber>,
    heard: BTreeMap<AgentId, Time>,
    lost: BTreeMap<AgentId, Loss>,
    /// The sessions that an earlier run left behind and that this one has not adopted yet.
    unadopted: watch::Sender<BTreeMap<AgentId, SessionNumber>>,
}

/// A holder that does not answer.
#[derive(Debug)]
struct Loss {
    why: String,
    at: Time,
}

impl Presence {
    /// Nobody is heard yet; `heard` is what an earlier run kept.
    pub fn begin(heard: BTreeMap<AgentId, Time>, since: Time) -> Presence {
        let (connected, lost) = (BTreeMap::new(), BTreeMap::new());
        Presence { since, connected, heard, lost, unadopted: watch::Sender::default() }
    }

    /// The same, with the sessions that an earlier run left behind.
    pub fn adopting(self, fleet: &Fleet) -> Presence {
        // Nothing is done to an agent that is held, so nothing is heard of its session either.
        let left = |agent: &Agent| {
            let session = agent.live_session().filter(|session| session.has_begun())?;
            (!agent.is_held()).then_some((agent.id, session.number))
        };
        self.unadopted.send_replace(fleet.agents().filter_map(left).collect());
        self
    }

    /// Says how many sessions of an earlier run are still to be adopted, or to be found over.
    pub fn unadopted(&self) -> watch::Receiver<BTreeMap<AgentId, SessionNumber>> {
        self.unadopted.subscribe()
    }

    fn adopted(&self, agent: AgentId) {
        // Whoever waits does so for the last one.
        self.unadopted.send_if_modified(|left| left.remove(&agent).is_some() && left.is_empty());
    }

    pub fn connected(&mut self, agent: AgentId, number: SessionNumber) {
        self.connected.insert(agent, number);
        self.lost.remove(&agent);
        self.adopted(agent);
    }

    pub fn disconnected(&mut self, agent: AgentId, why: String, now: Time) {
        // A holder that was never reached is not lost: it was not heard in this run at all.
        if self.connected.remove(&agent).is_some() {
            self.heard.insert(agent, now);
        }
        self.lost.insert(agent, Loss { why, at: now });
    }

    /// These agents have changed: of those whose session is over, no holder is needed any more.
    pub fn note_ended(&mut self, fleet: &Fleet, touched: &[AgentId], now: Time) {
        let is_over = |agent: &Agent| agent.session.as_ref().is_some_and(Session::is_over);
        for agent in touched {
            let number = fleet.agent(*agent).and_then(Agent::live_session).map(|one| one.number);
            if self.unadopted.borrow().get(agent).is_some_and(|left| number != Some(*left)) {
                self.adopted(*agent);
            }
            if fleet.agent(*agent).is_some_and(is_over) && self.connected.remove(agent).is_some() {
                self.heard.insert(*agent, now);
            }
        }
    }

    /// The agent has left memory.
    pub fn forget(&mut self, agent: AgentId) {
        self.connected.remove(&agent);
        self.heard.remove(&agent);
        self.lost.remove(&agent);
        self.adopted(agent);
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

    pub fn since(&self) -> Time {
        self.since
    }

    /// How many holders of sessions that are not over are connected.
    pub fn connections(&self) -> usize {
        self.connected.len()
    }

    /// Since when the agent's holder is not heard.
    pub fn silent_since(&self, agent: AgentId) -> Time {
        self.lost.get(&agent).map_or(self.since, |loss| loss.at)
    }

    /// Why holders can't be reached, for `doctor`.
    pub fn lost(&self) -> impl Iterator<Item = (AgentId, &str)> {
        self.lost.iter().map(|(agent, loss)| (*agent, loss.why.as_str()))
    }

    /// When the agent's holder was last heard: now, if it is right now.
    pub fn last(&self, agent: AgentId, now: Time) -> Option<Time> {
        if self.connected.contains_key(&agent) { Some(now) } else { self.heard(agent) }
    }

    /// Everyone's last time, with those heard right now at `now`.
    pub fn times(&self, now: Time) -> BTreeMap<AgentId, Time> {
        let mut times = self.heard.clone();
        times.extend(self.connected.keys().map(|agent| (*agent, now)));
        times
    }
}
