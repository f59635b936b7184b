//! What verbs do to one agent: events, or a refusal. Changes nothing.

use super::Agent;
use super::step::{end_session, next_session};
use crate::conversation::{ConversationId, Opening};
use crate::event::{AgentEvent, Birth};
use crate::id::{AgentId, SessionId, SessionNumber};
use crate::name::Name;
use crate::reason::{Evidence, Fact, Reason, Verb, Witness};
use crate::refusal::Refusal;
use crate::session::{Pace, Phase};
use crate::state::{Cause, State};
use crate::time::Time;
use crate::work::WorkPhase;

/// The first events of a new agent.
pub fn hatch(id: AgentId, birth: Birth, conversation: Option<ConversationId>) -> Vec<AgentEvent> {
    let number = SessionNumber::FIRST;
    let opening = match conversation {
        // Somebody's conversation goes on as it was left.
        Some(conversation) => {
            Opening::Resume { conversation, in_turn: birth.launch.options.prompt.is_some() }
        }
        None if birth.launch.is_bare() => Opening::Bare,
        None => Opening::Fresh(ConversationId::of(SessionId { agent: id, number })),
    };
    vec![
        AgentEvent::Hatched(Box::new(birth)),
        AgentEvent::SessionWanted { number, opening },
        AgentEvent::SessionStarting { number },
    ]
}

/// Cancels whatever was to come; a live session is asked to end. Nothing to do is no refusal.
pub fn stop(agent: &Agent, witness: Witness, now: Time) -> Result<Vec<AgentEvent>, Refusal> {
    if matches!(agent.state, State::Dead | State::Expired) {
        return Err(wrong_state(agent, Verb::Stop));
    }
    let evidence = Evidence { witness, fact: Fact::Asked(Verb::Stop), at: now };
    let moved = agent.moved(Cause::Stop, Reason::Stopped, evidence);
    let mut events: Vec<AgentEvent> = moved.into_iter().map(AgentEvent::Moved).collect();
    events.extend(end_session(agent, Pace::Graceful));
    Ok(events)
}

/// Gives the agent a session, now or as soon as the last one is gone.
pub fn wake(agent: &Agent, witness: Witness, now: Time) -> Result<Vec<AgentEvent>, Refusal> {
    match agent.state {
        State::Frozen => return Err(Refusal::NeedsApproval { agent: agent.id }),
        State::Dead | State::Expired => return Err(wrong_state(agent, Verb::Wake)),
        State::Hatching | State::Waking | State::Working | State::Waiting | State::HandingOff => {
            return Err(Refusal::Running { agent: agent.id });
        }
        State::Unknown
            if agent.live_session().is_some() && agent.reason != Reason::RecordUnreadable =>
        {
            return Err(Refusal::Running { agent: agent.id });
        }
        State::Unknown | State::Crashed | State::Sleeping | State::Hibernating => {}
    }
    let evidence = Evidence { witness, fact: Fact::Asked(Verb::Wake), at: now };
    let phase = agent.live_session().map(|session| session.phase);
    // Its session may live, whatever record can't be read: it is taken up, not doubled.
    if agent.state == State::Unknown && phase == Some(Phase::Running) {
        let moved = agent.moved(Cause::SeenWorking, Reason::Running, evidence);
        return Ok(moved.map(AgentEvent::Moved).into_iter().collect());
    }
    Ok(next_session(agent, Cause::Wake, phase.is_none(), evidence, now))
}

pub fn bury(
    agent: &Agent,
    summary: String,
    witness: Witness,
    now: Time,
) -> Result<Vec<AgentEvent>, Refusal> {
    let evidence = Evidence { witness, fact: Fact::Asked(Verb::Bury), at: now };
    let moved = agent
        .moved(Cause::Buried, Reason::Retired, evidence)
        .ok_or_else(|| wrong_state(agent, Verb::Bury))?;
    let mut events = vec![AgentEvent::Summarised { summary }, AgentEvent::Moved(moved)];
    events.extend(end_session(agent, Pace::Graceful));
    Ok(events)
}

pub fn rename(agent: &Agent, name: Name) -> Result<Vec<AgentEvent>, Refusal> {
    if matches!(agent.state, State::Dead | State::Expired) {
        return Err(wrong_state(agent, Verb::Rename));
    }
    Ok(vec![AgentEvent::Renamed { name }])
}

/// The agent's own word on where its work stands.
pub fn report(agent: &Agent, phase: Option<WorkPhase>, summary: Option<String>) -> Vec<AgentEvent> {
    let phase = phase.filter(|phase| agent.work_phase != Some(*phase));
    let summary = summary.filter(|summary| agent.summary.as_ref() != Some(summary));
    let phase = phase.map(|phase| AgentEvent::PhaseReported { phase });
    phase.into_iter().chain(summary.map(|summary| AgentEvent::Summarised { summary })).collect()
}

fn wrong_state(agent: &Agent, verb: Verb) -> Refusal {
    Refusal::WrongState { agent: agent.id, verb, state: agent.state }
}
