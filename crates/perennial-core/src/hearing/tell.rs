//! What a session's model is to be told, and how that is known again in its transcript.

use super::{Heard, Hearing};
use crate::agent::Agent;
use crate::context::Threshold;
use crate::fact::{Fact, Seen};
use crate::observation::Sign;
use crate::time::Time;

/// A reminder comes with every so many tool calls.
pub const REMINDER_CALLS: u64 = 20;

/// What is to be told. The words are made elsewhere; they begin with the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Who it is and who else is there.
    Briefing,
    /// A threshold of its window has passed.
    Notice(Threshold),
    /// How it stands after so many tool calls.
    Reminder { calls: u64 },
}

impl Tell {
    /// How the text begins.
    pub fn mark(self) -> String {
        match self {
            Tell::Briefing => "[Perennial]".to_owned(),
            Tell::Notice(threshold) => format!("[Perennial clock: {} %]", threshold.percent()),
            Tell::Reminder { calls } => {
                format!("[Perennial clock] {calls} tool calls in this session.")
            }
        }
    }

    /// What a text in the transcript told. A session that forges one misses its own notice.
    pub fn of(text: &str) -> Option<Tell> {
        let after = text.split_once("[Perennial clock")?.1;
        if let Some(after) = after.strip_prefix("] ") {
            let (calls, _) = after.split_once(" tool calls in this session.")?;
            return calls.parse().ok().map(|calls| Tell::Reminder { calls });
        }
        let is_named = |threshold: &Threshold| text.contains(&Tell::Notice(*threshold).mark());
        Threshold::ALL.into_iter().rfind(is_named).map(Tell::Notice)
    }
}

impl Hearing {
    /// H6, H12: at most one of them with each reply.
    pub(super) fn tell(&mut self, agent: &Agent, fact: &Fact, heard: &mut Heard) {
        if matches!(fact.seen, Seen::SessionBegan(_)) {
            heard.tell.push(Tell::Briefing);
            return;
        }
        if !self.is_caught_up {
            return;
        }
        if let Some(threshold) = agent.clock.untold() {
            heard.signs.push(Sign::Told(threshold));
            heard.tell.push(Tell::Notice(threshold));
            return;
        }
        let calls = self.tool_calls();
        let is_after_tools = matches!(fact.seen, Seen::ToolsFinished { .. });
        if is_after_tools && calls / REMINDER_CALLS > self.reminded / REMINDER_CALLS {
            self.reminded = calls;
            heard.tell.push(Tell::Reminder { calls });
        }
    }

    /// A text of ours stands in the transcript: it was told, by whichever daemon.
    pub(super) fn was_told(
        &mut self,
        agent: &Agent,
        text: &str,
        is_own: bool,
        at: Time,
    ) -> Option<Sign> {
        let is_of_window = is_own && at >= agent.clock.since.unwrap_or_default();
        match Tell::of(text)? {
            Tell::Briefing => None,
            Tell::Notice(threshold) => {
                let is_news = is_of_window && agent.clock.told < Some(threshold);
                is_news.then_some(Sign::Told(threshold))
            }
            Tell::Reminder { calls } => {
                self.reminded = self.reminded.max(calls);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_again_by_its_mark() {
        for tell in [Tell::Reminder { calls: 40 }, Tell::Notice(Threshold::NineTenths)] {
            let text = format!("PostToolUse:Bash hook additional context: {} more", tell.mark());
            assert_eq!(Tell::of(&text), Some(tell));
        }
        for other in ["", "[Perennial clock]", "[Perennial clock: 51 %]", "[Perennial] You are"] {
            assert_eq!(Tell::of(other), None, "{other}");
        }
    }
}
