//! What was heard while nothing could be concluded from it, said again when something can.

use super::{Heard, Hearing};
use crate::agent::Agent;
use crate::fact::{Fact, Listed, Origin, Seen};
use crate::observation::{Sign, Wait};
use crate::session::Phase;
use crate::state::State;
use crate::time::Time;

/// Whether the agent's session runs and nothing is known of it: a hold that hid its state was lifted.
pub(super) fn awaits_word(agent: &Agent) -> bool {
    let runs = agent.live_session().is_some_and(|session| session.phase == Phase::Running);
    agent.state == State::Unknown && !agent.is_damaged() && runs
}

/// Whether a sign says where the turn stands.
fn tells_of_turn(sign: &Sign) -> bool {
    match sign {
        Sign::TurnBegan | Sign::BackgroundWork | Sign::Waits(_) | Sign::VendorStatus { .. } => true,
        Sign::Began { .. }
        | Sign::StillIdle
        | Sign::Progressed
        | Sign::Measured { .. }
        | Sign::WindowBegan
        | Sign::Drawn
        | Sign::Worked { .. }
        | Sign::Committed { .. }
        | Sign::LargeTurn { .. }
        | Sign::Symptom { .. }
        | Sign::Hangs => false,
    }
}

impl Hearing {
    /// H16: keeps what this fact says of the turn, and says what is kept if it says nothing.
    pub(super) fn remember(&mut self, agent: &Agent, fact: &Fact, at: Time, heard: &mut Heard) {
        let last = heard.signs.iter().rfind(|sign| tells_of_turn(sign));
        // The list and the transcript's end are kept as what they are.
        let is_kept = fact.origin == Origin::List || fact.seen == Seen::CaughtUp;
        let is_latest = self.told.as_ref().is_none_or(|(before, _)| at >= *before);
        if let Some(sign) = last.filter(|_| !is_kept && is_latest) {
            self.told = Some((at, sign.clone()));
        }
        if last.is_none() && self.is_caught_up && awaits_word(agent) {
            heard.signs.extend(self.recalled(agent));
        }
    }

    /// The latest that was heard of the turn.
    fn recalled(&self, agent: &Agent) -> Option<Sign> {
        let listed = self.listing.and_then(|(listed, since)| Some((since, self.sign_of(listed)?)));
        let ended = self.end.and_then(|(at, _)| Some((at, self.ended(agent)?)));
        let latest = [self.told.clone(), ended, listed].into_iter().flatten();
        latest.max_by_key(|(at, _)| *at).map(|(_, sign)| sign)
    }

    /// What the list has means.
    fn sign_of(&self, listed: Listed) -> Option<Sign> {
        match listed {
            Listed::Busy => Some(Sign::TurnBegan),
            Listed::Idle if self.background_tasks > 0 => Some(Sign::BackgroundWork),
            Listed::Idle => Some(Sign::Waits(Wait::Input)),
            Listed::Permission => Some(Sign::Waits(Wait::Permission)),
            Listed::Question => Some(Sign::Waits(Wait::Answer)),
            Listed::Menu => None,
        }
    }
}
