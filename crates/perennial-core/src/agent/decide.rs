//! What verbs do to one agent: events, or a refusal. Changes nothing.

use super::Agent;
use super::step::{end_session, next_session};
use crate::event::{AgentEvent, Birth};
use crate::id::SessionNumber;
use crate::name::Name;
use crate::reason::{Evidence, Fact, Reason, Verb, Witness};
use crate::refusal::Refusal;
use crate::session::{Pace, Phase};
use crate::state::{Cause, State};
use crate::time::Time;

/// The first events of a new agent.
pub fn hatch(birth: Birth) -> Vec<AgentEvent> {
    let number = SessionNumber::FIRST;
    vec![
        AgentEvent::Hatched(Box::new(birth)),
        AgentEvent::SessionWanted { number },
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

fn wrong_state(agent: &Agent, verb: Verb) -> Refusal {
    Refusal::WrongState { agent: agent.id, verb, state: agent.state }
}
