//! The hearings of all agents: each agent's newest session has one.

use std::collections::BTreeMap;

use super::{Heard, Hearing, Kept, Limits, dated};
use crate::agent::Agent;
use crate::fact::{Fact, Seen};
use crate::fleet::Fleet;
use crate::id::{AgentId, SessionNumber};
use crate::message::{self, Trace};
use crate::observation::Sign;
use crate::time::Time;

#[derive(Debug, Clone, Default)]
pub struct Hearings {
    limits: Limits,
    by_agent: BTreeMap<AgentId, Hearing>,
}

impl Hearings {
    /// What the sessions of this fleet go on with: the record, and what an earlier daemon kept.
    pub fn resume(fleet: &Fleet, kept: &BTreeMap<AgentId, Kept>, limits: Limits) -> Hearings {
        let hearing = |agent: &Agent| {
            let kept = kept.get(&agent.id).copied().unwrap_or_default();
            let reminded = message::last_reminder(fleet, agent.id);
            Some((agent.id, Hearing::resume(agent, kept, reminded)?))
        };
        Hearings { limits, by_agent: fleet.agents().filter_map(hearing).collect() }
    }

    /// Those of one agent alone.
    pub fn of(&self, agent: AgentId) -> Hearings {
        let by_agent = self.by_agent.get(&agent).map(|hearing| (agent, hearing.clone()));
        Hearings { limits: self.limits, by_agent: by_agent.into_iter().collect() }
    }

    pub fn get(&self, agent: AgentId) -> Option<&Hearing> {
        self.by_agent.get(&agent)
    }

    /// H1: takes in a fact of session `number`, if that is the live one. What it did is work of the agent's also once it
    /// is over.
    pub fn hear(&mut self, agent: &Agent, number: SessionNumber, fact: &Fact, now: Time) -> Heard {
        let at = dated(fact, now);
        let work = if let Seen::Worked(indicator) = fact.seen {
            Some(Sign::Worked { indicator, at })
        } else {
            (fact.seen == Seen::Committed).then_some(Sign::Committed { at })
        };
        if let Some(sign) = work {
            return Heard { signs: vec![sign], ..Heard::default() };
        }
        if agent.live_session().is_none_or(|session| session.number != number) {
            return Heard::default();
        }
        let before = self.by_agent.get(&agent.id);
        if before.is_none_or(|before| before.number() != number) {
            let hearing = Hearing::begin(number, before);
            self.by_agent.insert(agent.id, hearing);
        }
        let limits = self.limits;
        let hearing = self.by_agent.get_mut(&agent.id);
        hearing.map(|hearing| hearing.hear(agent, fact, limits, now)).unwrap_or_default()
    }

    /// What a fact of session `number`, which was heard, tells of texts.
    pub fn trace(
        &self,
        agent: &Agent,
        number: SessionNumber,
        fact: &Fact,
        now: Time,
    ) -> Option<Trace> {
        let is_live = agent.live_session().is_some_and(|session| session.number == number);
        let hearing = self.by_agent.get(&agent.id).filter(|_| is_live);
        let is_elsewhere = hearing.is_some_and(|hearing| !hearing.is_in(agent, fact));
        message::trace(fact, now)
            .filter(|trace| !(is_elsewhere && matches!(trace, Trace::Settled { .. })))
    }

    /// Nothing is heard of this agent any more.
    pub fn forget(&mut self, agent: AgentId) {
        self.by_agent.remove(&agent);
    }
}
