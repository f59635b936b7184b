//! What an agent is set to, and what it says of its own work. Changes nothing.

use super::{Decision, Fleet};
use crate::agent::{self, Agent, Start};
use crate::authority::Caller;
use crate::command::{Set, Then};
use crate::entity::Entity;
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::time::Time;
use crate::work::WorkPhase;

impl Fleet {
    /// A parent that is the agent itself, or below it, would make a circle.
    pub(super) fn set(&self, caller: Caller, set: &Set, now: Time) -> Result<Decision, Refusal> {
        let agent = self.allowed(caller, Verb::Set, &set.target)?;
        let witness = caller.witness(Verb::Set)?;
        let mut read = Vec::new();
        let settings = set.settings.clone().with_parent(|target| {
            let parent = self.agents.parent(&target)?;
            read.extend(self.agents.upwards(parent).map(Entity::Agent));
            match parent == agent.id || self.is_above(agent.id, parent) {
                true => Err(Refusal::ParentBelow { agent: agent.id, parent }),
                false => Ok(parent),
            }
        })?;
        let mut events = agent::set(agent, settings, witness, now)?;
        let mut changed = agent.clone();
        events.iter().for_each(|event| agent::evolve(&mut changed, event, now));
        events.extend(match set.then {
            Then::Nothing => Vec::new(),
            Then::Wake => agent::wake(&changed, Start::Continue, witness, now)?,
            Then::Restart => agent::restart(&changed, Start::Continue, witness, now)?,
            Then::WakeFresh => agent::wake(&changed, Start::Fresh, witness, now)?,
            Then::RestartFresh => agent::restart(&changed, Start::Fresh, witness, now)?,
        });
        Ok(Decision { read, ..Decision::of(agent.id, events, now) })
    }

    pub(super) fn wake(
        &self,
        caller: Caller,
        target: &str,
        start: Start,
        now: Time,
    ) -> Result<Decision, Refusal> {
        let wake = |one: &Agent, by| agent::wake(one, start, by, now);
        self.asked(caller, Verb::Wake, target, wake, now)
    }

    pub(super) fn restart(
        &self,
        caller: Caller,
        target: &str,
        start: Start,
        now: Time,
    ) -> Result<Decision, Refusal> {
        let restart = |one: &Agent, by| agent::restart(one, start, by, now);
        self.asked(caller, Verb::Restart, target, restart, now)
    }

    /// An agent says where its own work stands.
    pub(super) fn reported(
        &self,
        caller: Caller,
        (phase, summary): (Option<WorkPhase>, Option<String>),
        now: Time,
    ) -> Result<Decision, Refusal> {
        let own = caller.own_session()?;
        let agent = self.allowed(caller, Verb::Report, &own.to_string())?;
        Ok(Decision::of(agent.id, agent::report(agent, phase, summary), now))
    }
}
