//! In which work trees files are being restored, so that no session starts there (SR1).
//!
//! Pure. Follows from the agents alone. Without a restore, which is nearly always, no question costs anything.

use std::collections::BTreeMap;

use super::Agents;
use crate::agent::Agent;
use crate::entity::Entity;
use crate::event::{AgentEvent, Event};
use crate::id::AgentId;
use crate::snapshot::is_in;

/// The work tree by the agent whose snapshot is restored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restores(BTreeMap<AgentId, String>);

impl Restores {
    /// Keeps the list after an agent has changed; returns a work tree that is free again.
    pub fn keep(&mut self, agent: &Agent) -> Option<String> {
        // Nothing waits for one whose record can't be read: it may have ended.
        let restoring = agent.snapshot_record.restoring.as_ref();
        match restoring.filter(|_| !agent.is_damaged()) {
            Some(it) if self.0.get(&agent.id) == Some(&it.work_tree) => None,
            Some(it) => self.0.insert(agent.id, it.work_tree.clone()),
            None if self.0.is_empty() => None,
            None => self.0.remove(&agent.id),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether files are being restored from a snapshot of this agent.
    pub fn is_of(&self, id: AgentId) -> bool {
        self.0.contains_key(&id)
    }

    /// Whose restore goes on where this directory is.
    pub fn around(&self, dir: &str) -> Option<AgentId> {
        self.0.iter().find(|(_, tree)| is_in(dir, tree)).map(|(id, _)| *id)
    }

    /// Whose restore goes on in this work tree, above or below it.
    pub fn overlapping(&self, work_tree: &str) -> Option<AgentId> {
        let overlaps = |tree: &str| is_in(work_tree, tree) || is_in(tree, work_tree);
        self.0.iter().find(|(_, tree)| overlaps(tree)).map(|(id, _)| *id)
    }
}

impl Agents {
    pub fn restores(&self) -> &Restores {
        &self.restores
    }

    /// Whose restore keeps the agent's next session from starting.
    pub fn held_back_by(&self, id: AgentId) -> Option<AgentId> {
        let agent = (!self.restores.is_empty()).then(|| self.get(id)).flatten()?;
        self.restores.around(&agent.launch.dir)
    }

    /// Whether a session of the agent may start now, with this limit on running sessions. Those that a restore holds back stand in
    /// nobody's way.
    pub fn may_start(&self, id: AgentId, most: Option<usize>) -> bool {
        let is_free = |id| self.held_back_by(id).is_none();
        is_free(id) && self.line.may_start(id, most, &is_free)
    }

    /// Whether a start that was decided together with these events has to wait for a restore.
    pub fn starts_in_restore(&self, id: AgentId, events: &[Event]) -> bool {
        if self.restores.is_empty() {
            return false;
        }
        let mut dir = self.get(id).map(|agent| agent.launch.dir.clone());
        for (_, event) in events.iter().filter_map(Event::of_agent).filter(|(of, _)| *of == id) {
            if let AgentEvent::Hatched(birth) = event {
                dir = Some(birth.launch.dir.clone());
            }
            if let AgentEvent::SettingsChanged { settings, .. } = event
                && let Some(place) = &settings.place
            {
                dir = Some(place.dir.clone());
            }
        }
        dir.is_some_and(|dir| self.restores.around(&dir).is_some())
    }

    /// Whose sessions wait to start in a work tree.
    pub(super) fn waiting_in(&self, work_tree: &str) -> Vec<Entity> {
        let waits = |agent: &&Agent| agent.waits_in_line() && is_in(&agent.launch.dir, work_tree);
        self.iter().filter(waits).map(|agent| Entity::Agent(agent.id)).collect()
    }
}
