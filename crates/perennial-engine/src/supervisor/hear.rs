//! What is heard of an agent CLI, within the step: facts become reports, and what keys reach is told.

use perennial_core::effect::{Effect, FocusEffect};
use perennial_core::fact::{Fact, Seen};
use perennial_core::hearing::{self, Hearing, Obstacle, Tell};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::message::{self, Trace};
use perennial_core::observation::Observation;
use perennial_core::time::Time;

use super::{Output, Supervisor};

impl Supervisor {
    /// What is concluded from a fact becomes reports: told again, if need be, as the signs that they
    /// are (U4).
    pub(super) fn heard(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        fact: &Fact,
        now: Time,
    ) -> Vec<Output> {
        let Some(known) = self.newest.agent(agent) else {
            return Vec::new();
        };
        let before = self.hearings.get(agent);
        let was_in_the_way = before.is_some_and(|before| before.obstacle(known).is_some());
        let heard = self.hearings.hear(known, number, fact, now);
        let mut reports: Vec<Observation> = heard
            .signs
            .into_iter()
            .map(|sign| Observation::Harness { agent, number, sign })
            .collect();
        let traced = |trace| Observation::Traced { agent, number, trace };
        reports.extend(message::trace(fact, now).map(traced));
        let mut outputs = Vec::new();
        for tell in heard.tell {
            match tell {
                Tell::Briefing => outputs.push(Output::Brief { agent }),
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
        if was_in_the_way && self.obstacle(agent).is_none() {
            outputs.extend(self.observed(traced(Trace::LineFree), now));
        }
        outputs.extend(self.focus(agent).map(Output::Carry));
        if fact.seen == Seen::Suspended {
            outputs.push(Output::Carry(Effect::Continue { agent, number }));
        }
        let silent = heard.silence.map(|lasted| Output::Silent { agent, number, lasted });
        outputs.extend(silent);
        outputs
    }

    /// What stands in the way of typing, as far as it was heard.
    fn obstacle(&self, agent: AgentId) -> Option<Obstacle> {
        let known = self.newest.agent(agent)?;
        self.hearings.get(agent)?.obstacle(known)
    }

    /// What the holder of an agent CLI's session is to know, if that has changed.
    pub(super) fn focus(&mut self, agent: AgentId) -> Option<Effect> {
        let effect = self.focus_of(agent)?;
        let before = self.focused.insert(agent, effect);
        (before != Some(effect)).then_some(Effect::Focus(effect))
    }

    /// What keys reach in an agent's session now.
    pub fn focus_of(&self, agent: AgentId) -> Option<FocusEffect> {
        let known = self.durable.agent(agent).filter(|known| !known.launch.is_bare())?;
        let number = known.live_session()?.number;
        let focus = hearing::focus(known, self.hearings.get(agent));
        Some(FocusEffect { agent, number, focus })
    }
}
