//! While the journal takes nothing: back to what is durable, and told again later (U4, U7).

use perennial_core::observation::Observation;
use perennial_core::time::Time;

use super::offer::Hook;
use super::{AppendId, Output, PendingAnswer, Rejection, Supervisor, TELL_AGAIN_AFTER};

impl PendingAnswer {
    pub(super) fn answered(self) -> Output {
        Output::Answer { waiter: self.waiter, answer: self.answer }
    }
}

/// Which reports go first when several are told again (U4): the daemon's own start, then how far the clock jumped. The
/// others are told as of now, and a time that was put off has not come by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    Start,
    Jump,
    /// As they came.
    Other,
}

impl Turn {
    pub(super) fn of(report: &Observation) -> Turn {
        if matches!(report, Observation::Started { .. }) {
            Turn::Start
        } else if matches!(report, Observation::ClockJumped { .. }) {
            Turn::Jump
        } else {
            Turn::Other
        }
    }
}

impl Supervisor {
    /// Why nothing can be recorded at the moment.
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_ref().map(|(_, why)| why.as_str())
    }

    /// Back to what is durable. What was appended after the failed one is refused by the journal,
    /// since it may rest on it: it has failed too.
    pub(super) fn failed(&mut self, append: AppendId, why: String, now: Time) -> Vec<Output> {
        let Some(position) = self.position(append) else {
            return Vec::new();
        };
        let mut outputs = Vec::new();
        for pending in self.pending.split_off(position) {
            pending.events.iter().for_each(|event| self.landed(&event.entity()));
            self.unrecorded.extend(pending.reports);
            outputs.extend(pending.asked.into_iter().map(|asked| {
                let answer = Err(Rejection::NotRecorded(why.clone()));
                PendingAnswer { answer, ..asked }.answered()
            }));
            let hook = pending.hook.map(Hook::without_texts);
            outputs.extend(hook.into_iter().flat_map(|hook| self.reply(hook, now)));
        }
        self.rebuild();
        outputs.extend(self.turn_read_only(why, now));
        outputs
    }

    /// Until something is recorded again, which is tried from time to time.
    pub(super) fn turn_read_only(&mut self, why: String, now: Time) -> Vec<Output> {
        self.tell_again_at = Some(now + TELL_AGAIN_AFTER);
        let since = self.read_only.take().map_or(now, |(since, _)| since);
        self.read_only = Some((since, why));
        Vec::new()
    }

    /// Tells what could not be recorded, in its order (U4).
    pub(super) fn tell_again(&mut self, now: Time) -> Vec<Output> {
        if self.tell_again_at.take().is_none() {
            return Vec::new();
        }
        let mut outputs = Vec::new();
        let mut reports = std::mem::take(&mut self.unrecorded);
        reports.make_contiguous().sort_by_key(Turn::of);
        for report in reports {
            outputs.extend(self.observed(report, now));
        }
        if let Some((since, _)) = self.read_only
            && self.pending.is_empty()
        {
            outputs.extend(self.observed(Observation::JournalFailed { since }, now));
        }
        // A time may have come while an append stood in its way that then failed: it comes again.
        for entity in self.durable.entities() {
            self.timers.set(&entity, self.durable.plan(&entity, now).timers);
        }
        outputs
    }
}
