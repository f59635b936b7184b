//! The batch of one decision or report: its events, each with what follows at once from it. Decides nothing itself:
//! what follows is `consequence.rs`'s word.

use super::Fleet;
use crate::agent::{self, Agent};
use crate::consequence;
use crate::event::{AgentEvent, Event, What};
use crate::time::Time;

impl Fleet {
    /// The events, each with what follows at once from it.
    pub(super) fn with_consequences(&self, events: Vec<Event>) -> Vec<Event> {
        if !events.iter().any(|event| consequence::has_any(self, event)) {
            return events;
        }
        let mut batch = Vec::with_capacity(events.len() + 2);
        let mut changed: Vec<Agent> = Vec::new();
        for (position, event) in events.iter().enumerate() {
            batch.push(event.clone());
            let Some((id, what)) = event.of_agent() else {
                follow(&mut batch, consequence::of_other(self, event), event.at);
                continue;
            };
            let known = changed.iter().position(|agent| agent.id == id);
            let before = match known {
                Some(known) => Some(changed.swap_remove(known)),
                None => self.agents.get(id).cloned(),
            };
            let after = match (&before, what) {
                (_, AgentEvent::Hatched(birth)) => Agent::born(id, birth, event.at),
                (Some(before), _) => {
                    let mut after = before.clone();
                    agent::evolve(&mut after, what, event.at);
                    after
                }
                (None, _) => continue,
            };
            let later = &events[position + 1..];
            let follows = consequence::of(self, before.as_ref(), &after, event, later);
            follow(&mut batch, follows, event.at);
            changed.push(after);
        }
        batch
    }
}

/// Adds what follows from an event to its batch, but for what is over in it.
fn follow(batch: &mut Vec<Event>, follows: Vec<What>, at: Time) {
    for what in follows {
        let event = Event { at, what };
        if !consequence::is_over(batch, &event) {
            batch.push(event);
        }
    }
}
