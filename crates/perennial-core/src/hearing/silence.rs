//! What silence says of a session: a word in the log, and at last that it hangs (H11).

use std::time::Duration;

use super::{Heard, Hearing};
use crate::agent::Agent;
use crate::observation::Sign;
use crate::state::State;
use crate::time::Time;

/// Silence that is worth a word in the log, while the model is awaited and while a tool runs.
const MODEL_LATE: Duration = Duration::from_secs(120);
const TOOL_LATE: Duration = Duration::from_secs(600);

/// A session that is silent in a turn for this long counts as hung, unless the operator sets another limit.
pub const SILENT_AFTER: Duration = Duration::from_secs(300);

/// What the operator decides about hearing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A session that is silent for this long counts as hung; without a limit none does.
    pub silent_after: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { silent_after: Some(SILENT_AFTER) }
    }
}

impl Limits {
    /// After which silence there is something to conclude again. Connections may have been silent for
    /// less than the session was: it is looked at again after another limit. The looks never end:
    /// texts that nobody took are found by them too.
    pub fn next_look(self, lasted: Duration) -> Duration {
        let again = |limit: Duration| if lasted < limit { limit } else { lasted + limit };
        let model = Some(MODEL_LATE).filter(|late| *late > lasted);
        let hang = self.silent_after.map(again);
        [model, hang].into_iter().flatten().fold(again(TOOL_LATE), Duration::min)
    }
}

impl Hearing {
    pub(super) fn silent(
        &mut self,
        agent: &Agent,
        lasted: Duration,
        received: Option<Duration>,
        limits: Limits,
        now: Time,
        heard: &mut Heard,
    ) {
        // Somebody spoke while the silence was measured.
        let lasted = lasted.min(now.since(self.heard_at));
        let has_open_calls = !self.open_calls.is_empty() || self.running_calls > 0;
        let late = if has_open_calls { TOOL_LATE } else { MODEL_LATE };
        let is_awaited = agent.state == State::Working && self.background_tasks == 0;
        if is_awaited && lasted >= late && !self.is_warned {
            self.is_warned = true;
            heard.silence = Some(lasted);
        }
        let Some(limit) = limits.silent_after else { return };
        let is_silent = lasted >= limit && received.is_some_and(|received| received >= limit);
        let is_in_turn = match agent.state {
            State::Working => self.background_tasks == 0,
            // Taken to show a dialog, it took a prompt: its first words were lost.
            State::Waiting => agent.reason.is_before_first_sign() && self.prompt_at.is_some(),
            State::Hatching
            | State::Waking
            | State::Unknown
            | State::HandingOff
            | State::Crashed
            | State::Sleeping
            | State::Hibernating
            | State::Frozen
            | State::Dead
            | State::Expired => false,
        };
        if is_silent && is_in_turn && !has_open_calls {
            heard.signs.push(Sign::Hangs);
        }
    }
}
