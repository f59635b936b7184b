//! Damaged records: one that was committed can't be read any more when the next daemon starts.
//!
//! Does what the store's `load` does with such a record: it is left out of the fold, its agent is
//! marked, and what the operator ordered after it outranks the mark.

use std::collections::BTreeMap;

use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::fleet::{self, Fleet};
use perennial_core::id::AgentId;
use perennial_core::time::Time;

use crate::mutation::Mutation;
use crate::world::World;

const WHY: &str = "a damaged record";

impl World {
    /// A record of a living agent becomes unreadable while no daemon runs.
    pub fn damage_a_record(&mut self) {
        if !self.daemons.is_empty() {
            return;
        }
        let may_be_damaged = |event: &Event| {
            event
                .of_agent()
                .is_some_and(|(id, what)| is_survivable(what) && self.judge.is_living(id))
        };
        let positions: Vec<usize> = self
            .journal
            .events()
            .enumerate()
            .filter_map(|(position, event)| may_be_damaged(event).then_some(position))
            .collect();
        // The newest records decide more than the oldest.
        let newest = &positions[positions.len().saturating_sub(8)..];
        if let Some(position) = self.random.pick(newest).copied() {
            self.damage(position);
        }
    }

    /// The newest record of this agent becomes unreadable.
    pub fn damage_newest(&mut self, id: AgentId) {
        let is_its = |event: &Event| matches!(event.what, What::Agent(own, _) if own == id);
        let positions = self.journal.events().enumerate().filter(|(_, event)| is_its(event));
        if let Some(position) = positions.map(|(position, _)| position).last() {
            self.damage(position);
        }
    }

    fn damage(&mut self, position: usize) {
        let Some(event) = self.journal.events().nth(position).cloned() else {
            return;
        };
        self.tell(|| format!("this record becomes unreadable: {}", crate::words::event(&event)));
        self.journal.damaged.insert(position);
        // What is not recorded any more need not agree with the machine.
        self.ledger.is_blurred = true;
        self.ledger.is_forgetful = true;
        let (_, marks) = self.fold_readable();
        if let What::Agent(id, _) = event.what {
            self.judge.damaged(id, marks.contains_key(&id));
        }
        self.ledger.record = self.fold();
    }

    /// The fleet as a daemon finds it in the journal.
    pub fn fold(&self) -> Fleet {
        let (mut fleet, marks) = self.fold_readable();
        if self.mutation != Some(Mutation::DamageNotHeld) {
            for (id, at) in marks {
                fleet.mark_unreadable(id, WHY, at);
            }
        }
        fleet
    }

    fn fold_readable(&self) -> (Fleet, BTreeMap<AgentId, Time>) {
        let mut fleet = Fleet::default().under(self.policy.clone());
        fleet.set_behind(self.machine.behind);
        let mut marks = BTreeMap::new();
        for (position, event) in self.journal.events().enumerate() {
            if !self.journal.damaged.contains(&position) {
                fleet.evolve(event);
                if let Some((id, _)) = event.of_agent().filter(|_| fleet::is_known_again(event)) {
                    marks.remove(&id);
                }
            } else if let Some((id, _)) = event.of_agent() {
                marks.entry(id).or_insert(event.at);
            }
        }
        (fleet, marks)
    }
}

/// Not the birth or the number of a session: those are other damages.
fn is_survivable(event: &AgentEvent) -> bool {
    !matches!(event, AgentEvent::Hatched(_) | AgentEvent::SessionWanted { .. })
}
