//! What comes about by the clock: which times are waited for, and what is asked when one has passed.
//!
//! Changes nothing. The rules are in the lives.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Fleet, of, told};
use crate::agent::{self, Agent};
use crate::effect::{Plan, Timer};
use crate::entity::Entity;
use crate::escalation;
use crate::event::Event;
use crate::handoff;
use crate::hearing::Obstacle;
use crate::id::{AgentId, TaskId};
use crate::message;
use crate::name::NameKey;
use crate::rest::{self, LOOKED_AT_AGAIN_AFTER};
use crate::round;
use crate::snapshot;
use crate::task::{self, TaskEvent};
use crate::time::Time;

impl Fleet {
    /// A time that `plan` named has passed.
    pub(super) fn due(&self, entity: &Entity, timer: Timer, now: Time) -> Vec<Event> {
        match entity {
            Entity::Agent(id) => {
                let Some(known) = self.agents.get(*id) else { return Vec::new() };
                let may_start = self.agents.may_start(*id, self.policy.max_running);
                let events = of(*id, agent::due(known, may_start, now), now);
                // What the agent comes to by itself goes first: its session may be over then.
                if !events.is_empty() {
                    return events;
                }
                let old = snapshot::due(known, self.policy.snapshots, now);
                if let Some(dropped) = old.filter(|_| timer == Timer::Retain) {
                    return of(*id, vec![dropped], now);
                }
                match timer {
                    Timer::Rest => rest::due(self, *id, now),
                    Timer::Handoff => handoff::due(self, *id, now),
                    Timer::StateEnds
                    | Timer::Dialog
                    | Timer::Turn
                    | Timer::Offer
                    | Timer::Settled
                    | Timer::Round
                    | Timer::Unseen
                    | Timer::Raise
                    | Timer::Keep
                    | Timer::Retain
                    | Timer::CheckLost => {
                        told(round::due(self, *id, now).into_iter().collect(), now)
                    }
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

    /// When to look again at a time that has come, because something stands in the agent's input line: the end of its
    /// session would take a person's words away (RE3, HA8).
    pub fn put_off_by_line(
        &self,
        entity: &Entity,
        timer: Timer,
        obstacle: impl FnOnce(&Agent) -> Option<Obstacle>,
    ) -> Option<Duration> {
        let agent = self.agent(entity.agent()?)?;
        let ends_session = match timer {
            Timer::Rest => agent::is_idle(agent),
            Timer::Handoff => handoff::due_at(self, agent).is_some(),
            Timer::StateEnds
            | Timer::Dialog
            | Timer::Turn
            | Timer::Offer
            | Timer::Settled
            | Timer::Round
            | Timer::Unseen
            | Timer::Raise
            | Timer::Keep
            | Timer::Retain
            | Timer::CheckLost => false,
        };
        let stands = obstacle(agent).filter(|_| ends_session)?;
        stands.may_be_a_persons().then_some(LOOKED_AT_AGAIN_AFTER)
    }

    /// What to do for an agent, and when its role next asks for a round or a handoff.
    pub(super) fn plan_agent(&self, id: AgentId, now: Time) -> Plan {
        let mut plan = self.agents.plan(id, self.policy.max_running, now);
        let own = self.agent(id).filter(|_| self.is_own(&Entity::Agent(id)));
        let round_at = own.and_then(|agent| round::due_at(self, agent));
        plan.timers.extend(round_at.map(|at| (Timer::Round, at)));
        let handoff_at = own.and_then(|agent| handoff::due_at(self, agent));
        plan.timers.extend(handoff_at.map(|at| (Timer::Handoff, at)));
        let rest_at = own.and_then(|agent| rest::due_at(self, agent));
        plan.timers.extend(rest_at.map(|at| (Timer::Rest, at)));
        let retain_at = own.and_then(|agent| snapshot::due_at(agent, self.policy.snapshots));
        plan.timers.extend(retain_at.map(|at| (Timer::Retain, at)));
        plan
    }

    /// Folds one event of a task; returns what to plan again. What lies on a role's queue concerns its holders, and so
    /// does a task there that no longer waits for this one.
    pub(super) fn task_evolved(&mut self, id: TaskId, event: &TaskEvent, at: Time) -> Vec<Entity> {
        let before = self.queues_with(id);
        let mut touched = self.tasks.evolve(id, event, at);
        let roles = before.into_iter().chain(self.queues_with(id)).collect::<BTreeSet<_>>();
        let holders = roles.iter().flat_map(|role| self.roles.holders(role));
        touched.extend(holders.map(Entity::Agent));
        touched
    }

    /// The roles on whose queues this task lies, and those that wait for it.
    fn queues_with(&self, id: TaskId) -> Vec<NameKey> {
        let own = self.tasks.get(id).and_then(|task| task.queue.role());
        let waiting = self.tasks.dependants(id).filter_map(|task| task.queue.role());
        own.into_iter().chain(waiting).collect()
    }
}
