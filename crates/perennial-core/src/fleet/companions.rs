//! Whom an agent is told of when its session begins: the other living agents, and which are its siblings.

use super::Fleet;
use crate::agent::Agent;
use crate::state::Roster;

/// Another living agent.
#[derive(Debug, Clone, Copy)]
pub struct Companion<'a> {
    pub agent: &'a Agent,
    /// It has the same parent, or works in the same project, and neither is the other's parent.
    pub is_sibling: bool,
}

impl Fleet {
    /// The other living agents.
    pub fn companions<'a>(&'a self, own: &Agent) -> impl Iterator<Item = Companion<'a>> {
        let (id, parent, project) = (own.id, own.parent, own.launch.project.clone());
        let others = self.agents().filter(move |other| other.id != id);
        let living = others.filter(|other| other.state.roster() == Roster::Living);
        living.map(move |agent| {
            let has_same_parent = parent.is_some() && agent.parent == parent;
            let is_near = has_same_parent || agent.launch.project == project;
            let is_family = parent == Some(agent.id) || agent.parent == Some(id);
            Companion { agent, is_sibling: is_near && !is_family }
        })
    }
}
