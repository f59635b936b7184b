//! What a record that could not be read left undecided: a session's end that nothing followed, and a session that was never
//! asked to end.
//!
//! Pure. Says that something is left to do; `plan` names the time, `observe` does it.

use super::Agent;
use crate::session::{Phase, Session};
use crate::state::State;

impl Agent {
    /// Whether its session ended while its record could not be read, and it can be now: what follows
    /// that end was not decided then.
    pub(super) fn is_left_over(&self) -> bool {
        let has_ended = self.session.as_ref().is_some_and(Session::is_over);
        let has_a_session = match self.state {
            State::Hatching
            | State::Waking
            | State::Working
            | State::Waiting
            | State::Unknown
            | State::HandingOff => true,
            State::Crashed
            | State::Sleeping
            | State::Hibernating
            | State::Frozen
            | State::Dead
            | State::Expired => false,
        };
        has_ended && has_a_session && self.hold.is_none()
    }

    /// Whether it is over or at rest, and its session was not asked to end: the record of that can't be read.
    pub(super) fn has_outlived(&self) -> bool {
        let is_unasked = self.live_session().is_some_and(|session| match session.phase {
            Phase::Wanted | Phase::Starting | Phase::Running => true,
            Phase::Ending(_) | Phase::Ended => false,
        });
        let rests = match self.state {
            State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
                true
            }
            State::Hatching
            | State::Waking
            | State::Working
            | State::Waiting
            | State::Unknown
            | State::HandingOff
            | State::Crashed => false,
        };
        rests && is_unasked && self.hold.is_none()
    }
}
