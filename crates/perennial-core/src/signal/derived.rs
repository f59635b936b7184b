//! The signals that Perennial itself emits: they follow from events that are recorded anyway.
//!
//! A pure function of one event, so that a journal read from its beginning gives the same signals with the same ids.
//! Who is told of them, an agent's name and its last output are looked up when they are shown.

use super::kinds::SignalKind;
use crate::event::{AgentEvent, Event, Move, What};
use crate::id::{AgentId, SessionNumber, SignalId};
use crate::state::Cause;
use crate::time::Time;

/// A signal that follows from an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    pub kind: SignalKind,
    /// Whom it is about; its guardian is the target.
    pub agent: AgentId,
    /// The session that it is about, where the event or one of the same moment tells it.
    pub session: Option<SessionNumber>,
    pub exit_reason: Option<&'static str>,
}

/// The signal that follows from an event, if one does; `ended` is the session of the same agent that ended in the
/// same moment.
///
/// Signals that will follow from other lives belong here too: one arm of the first match.
pub fn derived(event: &Event, ended: Option<SessionNumber>) -> Option<Derived> {
    let (agent, event) = match &event.what {
        What::Agent(id, event) => (*id, event),
        What::Node(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Job(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => return None,
    };
    let of = |kind, session, exit_reason| Derived { kind, agent, session, exit_reason };
    match event {
        AgentEvent::SessionWanted { number, .. } => {
            Some(of(SignalKind::AgentRegistered, Some(*number), None))
        }
        AgentEvent::Moved(moved) => match ending(moved)? {
            Ending::Crash => Some(of(SignalKind::AgentCrashed, ended, None)),
            Ending::Termination(why) => Some(of(SignalKind::AgentTerminated, None, Some(why))),
        },
        AgentEvent::Hatched(_)
        | AgentEvent::Rehomed { .. }
        | AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionEnded { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::WindowBegan { .. }
        | AgentEvent::ClockPassed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Renamed { .. }
        | AgentEvent::RoleTaken { .. }
        | AgentEvent::RoleLeft { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::Snapshot(_)
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::PutOff { .. } => None,
    }
}

enum Ending {
    Crash,
    Termination(&'static str),
}

/// How a move ends a session, or an agent, if it does.
fn ending(moved: &Move) -> Option<Ending> {
    match moved.cause {
        Cause::EndedCrashed | Cause::EndedRestartOff | Cause::StartLimit | Cause::RebootedBusy => {
            Some(Ending::Crash)
        }
        Cause::EndedAgain => Some(Ending::Termination("finished")),
        Cause::Restarted | Cause::HandedOff => Some(Ending::Termination(moved.cause.word())),
        Cause::EndedFinished
        | Cause::NeverNamed
        | Cause::GaveUp
        | Cause::Stop
        | Cause::Unlisted
        | Cause::Unreported
        | Cause::Rested
        | Cause::Completed
        | Cause::Frozen
        | Cause::Reaped
        | Cause::Buried
        | Cause::RebootedIdle => Some(Ending::Termination(moved.reason.word())),
        Cause::Announced
        | Cause::DialogSeen
        | Cause::TurnBegan
        | Cause::BackgroundWork
        | Cause::TurnEnded
        | Cause::ConfirmationLost
        | Cause::SeenWorking
        | Cause::SeenWaiting
        | Cause::Retry
        | Cause::Wake
        | Cause::Listed
        | Cause::HandoffAsked
        | Cause::TaskQueued
        | Cause::Approved => None,
    }
}

/// The id of a signal that follows from this event of its stream: in the order of time, like ids that are made.
pub fn derived_id(stream: u128, version: u64, at: Time) -> SignalId {
    let millis = u128::from(at.0 / 1000) << 80;
    let spread =
        (stream ^ u128::from(version)).wrapping_mul(0xda94_2042_e4dd_58b5_2545_f491_4f6c_dd1d);
    // The upper half of the product depends on all bits of both.
    let low = (spread >> 64) ^ spread ^ u128::from(version);
    SignalId(millis | (low & ((1 << 80) - 1)))
}
