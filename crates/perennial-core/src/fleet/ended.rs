//! What has ended: which entities may leave memory, and what is asked of one that has left.
//!
//! Pure. Who lets an entity go has its last state in the store first.

use super::{Fleet, Restored};
use crate::agent::Agent;
use crate::entity::Entity;
use crate::id::AgentId;
use crate::job::Job;
use crate::name::NameKey;
use crate::state::Roster;
use crate::task::Task;

impl Fleet {
    /// The agent that a target must mean, whoever else had the name and has left memory.
    pub fn holder_of(&self, target: &str) -> Option<&Agent> {
        self.agents.holder_of(target)
    }

    /// Everybody in memory who has or had this name last, oldest first.
    pub fn named(&self, name: &NameKey) -> impl Iterator<Item = &Agent> {
        self.agents.named(name)
    }

    /// The ancestors of an agent, the nearest first.
    pub fn ancestors(&self, id: AgentId) -> impl Iterator<Item = &Agent> {
        self.agents.upwards(id).skip(1).filter_map(|id| self.agent(id))
    }

    /// Those of them outside the cemetery: the nearest answers for the agent; where there is none, the operator does.
    pub fn guardians(&self, id: AgentId) -> impl Iterator<Item = &Agent> {
        self.ancestors(id).filter(|agent| agent.state.roster() != Roster::Cemetery)
    }

    /// Whether this is in memory.
    pub fn has(&self, entity: &Entity) -> bool {
        match entity {
            Entity::Agent(id) => self.agents.get(*id).is_some(),
            Entity::Message(id) => self.messages.get(*id).is_some(),
            Entity::Job(id) => self.jobs.get(*id).is_some(),
            Entity::Node(_) => true,
            Entity::Role(key) => self.roles.get(key).is_some(),
            Entity::Escalation(id) => self.escalations.get(*id).is_some(),
            Entity::Task(id) => self.tasks.get(*id).is_some(),
            Entity::Name(_) | Entity::Conversation(_) | Entity::Post(_) | Entity::Signal(_) => {
                false
            }
        }
    }

    /// Whether this is in memory and has ended for good: it changes no more, and once its last
    /// effects were given out nothing is left to do for it. (Messages and escalations leave as they end.)
    pub fn is_over(&self, entity: &Entity) -> bool {
        match entity {
            Entity::Agent(id) => {
                let has_mail = self.messages.of(*id).next().is_some();
                self.agents.is_over(*id) && !has_mail && !self.escalations.climbs_for(*id)
            }
            Entity::Job(id) => self.jobs.get(*id).is_some_and(Job::is_over),
            Entity::Task(id) => self.tasks.get(*id).is_some_and(Task::is_over),
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Message(_)
            | Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Escalation(_) => false,
        }
    }

    /// Forgets what has ended; returns what may have ended with it.
    pub fn retire(&mut self, entity: &Entity) -> Option<Entity> {
        match entity {
            Entity::Agent(id) => {
                self.spending.remove(id);
                self.agents.retire(*id).map(Entity::Agent)
            }
            Entity::Job(id) => {
                self.jobs.retire(*id);
                None
            }
            Entity::Task(id) => {
                self.tasks.retire(*id);
                None
            }
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Message(_)
            | Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Escalation(_) => None,
        }
    }

    /// A fleet of agents that have left memory, the first of them and those of its ancestors that have,
    /// and of the ancestors that have not: to answer what is asked of the first.
    pub fn around(&self, ended: &[Agent]) -> Fleet {
        self.around_with(ended, Vec::new())
    }

    /// The same, with the tasks that something is asked of too.
    pub fn around_with(&self, ended: &[Agent], tasks: Vec<Task>) -> Fleet {
        let above = |agent: &Agent| agent.parent.and_then(|id| self.agent(id));
        let last = ended.last().and_then(above);
        let ancestors = std::iter::successors(last, |agent| above(agent)).take(self.agents.len());
        let agents = ancestors.cloned().chain(ended.iter().cloned()).collect();
        Fleet::restore(Restored { node: self.node, agents, tasks, ..Restored::default() })
    }
}
