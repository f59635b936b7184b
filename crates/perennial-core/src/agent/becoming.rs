//! An agent while it is decided what happens to it. Each event is folded as it is emitted, so what
//! follows from it is decided by the agent as it has become, never by a guess at that.

use super::{Agent, evolve};
use crate::event::{AgentEvent, Move};
use crate::reason::{Evidence, Reason};
use crate::state::Cause;
use crate::time::Time;

pub struct Becoming<'a> {
    before: &'a Agent,
    /// With the first `folded` of the events; made when it is first looked at.
    after: Option<Agent>,
    folded: usize,
    events: Vec<AgentEvent>,
    now: Time,
}

impl<'a> Becoming<'a> {
    pub fn new(before: &'a Agent, now: Time) -> Becoming<'a> {
        Becoming { before, after: None, folded: 0, events: Vec::new(), now }
    }

    /// The agent as it was before any of this.
    pub fn before(&self) -> &'a Agent {
        self.before
    }

    /// The agent with all that was emitted.
    pub fn agent(&mut self) -> &Agent {
        let fresh = &self.events[self.folded..];
        if !fresh.is_empty() {
            let after = self.after.get_or_insert_with(|| self.before.clone());
            fresh.iter().for_each(|event| evolve(after, event, self.now));
            self.folded = self.events.len();
        }
        self.after.as_ref().unwrap_or(self.before)
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn emit(&mut self, event: AgentEvent) {
        self.events.push(event);
    }

    pub fn extend(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        self.events.extend(events);
    }

    /// A move by the table; false where the table has none, and then nothing happens.
    pub fn moves(
        &mut self,
        cause: Cause,
        reason: Reason,
        evidence: Evidence,
        until: Option<Time>,
    ) -> bool {
        let moved = self.agent().moved(cause, reason, evidence);
        let happens = moved.is_some();
        self.events.extend(moved.map(|moved| AgentEvent::Moved(Move { until, ..moved })));
        happens
    }

    pub fn into_events(self) -> Vec<AgentEvent> {
        self.events
    }
}
