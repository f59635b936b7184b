//! Folding an agent's events: the only way an agent changes.

use super::observe::progress;
use super::{Agent, START_LIMIT};
use crate::context::Clock;
use crate::conversation::{Conversations, Opening};
use crate::event::{AgentEvent, Move};
use crate::id::SessionNumber;
use crate::reason::Reason;
use crate::restart::History;
use crate::session::{Session, SessionEvent};
use crate::state::{Cause, State};
use crate::time::Time;

/// Folds one event.
pub fn evolve(mut agent: Agent, event: &AgentEvent, at: Time) -> Agent {
    match event {
        AgentEvent::Hatched(_) => {}
        AgentEvent::Moved(moved) => take(&mut agent, moved, at),
        AgentEvent::SessionWanted { number, opening } => {
            agent.previous_exit = agent.session.take().and_then(|session| session.exit);
            agent.session = Some(Session::wanted(*number, opening.clone(), at));
            // Its own from here on, also if this session never comes to say so.
            if let Opening::Resume { conversation, in_turn } = opening {
                let known = agent.conversations.take();
                agent.conversations = Some(Conversations::follow(known, conversation));
                agent.in_turn = *in_turn;
            }
        }
        AgentEvent::SessionStarting { number } => {
            // One that stood in line gets its start limit when its turn comes.
            if agent.state == State::Waking {
                agent.until = Some(at + START_LIMIT);
            }
            fold_session(&mut agent, *number, &SessionEvent::Starting, at);
        }
        AgentEvent::SessionRunning { number, process } => {
            fold_session(&mut agent, *number, &SessionEvent::Running(*process), at);
        }
        AgentEvent::SessionEnding { number, pace } => {
            fold_session(&mut agent, *number, &SessionEvent::Ending(*pace), at);
        }
        AgentEvent::SessionEnded { number, exit } => {
            if let Some(session) = agent.session.as_ref().filter(|s| s.number == *number) {
                let progress = progress(&agent, session);
                agent.history.ended(session.lived(at), progress, at);
            }
            fold_session(&mut agent, *number, &SessionEvent::Ended(*exit), at);
        }
        AgentEvent::SessionProgressed { number } => {
            if let Some(session) = agent.session.as_mut().filter(|s| s.number == *number) {
                session.has_progressed = true;
            }
        }
        AgentEvent::ConversationFollowed { number, conversation, how } => {
            let known = agent.conversations.take();
            agent.conversations = Some(Conversations::follow(known, conversation));
            if let Some(session) = agent.session.as_mut().filter(|s| s.number == *number) {
                session.has_announced = true;
            }
            if how.begins_a_window() {
                agent.clock = Clock::default();
            }
        }
        AgentEvent::WindowBegan { .. } => agent.clock = Clock::default(),
        AgentEvent::ClockPassed { threshold, .. } => agent.clock.passed = Some(*threshold),
        AgentEvent::ClockTold { threshold, .. } => agent.clock.told = Some(*threshold),
        AgentEvent::PhaseReported { phase } => agent.work_phase = Some(*phase),
        AgentEvent::Renamed { name } => {
            agent.name = Some(name.clone());
            agent.named_at = at;
        }
        AgentEvent::Summarised { summary } => agent.summary = Some(summary.clone()),
        AgentEvent::PutOff { until } => agent.until = Some(*until),
    }
    agent
}

fn take(agent: &mut Agent, moved: &Move, at: Time) {
    if matches!(moved.cause, Cause::Retry | Cause::EndedAgain | Cause::RebootedBusy) {
        agent.respawn_count += 1;
    }
    if moved.cause == Cause::Retry {
        agent.history.restarted(at);
    }
    if moved.cause == Cause::Wake {
        // The operator looked at it: it gets its tries anew.
        agent.history = History::default();
    }
    if moved.reason == Reason::BreakerOpen {
        agent.history.breaker_opened();
    }
    match moved.to {
        State::Working => agent.in_turn = true,
        // A dialog before the first word says nothing about the turn.
        State::Waiting if moved.cause == Cause::DialogSeen => {}
        State::Waiting => agent.in_turn = false,
        State::Hatching
        | State::Waking
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => {}
    }
    agent.state = moved.to;
    agent.reason = moved.reason;
    agent.evidence = moved.evidence.clone();
    agent.since = at;
    agent.until = moved.until;
}

fn fold_session(agent: &mut Agent, number: SessionNumber, event: &SessionEvent, at: Time) {
    agent.session = agent
        .session
        .take()
        .map(|session| if session.number == number { session.evolve(event, at) } else { session });
}
