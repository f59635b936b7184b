//! What is heard of an agent CLI, within the step: facts become reports, and holders are told.

use perennial_core::agent::Agent;
use perennial_core::effect::Timer;
use perennial_core::entity::Entity;
use perennial_core::fact::Fact;
use perennial_core::hearing::{self, Hearing, Obstacle, Tell};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::message::{self, Trace};
use perennial_core::observation::Observation;
use perennial_core::time::Time;

use super::{Output, Supervisor};

impl Supervisor {
    /// What an agent has spent in all.
    pub fn set_spent(&mut self, agent: AgentId, tokens: u64) {
        self.newest.set_spent(agent, tokens);
        self.durable.set_spent(agent, tokens);
    }

    /// What is concluded from a fact becomes reports: told again, if need be, as the signs that they
    /// are (U4).
    pub(super) fn heard(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        fact: &Fact,
        now: Time,
    ) -> Vec<Output> {
        let fact = fact.by_core_time(self.newest.behind());
        let fact = &*message::as_recorded(&self.newest, agent, fact);
        let Some(known) = self.newest.agent(agent) else {
            return Vec::new();
        };
        let in_the_way = self.hearings.get(agent).and_then(|hearing| hearing.obstacle(known));
        let heard = self.hearings.hear(known, number, fact, now);
        let mut reports: Vec<Observation> = heard
            .signs
            .into_iter()
            .map(|sign| Observation::Harness { agent, number, sign })
            .collect();
        let traced = |trace| Observation::Traced { agent, number, trace };
        reports.extend(self.hearings.trace(known, number, fact, now).map(traced));
        let mut outputs = Vec::new();
        for tell in heard.tell {
            match tell {
                Tell::StartText(how) => drop(self.unbriefed.insert(agent, how)),
                Tell::Reminder { calls } => {
                    let sample = self.hearings.get(agent).and_then(Hearing::sample);
                    let sample = sample.map(|(sample, _)| sample);
                    reports.push(Observation::ReminderDue { agent, number, calls, sample });
                }
            }
        }
        for report in reports {
            outputs.extend(self.observed(report, now));
        }
        if hearing::frees_line(in_the_way, fact, self.obstacle(agent)) {
            outputs.extend(self.observed(traced(Trace::LineFree), now));
        }
        outputs.extend(self.tell_holder(agent));
        let silent = heard.silence.map(|lasted| Output::Silent { agent, number, lasted });
        outputs.extend(silent);
        outputs
    }

    /// What stands in the way of typing, as far as it was heard.
    fn obstacle(&self, agent: AgentId) -> Option<Obstacle> {
        let known = self.newest.agent(agent)?;
        self.hearings.get(agent)?.obstacle(known)
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Time) -> Vec<Output> {
        let mut outputs = self.late_replies(now);
        outputs.extend(self.let_go(now));
        outputs.extend(self.hear_late_facts(now));
        if self.tell_again_at.is_some_and(|at| at <= now) {
            outputs.extend(self.tell_again(now));
        }
        for (entity, timer) in self.timers.take_due(now) {
            outputs.extend(self.came_due(entity, timer, now));
        }
        outputs
    }

    /// The time of a timer has come; or it is looked at again, while something stands in the way.
    fn came_due(&mut self, entity: Entity, timer: Timer, now: Time) -> Vec<Output> {
        let obstacle = |agent: &Agent| self.hearings.get(agent.id)?.obstacle(agent);
        if let Some(later) = self.newest.put_off_by_line(&entity, timer, obstacle) {
            self.timers.add(&entity, timer, now + later);
            return Vec::new();
        }
        self.observed(Observation::Due { entity, timer }, now)
    }

    /// A holder that connects is told what still stands (`Effect::is_told_anew`).
    pub(super) fn connected(&mut self, agent: AgentId) -> Vec<Output> {
        self.interpreter.told_anew(agent);
        self.tell_holder(agent)
    }

    /// What the holder of an agent CLI's session is to know and to do, as far as that is new.
    pub(super) fn tell_holder(&mut self, agent: AgentId) -> Vec<Output> {
        let known = self.durable.agent(agent);
        let hearing = self.hearings.get(agent);
        let planned = known.map(|known| hearing::plan(known, hearing)).unwrap_or_default();
        self.interpreter.tell(agent, planned).into_iter().map(Output::Carry).collect()
    }
}
