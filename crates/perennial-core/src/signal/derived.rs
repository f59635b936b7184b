//! The signals that Perennial itself emits: they follow from events that are recorded anyway.
//!
//! A pure function of one event and those of the same moment, so that a journal read from its beginning gives the same signals with the same ids.
//! The end of a session that was asked to end is told when it has ended, not when that was asked.
//! Who is told of them, an agent's name and its last output are looked up when they are shown.

use std::time::Duration;

use super::kinds::SignalKind;
use crate::checkpoint::{CheckpointEvent, CheckpointTaken};
use crate::event::{AgentEvent, Event, Move, What};
use crate::handoff::HandoffEvent;
use crate::id::{AgentId, SessionNumber, SignalId};
use crate::reason::Reason;
use crate::state::Cause;
use crate::symptom::{Symptom, Urgency};
use crate::time::Time;
use crate::work::WorkPhase;

/// A signal that follows from an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    pub kind: SignalKind,
    /// Whom it is about; its guardian is the target.
    pub agent: AgentId,
    /// The session that it is about, where the event or one of the same moment tells it.
    pub session: Option<SessionNumber>,
    pub says: Emitted,
}

/// What a signal says that follows from an event, as far as the event tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emitted {
    /// All of it is looked up when it is shown.
    Nothing,
    /// Why the session or the agent ended.
    Ended(&'static str),
    /// Where its work stands.
    Work { phase: WorkPhase, summary: String },
    /// Its session is asked to save its work.
    HandoffAsked { reason: String, deadline: Duration },
    /// The work of its session is stored; the commit that its work tree was at.
    HandedOff { commit: Option<String> },
    /// Its context window is running out.
    Symptom { symptom: Symptom, urgency: Urgency },
}

/// What else happens to an agent in the moment of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// Its session that ended.
    pub ended: Option<SessionNumber>,
    /// The end of its session is told by itself, now or when it comes.
    pub is_end_told: bool,
}

impl Beside {
    /// By all events of that moment.
    pub fn of<'a>(agent: AgentId, moment: impl Iterator<Item = &'a Event>) -> Beside {
        let mut beside = Beside::default();
        for (_, event) in moment.filter_map(Event::of_agent).filter(|(id, _)| *id == agent) {
            if let AgentEvent::SessionEnded { number, asked, .. } = event {
                beside.ended = Some(*number);
                beside.is_end_told |= asked.is_some();
            }
            beside.is_end_told |= matches!(event, AgentEvent::SessionEnding { .. });
        }
        beside
    }
}

/// The signal that follows from an event, if one does. What happens `beside` it is asked for only where it counts.
///
/// Signals that will follow from other lives belong here too: one arm of the first match.
pub fn derived(event: &Event, beside: impl FnOnce(AgentId) -> Beside) -> Option<Derived> {
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
    let of = |kind, session, says| Derived { kind, agent, session, says };
    match event {
        AgentEvent::SessionWanted { number, .. } => {
            Some(of(SignalKind::AgentRegistered, Some(*number), Emitted::Nothing))
        }
        AgentEvent::Moved(moved) => {
            let (kind, session, says) = of_ending(ending(moved)?, beside(agent))?;
            Some(of(kind, session, says))
        }
        AgentEvent::SessionEnded { number, asked: Some(reason), .. } => {
            // Starting: the next one waited for its end.
            let is_restart = *reason == Reason::Starting;
            let why = if is_restart { Cause::Restarted.word() } else { reason.word() };
            Some(of(SignalKind::AgentTerminated, Some(*number), Emitted::Ended(why)))
        }
        AgentEvent::Checkpoint(event) => match &**event {
            CheckpointEvent::Taken(CheckpointTaken { session, phase, summary, .. }) => {
                let says = Emitted::Work { phase: *phase, summary: summary.clone() };
                Some(of(SignalKind::HookUpdated, Some(*session), says))
            }
        },
        AgentEvent::Handoff(event) => {
            let (kind, number, says) = of_handoff(event)?;
            Some(of(kind, Some(number), says))
        }
        AgentEvent::Hatched(_)
        | AgentEvent::Rehomed { .. }
        | AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionEnded { asked: None, .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::WindowBegan { .. }
        | AgentEvent::ClockPassed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Work(_)
        | AgentEvent::Renamed { .. }
        | AgentEvent::RoleTaken { .. }
        | AgentEvent::RoleLeft { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::Snapshot(_)
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::Rest(_)
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::PutOff { .. } => None,
    }
}

/// What the end of a session says to others.
fn of_ending(
    ending: Ending,
    Beside { ended, is_end_told }: Beside,
) -> Option<(SignalKind, Option<SessionNumber>, Emitted)> {
    match ending {
        Ending::Crash => Some((SignalKind::AgentCrashed, ended, Emitted::Nothing)),
        Ending::Termination(_) if is_end_told => None,
        Ending::Termination(why) => Some((SignalKind::AgentTerminated, ended, Emitted::Ended(why))),
    }
}

/// What a handoff, or a symptom that may bring one about, says to others.
fn of_handoff(event: &HandoffEvent) -> Option<(SignalKind, SessionNumber, Emitted)> {
    match event {
        HandoffEvent::Asked(asked) => {
            let reason = match asked.subject.is_empty() {
                true => asked.cause.description().to_owned(),
                false => format!("{}: {}", asked.cause.description(), asked.subject),
            };
            let deadline = asked.deadline.since(asked.evidence.at);
            let says = Emitted::HandoffAsked { reason, deadline };
            Some((SignalKind::HandoffRequested, asked.number, says))
        }
        HandoffEvent::Completed { number, stored } => {
            let says = Emitted::HandedOff { commit: stored.commit.clone() };
            Some((SignalKind::HandoffComplete, *number, says))
        }
        HandoffEvent::Symptom { number, symptom, urgency, is_again: false }
            if *urgency >= Urgency::Medium =>
        {
            let says = Emitted::Symptom { symptom: *symptom, urgency: *urgency };
            Some((SignalKind::ContextWarning, *number, says))
        }
        HandoffEvent::Symptom { .. }
        | HandoffEvent::Due { .. }
        | HandoffEvent::OperatorTold { .. }
        | HandoffEvent::UnitDone { .. }
        | HandoffEvent::Told { .. }
        | HandoffEvent::Turned { .. }
        | HandoffEvent::Answered { .. } => None,
    }
}

#[derive(Clone, Copy)]
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
