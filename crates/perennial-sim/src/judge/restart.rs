//! The model's restart policy, read again from the model and not from the core: waits of 0, 1, 2, 4
//! and 8 s, then the breaker.

use std::time::Duration;

use perennial_core::conversation::Opening;
use perennial_core::event::Move;
use perennial_core::id::AgentId;
use perennial_core::reason::Reason;
use perennial_core::restart::Restart;
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;

use super::account::Account;
use super::{Verdict, broken};

const WAITS_SECONDS: [u64; 5] = [0, 1, 2, 4, 8];
const WINDOW: Duration = Duration::from_secs(10 * 60);
pub const HEALTHY: Duration = Duration::from_secs(10 * 60);
const HALF_OPEN: Duration = Duration::from_secs(5 * 60);
const LONGEST_OPEN: Duration = Duration::from_secs(3600);
const CHURN_AFTER: Duration = Duration::from_secs(30);
const CHURN_LIMIT: u32 = 3;

/// What is remembered of an agent's restarts. Where the journal does not say whether a session was
/// futile, both are kept in mind.
#[derive(Debug, Clone, Default)]
pub struct Tries {
    restarts: Vec<Time>,
    opened: u32,
    futile_least: u32,
    futile_most: u32,
}

/// Whether a session got anything done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionProgress {
    Made,
    None,
    /// It had nothing to do, was asked to end, or shows nothing at all.
    NotAsked,
    /// One of the last two.
    Perhaps,
}

impl Tries {
    pub fn session_ended(&mut self, lived: Duration, progress: SessionProgress, now: Time) {
        // Without progress nothing is healthy, however long it lived.
        if lived >= HEALTHY && progress != SessionProgress::None {
            *self = Tries::default();
        }
        self.restarts.retain(|at| now.since(*at) < WINDOW);
        match progress {
            SessionProgress::Made => (self.futile_least, self.futile_most) = (0, 0),
            SessionProgress::None if lived > CHURN_AFTER => {
                self.futile_least += 1;
                self.futile_most += 1;
            }
            SessionProgress::Perhaps if lived > CHURN_AFTER => self.futile_most += 1,
            SessionProgress::None | SessionProgress::Perhaps | SessionProgress::NotAsked => {}
        }
    }

    pub fn restarted(&mut self, at: Time) {
        self.restarts.push(at);
    }

    /// Whether this is what the policy wants after the crash of a session that lived so long.
    fn allows(&self, reason: Reason, wait: Duration, lived: Duration) -> bool {
        let tries = self.restarts.len();
        let must_open =
            self.opened > 0 || tries >= WAITS_SECONDS.len() || self.futile_least >= CHURN_LIMIT;
        if reason == Reason::BreakerOpen {
            let open = HALF_OPEN.saturating_mul(1 << self.opened.min(10)).min(LONGEST_OPEN);
            return (must_open || self.futile_most >= CHURN_LIMIT) && wait == open;
        }
        if reason != Reason::Retrying || must_open {
            return false;
        }
        let is_first = tries == 0 && lived < Duration::from_secs(1);
        let seconds = if is_first { 1 } else { WAITS_SECONDS[tries] };
        let least = Duration::from_secs(seconds);
        // Jitter: up to a fifth more.
        least <= wait && wait <= least + least / 5
    }
}

impl Account {
    pub fn progress(&self) -> SessionProgress {
        let was_given_up = matches!(self.state, State::Unknown | State::Crashed);
        if self.is_bare {
            return SessionProgress::NotAsked;
        }
        if self.has_progressed {
            return SessionProgress::Made;
        }
        if self.is_ending && !was_given_up {
            return SessionProgress::NotAsked;
        }
        match self.in_turn {
            Some(true) => SessionProgress::None,
            Some(false) => SessionProgress::NotAsked,
            None => SessionProgress::Perhaps,
        }
    }

    /// JU2: a conversation that led nowhere so often is not taken up again.
    pub fn opens_by_policy(&self, id: AgentId, opening: &Opening) -> Verdict {
        let tries = self.tries.as_ref().filter(|tries| tries.futile_least >= CHURN_LIMIT);
        match (opening, tries) {
            (Opening::Resume { .. }, Some(tries)) => {
                broken("JU2: after churn a session begins anew", format!("{}: {tries:?}", id.0))
            }
            (Opening::Resume { .. }, None)
            | (Opening::Bare | Opening::Fresh(_) | Opening::Anew { .. }, _) => Ok(()),
        }
    }

    /// JU2: a crash is followed by the wait that the policy wants.
    pub fn follows_policy(&mut self, id: AgentId, moved: &Move, at: Time) -> Verdict {
        if moved.to != State::Crashed {
            return Ok(());
        }
        // The record by which it was set so may be the one that can't be read.
        if self.restart == Restart::Never && !self.has_gap {
            let what = format!("{}: {:?} by {:?}", id.0, moved.reason, moved.cause);
            return broken("JU1: who is not restarted waits for no retry", what);
        }
        let lived = self.lived(at);
        let progress = self.progress();
        let Some(tries) = &mut self.tries else {
            return Ok(());
        };
        let mut seen = tries.clone();
        if moved.cause == Cause::StartLimit {
            // Given up before its end is told: that end counts already.
            seen.session_ended(lived, progress, at);
        }
        let wait = moved.until.map_or(Duration::MAX, |until| until.since(at));
        if moved.reason == Reason::BreakerOpen {
            tries.opened += 1;
        }
        if self.is_suspended || seen.allows(moved.reason, wait, lived) {
            return Ok(());
        }
        let what = format!("{}: {:?} for {wait:?} after {lived:?}, {seen:?}", id.0, moved.reason);
        broken("JU2: a retry comes by the restart policy", what)
    }
}
