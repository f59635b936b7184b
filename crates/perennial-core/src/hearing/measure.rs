//! The window of a session: which figures count, and when a new one begins.

use super::{Heard, Hearing};
use crate::agent::Agent;
use crate::context::{Sample, Source};
use crate::conversation::Followed;
use crate::fact::{Fact, Origin};
use crate::observation::Sign;
use crate::role::LARGE_TURN_PERCENT;
use crate::time::Time;

impl Hearing {
    /// The share of the usable window that is used, as far as it was measured.
    pub(super) fn used(&self) -> u64 {
        self.sample.map_or(0, |(sample, _)| sample.usable_percent())
    }

    /// Told once of a turn that uses as much of the window as a whole assignment. `before`: when the turn began that was
    /// known before, and how much was used then.
    pub(super) fn large_turn(&mut self, before: (Time, u64)) -> Option<Sign> {
        if self.turn_at > before.0 {
            (self.turn_base, self.is_large_told) = (before.1, false);
        }
        let percent = self.used().saturating_sub(self.turn_base);
        let is_large = percent >= LARGE_TURN_PERCENT && !self.is_large_told;
        self.is_large_told |= is_large;
        is_large.then_some(Sign::LargeTurn { percent })
    }

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

    /// A window begins in a conversation that goes on, after a compaction that came about then. One that was announced later
    /// is still ahead: the transcript may be read late.
    pub(super) fn leave_window(&mut self, compacted: Time, now: Time) {
        self.sample.take_if(|(_, measured)| *measured <= now);
        self.said_at = None;
        self.announced_at.take_if(|announced| *announced <= compacted);
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
        if self.is_of_former(agent, fact) {
            return;
        }
        if fact.origin == Origin::Hook && self.has_transcript {
            self.hint_at_compaction();
            return;
        }
        let was_hinted = std::mem::replace(&mut self.is_compaction_hinted, false);
        let is_transcript = fact.origin == Origin::Transcript;
        let was_just_compacted = std::mem::replace(&mut self.is_just_compacted, is_transcript);
        let window_at = self.window_at(agent);
        let is_again = match fact.origin {
            Origin::Hook => self.compacted_at > self.spoke_at,
            // By its place: its date is another clock's, and what it is compared with may be heard late.
            Origin::Transcript if !fact.is_old => was_just_compacted || at <= self.compacted_at,
            Origin::StatusLine
            | Origin::Transcript
            | Origin::List
            | Origin::Kernel
            | Origin::Terminal
            | Origin::Agent
            | Origin::Git => at <= self.compacted_at.max(window_at) || self.answer_at <= window_at,
        };
        self.compacted_at = self.compacted_at.max(at);
        if !is_again {
            let unannounced = self.unannounced(agent);
            self.window_from = Some(at);
            self.leave_window(at, now);
            // H19: a hook that tells of it is answered by itself, before or after this.
            if !was_hinted {
                (self.is_briefed, self.owed) = (false, Some(Followed::Compacted));
            }
            heard.signs.extend(unannounced);
            heard.signs.push(Sign::WindowBegan);
        }
    }
}
