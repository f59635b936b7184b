//! The verb `handoff`: a person, the agent or its parent asks for one, or ends the wait for it; an overseer does the latter.
//! Changes nothing.

use std::time::Duration;

use super::{
    Answer, DEADLINE, DEADLINE_LEAST, DEADLINE_MOST, Handoff, HandoffAsked, HandoffCause,
    HandoffEvent, NOTES_BYTES_MAX, SUBJECT_BYTES_MAX, letters,
};
use crate::agent::{Agent, Becoming};
use crate::authority::{Caller, Standing};
use crate::event::AgentEvent;
use crate::fleet::{Decision, Fleet};
use crate::id::{AgentId, SessionNumber};
use crate::message;
use crate::name::NameKey;
use crate::reason::{Evidence, Finding, Reason, Verb, Witness};
use crate::refusal::Refusal;
use crate::role::{self, Span};
use crate::state::{Cause, Roster, State};
use crate::time::Time;

/// What a caller wants of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffOrder {
    pub target: String,
    pub subject: Option<String>,
    pub notes: Option<String>,
    pub deadline: Option<Duration>,
    /// End the wait for the session that was asked before.
    pub finish: bool,
    /// The session whose handoff is to be ended: that of another one is left alone.
    pub session: Option<SessionNumber>,
}

pub fn decide(
    fleet: &Fleet,
    caller: Caller,
    order: &HandoffOrder,
    now: Time,
) -> Result<Decision, Refusal> {
    let agent = fleet.find(&order.target)?;
    fleet.authorise(caller, Verb::Handoff, Some(agent.id))?;
    let standing = fleet.standing(caller, Some(agent.id));
    let witness = caller.witness(Verb::Handoff)?;
    let evidence = Evidence { witness, fact: Finding::Asked(Verb::Handoff), at: now };
    let is_own = caller == Caller::Agent(agent.id);
    let is_meant = |it: &&Handoff| order.session.is_none_or(|meant| meant == it.number);
    let events = match agent.handing_off().filter(is_meant) {
        Some(_) if is_own => answered(agent, Answer::Word, order, now),
        Some(_) if order.finish => answered(agent, Answer::Ordered, order, now),
        // HA7
        None if standing == Standing::Overseer => {
            return Err(Refusal::NotAllowed { caller, verb: Verb::Handoff, standing });
        }
        Some(_) | None
            if order.finish || order.session.is_some() || standing == Standing::Overseer =>
        {
            return Err(Refusal::NoHandoff { agent: agent.id });
        }
        Some(_) | None => {
            may_be_asked(agent)?;
            let cause = if is_own { HandoffCause::Agent } else { HandoffCause::Verb };
            let overseer = overseer(fleet, agent).filter(|_| is_own);
            let ask = Ask {
                cause,
                subject: letters::bounded(
                    order.subject.as_deref().unwrap_or_default(),
                    SUBJECT_BYTES_MAX,
                ),
                notes: order.notes.as_deref().map(|notes| letters::bounded(notes, NOTES_BYTES_MAX)),
                within: deadline(fleet, order.deadline),
                overseer,
                evidence,
            };
            asked(agent, ask, now)
        }
    };
    Ok(Decision::of(agent.id, events, now))
}

/// What is asked of a session.
pub(super) struct Ask {
    pub cause: HandoffCause,
    pub subject: String,
    pub notes: Option<String>,
    pub within: Duration,
    pub overseer: Option<AgentId>,
    pub evidence: Evidence,
}

/// How long a session has.
pub(super) fn deadline(fleet: &Fleet, wanted: Option<Duration>) -> Duration {
    let set = wanted.or(fleet.policy().handoff_deadline).unwrap_or(DEADLINE);
    set.clamp(DEADLINE_LEAST, DEADLINE_MOST)
}

/// HA1
fn may_be_asked(agent: &Agent) -> Result<(), Refusal> {
    if let Some(hold) = &agent.hold {
        return Err(Refusal::Held { agent: agent.id, held_for: hold.held_for });
    }
    if agent.launch.is_bare() && !matches!(agent.state, State::Dead | State::Expired) {
        return Err(Refusal::BareCommand { agent: agent.id, verb: Verb::Handoff });
    }
    let can_be = match agent.state {
        State::Working | State::Waiting | State::Unknown => agent.burial.is_none(),
        State::Hatching
        | State::Waking
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => false,
    };
    match can_be && agent.has_session_to_hand_off().is_some() {
        true => Ok(()),
        false => {
            Err(Refusal::WrongState { agent: agent.id, verb: Verb::Handoff, state: agent.state })
        }
    }
}

/// The events of a handoff that is asked for.
pub(super) fn asked(agent: &Agent, ask: Ask, now: Time) -> Vec<AgentEvent> {
    let Some(number) = agent.has_session_to_hand_off() else { return Vec::new() };
    let Ask { cause, subject, notes, within, overseer, evidence } = ask;
    let (deadline, is_own) = (now + within, cause == HandoffCause::Agent);
    let mut next = Becoming::new(agent, now);
    let (by, fact) = (evidence.witness, evidence.clone());
    let asked = HandoffAsked { number, cause, subject, notes, deadline, overseer, evidence };
    next.emit(HandoffEvent::Asked(asked).of_agent());
    next.moves(Cause::HandoffAsked, Reason::HandoffAsked, fact, Some(deadline));
    // It asked, so that it has nothing to be told: it ends its turn, and that is all.
    if is_own && by == Witness::Agent(agent.id) {
        let (how, subject, notes) = (Answer::Word, None, None);
        next.emit(HandoffEvent::Answered { how, subject, notes }.of_agent());
    }
    next.into_events()
}

/// The wait is over, by the session's own word or by somebody's order.
fn answered(agent: &Agent, how: Answer, order: &HandoffOrder, now: Time) -> Vec<AgentEvent> {
    let mut next = Becoming::new(agent, now);
    let subject = order.subject.as_deref().map(|it| letters::bounded(it, SUBJECT_BYTES_MAX));
    let notes = order.notes.as_deref().map(|it| letters::bounded(it, NOTES_BYTES_MAX));
    next.emit(HandoffEvent::Answered { how, subject, notes }.of_agent());
    super::come_due(&mut next);
    next.into_events()
}

/// Who looks after a mortal agent: the living holder of the role that oversees its own.
pub(super) fn overseer(fleet: &Fleet, agent: &Agent) -> Option<AgentId> {
    role::held(agent)?;
    let terms = Some(&agent.role_terms).filter(|terms| terms.span == Span::Mortal)?;
    let key = NameKey::of(terms.overseer.as_deref()?);
    let holder = message::holder(fleet, &key, &[Some(agent.id)])?;
    let is_living = |other: &&Agent| other.state.roster() == Roster::Living;
    fleet.agent(holder).filter(is_living).map(|other| other.id)
}

impl Fleet {
    /// Whether a caller holds the role that looks after an agent's.
    pub fn oversees(&self, caller: Caller, agent: AgentId) -> bool {
        let Caller::Agent(own) = caller else { return false };
        let Some((own, other)) = self.agent(own).zip(self.agent(agent)) else { return false };
        let overseer = other.role_terms.overseer.as_deref().filter(|_| role::held(other).is_some());
        own.id != agent && overseer.is_some_and(|it| role::held(own) == Some(NameKey::of(it)))
    }
}
