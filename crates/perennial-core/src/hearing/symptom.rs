//! Symptoms of a window that is running out: what is said of it, and what the harness announces and does.

use super::{Hearing, began_by};
use crate::agent::Agent;
use crate::fact::{Fact, Failure, Seen};
use crate::observation::Sign;
use crate::symptom::{self, Symptom};
use crate::time::Time;

impl Hearing {
    /// What a fact of the session's own conversation says of its window.
    pub(super) fn symptom(&mut self, agent: &Agent, fact: &Fact, at: Time) -> Option<Sign> {
        if !self.is_own(agent, fact) {
            return None;
        }
        if let Seen::CompactionAnnounced { is_certain } = fact.seen {
            self.announced(agent, is_certain, at)
        } else if let Seen::Symptom(symptom) = fact.seen {
            self.said(agent, fact, symptom, at)
        } else if let Seen::CallFailed(Failure::Thrash) = fact.seen {
            self.thrashed(agent, at)
        } else {
            None
        }
    }

    /// H24: a hook announces a compaction.
    fn announced(&mut self, agent: &Agent, is_certain: bool, at: Time) -> Option<Sign> {
        // It has come about since.
        let is_late = at <= self.compacted_at.max(self.window_at(agent));
        let is_again = self.known_announcement(agent).is_some_and(|before| {
            // Of two that are meant in one session there is a word of the model between.
            let is_same = !is_certain || self.spoke_at <= before;
            at <= before || began_by(agent, before) && is_same
        });
        let sample = self.sample.map(|(sample, _)| sample);
        let is_meant = is_certain || sample.as_ref().is_some_and(symptom::is_used_up);
        let sign = Sign::Symptom { symptom: Symptom::Compaction, sample };
        let counts = is_meant && !is_late && !is_again;
        self.announced_at = self.announced_at.max(counts.then_some(at));
        counts.then_some(sign)
    }

    /// When the compaction was announced that is ahead. While the journal fails, the record does not have it yet.
    fn known_announcement(&self, agent: &Agent) -> Option<Time> {
        agent.handoff.announced.max(self.announced_at)
    }

    /// H24: a compaction has come about.
    pub(super) fn unannounced(&self, agent: &Agent) -> Option<Sign> {
        let sample = self.sample.map(|(sample, _)| sample);
        let sign = Sign::Symptom { symptom: Symptom::Compacted, sample };
        self.known_announcement(agent).is_none().then_some(sign)
    }

    /// H25: a text has a symptom.
    fn said(&mut self, agent: &Agent, fact: &Fact, symptom: Symptom, at: Time) -> Option<Sign> {
        if at <= self.window_at(agent) || !began_by(agent, at) {
            return None;
        }
        let is_own_word = symptom == Symptom::OwnWord && !fact.is_old;
        self.said_at = self.said_at.max(is_own_word.then_some(at));
        let sample = self.sample.filter(|_| !fact.is_old).map(|(sample, _)| sample);
        Some(Sign::Symptom { symptom, sample })
    }

    /// H25: the first figures behind the agent's own words.
    pub(super) fn weighed(&mut self, signs: &[Sign], at: Time) -> Option<Sign> {
        let has_measured = signs.iter().any(|sign| matches!(sign, Sign::Measured { .. }));
        self.said_at.take_if(|said| has_measured && at > *said)?;
        let sample = self.sample.map(|(sample, _)| sample);
        Some(Sign::Symptom { symptom: Symptom::OwnWord, sample })
    }

    /// The harness gave up, because compactions don't help. Read again after the window has begun anew, it says nothing.
    fn thrashed(&self, agent: &Agent, at: Time) -> Option<Sign> {
        let sample = self.sample.map(|(sample, _)| sample);
        let is_of_window = at > self.window_at(agent) && began_by(agent, at);
        is_of_window.then_some(Sign::Symptom { symptom: Symptom::Thrash, sample })
    }

    /// When the window began, by the earliest word for it.
    pub(super) fn window_at(&self, agent: &Agent) -> Time {
        let recorded = agent.clock.since.unwrap_or_default();
        self.window_from.map_or(recorded, |from| from.min(recorded))
    }
}
