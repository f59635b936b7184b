//! The operator's limit on running sessions (H-20): a start that was decided waits in line where there is no room for it.
//!
//! Pure. The lives decide that a session begins; whether now or in its turn is said here, in the same batch. Who waits
//! starts by `agents::line`, as after a reboot.

use super::Fleet;
use crate::event::{AgentEvent, Event};
use crate::id::AgentId;

impl Fleet {
    /// The events, without the starts for which there is no room: those sessions are wanted, and wait.
    pub(super) fn within_room(&self, events: Vec<Event>) -> Vec<Event> {
        let events = self.outside_restores(events);
        let Some(most) = self.policy.max_running else { return events };
        let is_free = |id| self.agents.held_back_by(id).is_none();
        let mut others = 0;
        let mut events = events;
        events.retain(|event| {
            let Some((id, AgentEvent::SessionStarting { .. })) = event.of_agent() else {
                return true;
            };
            // Another node has a limit of its own.
            let is_own = self.agents.get(id).is_none_or(|agent| self.agents.is_own(agent));
            let may = !is_own || self.agents.line().has_room(id, others, most, &is_free);
            others += usize::from(may && is_own && !self.agents.line().has_begun(id));
            may
        });
        events
    }

    /// The events, without the starts in work trees in which files are being restored (SR1).
    fn outside_restores(&self, mut events: Vec<Event>) -> Vec<Event> {
        let held = |event: &Event| match event.of_agent() {
            Some((id, AgentEvent::SessionStarting { .. })) => {
                self.agents.starts_in_restore(id, &events)
            }
            Some(_) | None => false,
        };
        if !self.agents.restores().is_empty() {
            let held: Vec<bool> = events.iter().map(held).collect();
            let mut held = held.into_iter();
            events.retain(|_| held.next() != Some(true));
        }
        events
    }

    /// Whose restore keeps the next session of an agent from starting.
    pub fn held_back_by(&self, id: AgentId) -> Option<AgentId> {
        self.agents.held_back_by(id)
    }

    /// Whose restore goes on in a work tree.
    pub fn restore_in(&self, work_tree: &str) -> Option<AgentId> {
        self.agents.restores().overlapping(work_tree)
    }

    /// How many sessions of this node have begun and not ended.
    pub fn running(&self) -> usize {
        self.agents.line().running()
    }

    /// The place in line of an agent whose session waits to start, counted from 1, and how many wait.
    pub fn place_in_line(&self, id: AgentId) -> Option<(usize, usize)> {
        self.agents.line().place(id)
    }
}
