//! What a session's model is to be told, and how that is known again in its transcript.

use super::{Heard, Hearing};
use crate::conversation::Followed;
use crate::fact::{Fact, Seen};

/// A reminder is due every this many tool calls.
pub const REMINDER_CALLS: u64 = 20;

/// What is to be told. The words are made elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Who it is and who else is there, and where its work stood; how its window began, where that is known.
    StartText(Option<Followed>),
    /// The state of the clock after this many tool calls.
    Reminder { calls: u64 },
}

/// How a reminder begins.
pub fn reminder_mark(calls: u64) -> String {
    format!("[Perennial clock] {calls} tool calls in this session.")
}

/// After how many calls a text in the transcript reminded. A session that forges one misses its own.
fn reminded_after(text: &str) -> Option<u64> {
    let after = text.split_once("[Perennial clock] ")?.1;
    after.split_once(" tool calls in this session.")?.0.parse().ok()
}

impl Hearing {
    /// H6, H12.
    pub(super) fn tell(&mut self, fact: &Fact, heard: &mut Heard) {
        // H19.
        if !self.is_briefed || matches!(fact.seen, Seen::SessionBegan(_)) {
            self.is_briefed = true;
            let owed = self.owed.take();
            let how = if let Seen::SessionBegan(how) = fact.seen { Some(how) } else { owed };
            heard.tell.push(Tell::StartText(how));
            return;
        }
        let calls = self.tool_calls();
        let is_after_tools = matches!(fact.seen, Seen::ToolsFinished { .. });
        let is_due = calls / REMINDER_CALLS > self.reminded / REMINDER_CALLS;
        if self.is_caught_up && is_after_tools && is_due {
            self.reminded = calls;
            heard.tell.push(Tell::Reminder { calls });
        }
    }

    /// H19: the session left its window, and no reply to the report of it reaches the model. A session's
    /// own beginning may be reported after its first prompt.
    pub(super) fn owes_briefing(&mut self, how: Followed) {
        match how {
            Followed::Cleared | Followed::Compacted => {
                (self.is_briefed, self.owed) = (false, Some(how));
            }
            Followed::Started | Followed::Resumed | Followed::Forked if self.is_briefed => {}
            Followed::Started | Followed::Resumed | Followed::Forked => self.owed = Some(how),
        }
    }

    /// A text of ours stands in the transcript: it was told, by whichever daemon.
    pub(super) fn was_told(&mut self, text: &str) {
        self.reminded = self.reminded.max(reminded_after(text).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_is_known_again_by_its_mark() {
        let text = format!("PostToolUse:Bash hook additional context: {} more", reminder_mark(40));
        assert_eq!(reminded_after(&text), Some(40));
        for other in ["", "[Perennial clock]", "[Perennial clock] x tool calls in this session."] {
            assert_eq!(reminded_after(other), None, "{other}");
        }
    }
}
