//! What comes about by the clock: which times are waited for, and what is asked when one has passed.
//!
//! Changes nothing. The rules are in the lives.

use super::{Fleet, of, told};
use crate::agent;
use crate::effect::{Plan, Timer};
use crate::entity::Entity;
use crate::escalation;
use crate::event::Event;
use crate::id::AgentId;
use crate::message;
use crate::round;
use crate::task;
use crate::time::Time;

impl Fleet {
    /// A time that `plan` named has passed.
    pub(super) fn due(&self, entity: &Entity, now: Time) -> Vec<Event> {
        match entity {
            Entity::Agent(id) => {
                let Some(known) = self.agents.get(*id) else { return Vec::new() };
                let events = of(*id, agent::due(known, self.agents.may_start(*id), now), now);
                // What the agent comes to by itself goes first: its session may be over then.
                match events.is_empty() {
                    true => told(round::due(self, *id, now).into_iter().collect(), now),
                    false => events,
                }
            }
            Entity::Message(id) => told(message::due(self, *id, now), now),
            Entity::Escalation(id) => escalation::due(self, *id, now),
            Entity::Task(id) => {
                let events = task::due(self, *id, now).into_iter();
                events.map(|what| Event { at: now, what }).collect()
            }
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Job(_) => Vec::new(),
        }
    }

    /// What to do for an agent, and when its role next asks for a round.
    pub(super) fn plan_agent(&self, id: AgentId, now: Time) -> Plan {
        let mut plan = self.agents.plan(id, now);
        let own = self.agent(id).filter(|_| self.is_own(&Entity::Agent(id)));
        let round_at = own.and_then(|agent| round::due_at(self, agent));
        plan.timers.extend(round_at.map(|at| (Timer::Round, at)));
        plan
    }
}
