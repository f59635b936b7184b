//! What becomes of one agent when the journal has lost records that may be about it. Changes nothing.
//!
//! Invariants
//! - LO1  A session that a living holder has is the agent's newest: none is ever started beside it.
//! - LO2  An agent that may have had an order, an end or a next session in what is gone is held: only a
//!   person says what becomes of it.

use super::Agent;
use super::becoming::Becoming;
use crate::conversation::{ConversationId, Opening};
use crate::event::AgentEvent;
use crate::hold::{HeldFor, Hold};
use crate::id::SessionId;
use crate::observation::LivingSession;
use crate::reason::{Evidence, Finding, Reason, Witness};
use crate::session::{Phase, Session};
use crate::state::{Cause, Roster, State};
use crate::time::Time;

/// The agent's holder lives and has a session that the journal does not know, or knows as over: it is the
/// agent's session from here on, and the agent is held. Nothing where the journal knows it.
pub fn session_found(agent: &Agent, living: &LivingSession, now: Time) -> Vec<AgentEvent> {
    if agent.state.roster() == Roster::Cemetery || is_known(agent, living) {
        return Vec::new();
    }
    let number = living.number;
    let opening = match &agent.conversations {
        _ if agent.launch.is_bare() => Opening::Bare,
        Some(known) => Opening::Resume { conversation: known.current.clone(), turn: agent.turn },
        None => Opening::Fresh(ConversationId::of(SessionId { agent: agent.id, number })),
    };
    let mut next = Becoming::new(agent, now);
    next.emit(AgentEvent::SessionFound { number, opening, process: living.process });
    hold(&mut next, Finding::SessionFound(number));
    next.into_events()
}

/// The newest records of the journal are gone, and no holder lives that has the agent's session: what
/// is gone may have been about it.
pub fn records_lost(agent: &Agent, now: Time) -> Vec<AgentEvent> {
    let may_start = match agent.state {
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Hibernating => true,
        State::Sleeping | State::Frozen | State::Dead | State::Expired => false,
    };
    let mut next = Becoming::new(agent, now);
    if may_start && !agent.is_damaged() {
        hold(&mut next, Finding::RecordsLost);
    }
    next.into_events()
}

fn hold(next: &mut Becoming<'_>, fact: Finding) {
    let since = next.now();
    let evidence = Evidence { witness: Witness::Daemon, fact, at: since };
    let held_for = HeldFor::Person;
    next.emit(AgentEvent::Held(Hold { held_for, evidence: evidence.clone(), since }));
    next.moves(Cause::ConfirmationLost, Reason::RecordLost, evidence, None);
}

/// Whether the journal has this session, and no end of it that the world contradicts.
pub fn is_known(agent: &Agent, living: &LivingSession) -> bool {
    agent.session.as_ref().is_some_and(|session| match living.number.cmp(&session.number) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => !is_contradicted(agent, session, living),
        std::cmp::Ordering::Greater => false,
    })
}

/// One that is over does not run, and one that waits in the line was not started, unless its start is
/// what can't be read.
fn is_contradicted(agent: &Agent, session: &Session, living: &LivingSession) -> bool {
    let runs = match session.phase {
        Phase::Wanted => agent.is_damaged(),
        Phase::Starting | Phase::Running | Phase::Ending(_) => true,
        Phase::Ended => false,
    };
    !runs && living.process.is_some()
}
