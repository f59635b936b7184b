//! The window of a session: which figures count, and when a new one begins.

use super::{Heard, Hearing};
use crate::agent::Agent;
use crate::context::{Sample, Source};
use crate::fact::{Fact, Origin};
use crate::observation::Sign;
use crate::time::Time;

impl Hearing {
    pub(super) fn named(&mut self, model: Option<&String>) {
        if let Some(model) = model {
            self.model = Some(model.clone());
        }
    }

    /// A status line was drawn at the first of these times, and is heard at the second.
    pub(super) fn status_line(
        &mut self,
        fact: &Fact,
        sample: Option<Sample>,
        is_own: bool,
        (at, now): (Time, Time),
    ) -> Sign {
        self.line.is_awaited = false;
        let sample = sample.map(Sample::bounded).filter(|_| !self.is_late(at));
        self.held_sample = sample.filter(|_| self.awaits_answer()).map(|sample| (sample, at));
        let measured = sample.and_then(|sample| self.measured(fact, sample, is_own, now));
        measured.unwrap_or(Sign::Drawn)
    }

    /// H7, H8: a sample is taken, or is a sign of life at most.
    pub(super) fn measured(
        &mut self,
        fact: &Fact,
        sample: Sample,
        is_own: bool,
        now: Time,
    ) -> Option<Sign> {
        if self.awaits_answer() && sample.source != Source::Reported {
            return None;
        }
        let sign = Sign::Measured { conversation: fact.conversation.clone(), sample };
        if !is_own {
            // It names the conversation that it measures, so that nothing passes by it.
            return (sample.source == Source::StatusLine).then_some(sign);
        }
        if self.best.is_some_and(|best| best < sample.source) {
            return None;
        }
        self.best = Some(sample.source);
        self.sample = Some((sample, now));
        Some(sign)
    }

    /// H7: whether no word of the model is known since the last compaction. Hooks may be late: only
    /// the transcript has them in their order.
    pub(super) fn awaits_answer(&self) -> bool {
        match self.has_transcript {
            true => self.is_just_compacted || self.is_compaction_hinted,
            false => self.compacted_at > self.spoke_at,
        }
    }

    /// The transcript has an answer: a status line that was drawn with it may have been heard before.
    pub(super) fn answer_read(&mut self, fact: &Fact, at: Time, now: Time) -> Option<Sign> {
        self.spoke(at);
        let (sample, drawn) = self.held_sample.take()?;
        if self.is_late(drawn) { None } else { self.measured(fact, sample, true, now) }
    }

    /// H7: a status line that was drawn then has figures of the window before.
    pub(super) fn is_late(&self, drawn: Time) -> bool {
        drawn <= self.compacted_at || drawn < self.figures_from
    }

    /// A window begins in a conversation that goes on.
    pub(super) fn leave_window(&mut self, now: Time) {
        self.sample.take_if(|(_, measured)| *measured <= now);
    }

    /// A hook reported a compaction: samples wait for the transcript, unless it has the compaction
    /// already.
    pub(super) fn hint_at_compaction(&mut self) {
        self.is_compaction_hinted = !self.is_just_compacted;
    }

    /// H9: a compaction that the transcript has, or a hook where there is none.
    pub(super) fn compacted(
        &mut self,
        agent: &Agent,
        fact: &Fact,
        at: Time,
        now: Time,
        heard: &mut Heard,
    ) {
        if fact.origin == Origin::Hook && self.has_transcript {
            self.hint_at_compaction();
            return;
        }
        let was_hinted = std::mem::replace(&mut self.is_compaction_hinted, false);
        let is_transcript = fact.origin == Origin::Transcript;
        let was_just_compacted = std::mem::replace(&mut self.is_just_compacted, is_transcript);
        let recorded = agent.clock.since.unwrap_or_default();
        let window_at = self.window_from.map_or(recorded, |from| from.min(recorded));
        let is_again = match fact.origin {
            Origin::Hook => self.compacted_at > self.spoke_at,
            // By its place: its date is another clock's, and what it is compared with may be heard late.
            Origin::Transcript if !fact.is_old => was_just_compacted || at <= self.compacted_at,
            Origin::StatusLine
            | Origin::Transcript
            | Origin::List
            | Origin::Kernel
            | Origin::Terminal
            | Origin::Agent => {
                at <= self.compacted_at.max(window_at) || self.answer_at <= window_at
            }
        };
        self.compacted_at = self.compacted_at.max(at);
        if !is_again {
            self.window_from = Some(at);
            self.leave_window(now);
            // H19: a hook that tells of it is answered by itself, before or after this.
            self.is_briefed &= was_hinted;
            heard.signs.push(Sign::WindowBegan);
        }
    }
}
