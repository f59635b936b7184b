//! What verbs do to one agent: events, or a refusal. Changes nothing.

use super::becoming::Becoming;
use super::burial::ask_for_burial;
use super::step::{begin, end_session, next_session, starting};
use super::{Agent, needs_operator};
use crate::conversation::{ConversationId, Opening, Turn};
use crate::event::{AgentEvent, Birth};
use crate::hold::HeldFor;
use crate::id::{AgentId, SessionId, SessionNumber};
use crate::name::Name;
use crate::reason::{Evidence, Finding, Reason, Verb, Witness};
use crate::refusal::Refusal;
use crate::role::RoleTerms;
use crate::session::{Pace, Phase};
use crate::settings::Settings;
use crate::state::{Cause, State};
use crate::time::Time;
use crate::work::{self, WorkPhase};

/// Whether a session that a verb asks for takes its conversation up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Continue,
    /// It begins a new one, and is told where the work stood.
    Fresh,
}

impl Start {
    /// A bare command has no conversation that it could leave.
    fn of(self, agent: &Agent) -> Start {
        if agent.launch.is_bare() { Start::Continue } else { self }
    }

    fn asked(self, verb: Verb) -> Finding {
        match self {
            Start::Continue => Finding::Asked(verb),
            Start::Fresh => Finding::AskedFresh(verb),
        }
    }
}

/// The first events of a new agent.
pub fn hatch(
    id: AgentId,
    birth: Birth,
    terms: RoleTerms,
    conversation: Option<ConversationId>,
) -> Vec<AgentEvent> {
    let number = SessionNumber::FIRST;
    let opening = match conversation {
        // Somebody's conversation goes on as it was left.
        Some(conversation) => {
            let has_prompt = birth.launch.options.prompt.is_some();
            Opening::Resume { conversation, turn: if has_prompt { Turn::Open } else { Turn::Over } }
        }
        None if birth.launch.is_bare() => Opening::Bare,
        None => Opening::Fresh(ConversationId::of(SessionId { agent: id, number })),
    };
    let role = birth.role.clone().map(|role| AgentEvent::RoleTaken {
        role,
        terms: Box::new(terms),
        from: None,
        evidence: birth.evidence.clone(),
    });
    let mut events = vec![AgentEvent::Hatched(Box::new(birth))];
    events.extend(role);
    events.extend([AgentEvent::SessionWanted { number, opening }, starting(number)]);
    events
}

/// Cancels whatever was to come; a live session is asked to end. Nothing to do is no refusal. One that
/// sleeps and needs the operator no longer does, once the operator has stopped it.
pub fn stop(agent: &Agent, witness: Witness, now: Time) -> Result<Vec<AgentEvent>, Refusal> {
    if matches!(agent.state, State::Dead | State::Expired) {
        return Err(wrong_state(agent, Verb::Stop));
    }
    let evidence = Evidence { witness, fact: Finding::Asked(Verb::Stop), at: now };
    // What a person orders is known, whatever can't be read of the time before.
    let mut next = Becoming::new(agent, now);
    let is_doubtful = agent.is_damaged() || agent.awaits_word_on_loss();
    if is_doubtful && HeldFor::Damage.is_lifted_by(witness) {
        next.emit(AgentEvent::HoldLifted { evidence: evidence.clone() });
    }
    let is_seen = witness == Witness::Operator && needs_operator(agent.state, agent.reason);
    if agent.state != State::Sleeping || is_seen {
        next.moves(Cause::Stop, Reason::Stopped, evidence, None);
    }
    end_session(&mut next, Pace::Graceful);
    Ok(next.into_events())
}

/// Gives the agent a session, now or as soon as the last one is gone. A hold that the caller may lift
/// ends with it; an agent that lives is then left to go on.
pub fn wake(
    agent: &Agent,
    start: Start,
    witness: Witness,
    now: Time,
) -> Result<Vec<AgentEvent>, Refusal> {
    may_have_a_session(agent, Verb::Wake, witness)?;
    let start = start.of(agent);
    let evidence = Evidence { witness, fact: start.asked(Verb::Wake), at: now };
    let mut next = Becoming::new(agent, now);
    let is_lifted = lift(&mut next, &evidence)?;
    if lives(agent) {
        let running = Refusal::Running { agent: agent.id };
        return if is_lifted { Ok(next.into_events()) } else { Err(running) };
    }
    let phase = agent.live_session().map(|session| session.phase);
    match agent.state {
        // A session ended while it was held, and the next one waited for this.
        State::Waking if start == Start::Fresh => {
            next_session(&mut next, Cause::Restarted, evidence);
        }
        State::Waking => begin(&mut next),
        State::HandingOff => next_session(&mut next, Cause::HandedOff, evidence),
        // Its session may live, whatever record can't be read: it is taken up, not doubled.
        State::Unknown if phase == Some(Phase::Running) => taken_up(&mut next, evidence),
        // What can't be read may be the order to start it: it stands from here on, and finds the
        // session that runs, if one does.
        State::Unknown if phase == Some(Phase::Wanted) && agent.is_damaged() => {
            next_session(&mut next, Cause::Wake, evidence);
            agent.session.iter().for_each(|session| next.emit(starting(session.number)));
        }
        State::Unknown
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Hatching
        | State::Working
        | State::Waiting
        | State::Frozen
        | State::Dead
        | State::Expired => next_session(&mut next, Cause::Wake, evidence),
    }
    Ok(next.into_events())
}

/// Ends the live session, if there is one, and gives the agent the next: at once, or as soon as the last
/// one is gone. Both are one decision, so whoever crashes in between leaves an agent that is waking.
pub fn restart(
    agent: &Agent,
    start: Start,
    witness: Witness,
    now: Time,
) -> Result<Vec<AgentEvent>, Refusal> {
    may_have_a_session(agent, Verb::Restart, witness)?;
    let start = start.of(agent);
    let evidence = Evidence { witness, fact: start.asked(Verb::Restart), at: now };
    let mut next = Becoming::new(agent, now);
    lift(&mut next, &evidence)?;
    // A session that waits for its turn is the next one already, and keeps its place in the line, unless it is to take
    // up a conversation that is not wanted.
    let is_next = start == Start::Continue && next.agent().waits_in_line();
    if is_next && !agent.is_damaged() {
        next.moves(Cause::Restarted, Reason::Starting, evidence, None);
    } else {
        end_session(&mut next, Pace::Graceful);
        next_session(&mut next, Cause::Restarted, evidence);
    }
    Ok(next.into_events())
}

/// Refuses a session to an agent that may not have one, or not by this witness.
fn may_have_a_session(agent: &Agent, verb: Verb, witness: Witness) -> Result<(), Refusal> {
    match agent.state {
        State::Frozen => return Err(Refusal::NeedsApproval { agent: agent.id }),
        State::Dead | State::Expired => return Err(wrong_state(agent, verb)),
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::HandingOff
        | State::Unknown
        | State::Crashed
        | State::Sleeping
        | State::Hibernating => {}
    }
    // G4
    if agent.was_stopped_by_operator() && witness != Witness::Operator {
        return Err(Refusal::StoppedByOperator { agent: agent.id });
    }
    Ok(())
}

/// A session that runs goes on. What a command does is known by that; where a turn of an agent CLI
/// stands is said by what is heard of it.
fn taken_up(next: &mut Becoming<'_>, evidence: Evidence) {
    let agent = next.agent();
    let has_announced = agent.session.as_ref().is_some_and(|session| session.has_announced);
    let (cause, reason) = match (agent.launch.is_bare(), has_announced) {
        (true, _) => (Cause::SeenWorking, Reason::Running),
        (false, true) => (Cause::ConfirmationLost, Reason::DaemonStarted),
        (false, false) => return next_session(next, Cause::Wake, evidence),
    };
    next.moves(cause, reason, evidence, None);
}

/// Ends the hold, if there is one that the witness may lift; says whether it did.
fn lift(next: &mut Becoming<'_>, evidence: &Evidence) -> Result<bool, Refusal> {
    let agent = next.before();
    let Some(hold) = &agent.hold else { return Ok(false) };
    let runs = agent.live_session().is_some_and(|session| session.phase == Phase::Running);
    // One whose birth can't be read has nothing that could be started.
    let has_program = runs || !agent.launch.argv.is_empty();
    if hold.held_for.is_lifted_by(evidence.witness) && has_program {
        next.emit(AgentEvent::HoldLifted { evidence: evidence.clone() });
        Ok(true)
    } else {
        Err(Refusal::Held { agent: agent.id, held_for: hold.held_for })
    }
}

/// Whether a session of it is alive or under way, as far as its record can be read.
fn lives(agent: &Agent) -> bool {
    match agent.state {
        State::Hatching | State::Working | State::Waiting => true,
        State::Waking | State::HandingOff => agent.live_session().is_some(),
        State::Unknown => {
            let is_doubtful = agent.is_damaged() || agent.awaits_word_on_loss();
            agent.live_session().is_some() && !is_doubtful
        }
        State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => false,
    }
}

/// A person has it done at once; an agent, of itself, when its turn has ended.
pub fn bury(
    agent: &Agent,
    summary: Option<String>,
    witness: Witness,
    now: Time,
) -> Result<Vec<AgentEvent>, Refusal> {
    if witness == Witness::Agent(agent.id) {
        return ask_for_burial(agent, summary, now);
    }
    let evidence = Evidence { witness, fact: Finding::Asked(Verb::Bury), at: now };
    let mut next = Becoming::new(agent, now);
    // Without one, what the agent said last stays its summary.
    if let Some(summary) = summary {
        next.emit(AgentEvent::Summarised { summary });
    }
    if !next.moves(Cause::Buried, Reason::Retired, evidence, None) {
        return Err(wrong_state(agent, Verb::Bury));
    }
    end_session(&mut next, Pace::Graceful);
    Ok(next.into_events())
}

/// Other settings, for the sessions from the next one on; the restart policy and the parent at once.
pub fn set(
    agent: &Agent,
    settings: Settings<AgentId>,
    witness: Witness,
    now: Time,
) -> Result<Vec<AgentEvent>, Refusal> {
    if matches!(agent.state, State::Dead | State::Expired) {
        return Err(wrong_state(agent, Verb::Set));
    }
    let settings = settings.without_what_is_so(agent);
    if settings == Settings::default() {
        return Ok(Vec::new());
    }
    let evidence = Evidence { witness, fact: Finding::Asked(Verb::Set), at: now };
    Ok(vec![AgentEvent::SettingsChanged { settings: Box::new(settings), evidence }])
}

pub fn rename(agent: &Agent, name: Name) -> Result<Vec<AgentEvent>, Refusal> {
    if matches!(agent.state, State::Dead | State::Expired) {
        return Err(wrong_state(agent, Verb::Rename));
    }
    Ok(vec![AgentEvent::Renamed { name }])
}

/// The agent's own word on where its work stands.
pub fn report(agent: &Agent, phase: Option<WorkPhase>, summary: Option<String>) -> Vec<AgentEvent> {
    let summary = summary.filter(|summary| agent.summary.as_ref() != Some(summary));
    let phase = phase.and_then(|phase| work::reported(agent, phase));
    phase.into_iter().chain(summary.map(|summary| AgentEvent::Summarised { summary })).collect()
}

fn wrong_state(agent: &Agent, verb: Verb) -> Refusal {
    Refusal::WrongState { agent: agent.id, verb, state: agent.state }
}
