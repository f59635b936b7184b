//! When to look at which agent again: at most one time each.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::id::AgentId;
use perennial_core::time::Time;

#[derive(Debug, Default)]
pub struct Timers {
    order: BTreeSet<(Time, AgentId)>,
    of: BTreeMap<AgentId, Time>,
}

impl Timers {
    pub fn set(&mut self, agent: AgentId, at: Option<Time>) {
        if let Some(old) = self.of.remove(&agent) {
            self.order.remove(&(old, agent));
        }
        if let Some(at) = at {
            self.of.insert(agent, at);
            self.order.insert((at, agent));
        }
    }

    pub fn first(&self) -> Option<Time> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes out everyone whose time has come.
    pub fn take_due(&mut self, now: Time) -> Vec<AgentId> {
        let mut due = Vec::new();
        while let Some((at, agent)) = self.order.first().copied().filter(|(at, _)| *at <= now) {
            self.order.remove(&(at, agent));
            self.of.remove(&agent);
            due.push(agent);
        }
        due
    }
}
