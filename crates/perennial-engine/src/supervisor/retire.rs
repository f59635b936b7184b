//! What is over leaves memory (U5).

use perennial_core::entity::Entity;
use perennial_core::id::AgentId;
use perennial_store::journal::Version;

use super::Supervisor;

/// What was let go.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Retired {
    pub agents: Vec<AgentId>,
    /// What stayed only for the sake of those, and may go now.
    pub next: Vec<Entity>,
}

impl Supervisor {
    /// How many agents have left memory in this run.
    pub fn retired(&self) -> u64 {
        self.retired
    }

    /// Lets go of what is over, where the store has it as it is: at the version that is given. Returns
    /// the agents that are gone.
    pub fn retire(&mut self, kept: &[(Entity, Version)]) -> Retired {
        let mut retired = Retired::default();
        for (entity, version) in kept {
            let is_kept = self.versions.get(entity) == Some(version);
            let is_over = self.durable.is_over(entity) && self.newest.is_over(entity);
            if !is_kept || !is_over || self.under_way.contains_key(entity) {
                continue;
            }
            self.newest.retire(entity);
            let parent = self.durable.retire(entity);
            self.forget(entity);
            retired.agents.extend(entity.agent());
            retired.next.extend(parent.filter(|parent| self.durable.is_over(parent)));
        }
        self.retired += retired.agents.len() as u64;
        retired
    }

    pub(super) fn forget(&mut self, entity: &Entity) {
        self.versions.remove(entity);
        self.timers.set(entity, Vec::new());
        self.interpreter.forget(entity);
    }
}
