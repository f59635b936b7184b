//! Folding an agent's events: the only way an agent changes.
//!
//! Reads no constant of policy: what was decided by one is in the event. Whoever changes what an event
//! folds to counts up the form of snapshots; a test of the store remembers the last one.

use std::time::Duration;

use super::Agent;
use super::observe::progress;
use crate::checkpoint;
use crate::context::Clock;
use crate::conversation::{Conversations, Opening, Turn};
use crate::event::{AgentEvent, Move};
use crate::handoff;
use crate::id::SessionNumber;
use crate::legacy::{LeftText, LegacyKind};
use crate::reason::{Reason, Witness};
use crate::rest;
use crate::restart::{History, Tally};
use crate::role::RoleTerms;
use crate::round::Rounds;
use crate::session::{Phase, Session, SessionEvent};
use crate::settings::{self, Pending};
use crate::snapshot;
use crate::state::{Cause, Roster, State};
use crate::succession;
use crate::text::Text;
use crate::time::Time;
use crate::work;

/// Folds one event.
pub fn evolve(agent: &mut Agent, event: &AgentEvent, at: Time) {
    fold(agent, event, at);
    checkpoint::fall_due(agent, event);
}

fn fold(agent: &mut Agent, event: &AgentEvent, at: Time) {
    match event {
        AgentEvent::Hatched(_) => {}
        AgentEvent::Moved(moved) => take(agent, moved, at),
        // The first hold stands: who may lift it does not change under a later one.
        AgentEvent::Held(hold) => _ = agent.hold.get_or_insert_with(|| Box::new(hold.clone())),
        AgentEvent::HoldLifted { .. } => agent.hold = None,
        AgentEvent::Rehomed { node } => agent.node = *node,
        AgentEvent::SessionWanted { number, opening } => {
            agent.previous_exit = agent.session.take().and_then(|session| session.exit);
            agent.session = Some(Session::wanted(*number, opening.clone(), at));
            handoff::evolve_by_session(agent, opening);
            open(agent, opening);
        }
        AgentEvent::SessionStarting { number, limit } => starting(agent, *number, *limit, at),
        AgentEvent::SessionRunning { number, process } => {
            fold_session(agent, *number, &SessionEvent::Running(*process), at);
        }
        AgentEvent::SessionEnding { number, pace } => {
            fold_session(agent, *number, &SessionEvent::Ending(*pace), at);
        }
        &AgentEvent::SessionEnded { number, exit, is_clean, ref tally, asked: _ } => {
            count(agent, number, tally, at);
            fold_session(agent, number, &SessionEvent::Ended { exit, is_clean }, at);
        }
        AgentEvent::SessionFound { number, opening, process } => {
            agent.previous_exit = None;
            succession::found(agent);
            agent.session = Some(Session::found(*number, opening.clone(), *process, at));
        }
        AgentEvent::SessionProgressed { number } => progressed(agent, *number),
        AgentEvent::ConversationFollowed { number, conversation, how } => {
            let known = agent.conversations.take();
            agent.conversations = Some(Conversations::follow(known, conversation));
            if let Some(session) = agent.session.as_mut().filter(|s| s.number == *number) {
                session.has_announced = true;
            }
            if how.begins_a_window() {
                begin_window(agent, at);
            }
            succession::followed(agent);
        }
        AgentEvent::WindowBegan { .. } => begin_window(agent, at),
        AgentEvent::ClockPassed { threshold, .. } => agent.clock.passed = Some(*threshold),
        AgentEvent::ClockTold { threshold, .. } => agent.clock.told = Some(*threshold),
        AgentEvent::PhaseReported { phase } => agent.work.report(*phase, at),
        AgentEvent::Work(event) => work::evolve(&mut agent.work, event),
        AgentEvent::Renamed { name } => (agent.name, agent.named_at) = (Some(name.clone()), at),
        AgentEvent::RoleTaken { role, terms, .. } => take_role(agent, role, terms, at),
        AgentEvent::RoleLeft { .. } => (agent.role, agent.role_terms) = Default::default(),
        AgentEvent::RoundPassed { round } => agent.rounds = Rounds { given: *round, since: at },
        AgentEvent::SettingsChanged { settings, .. } => settings::take(agent, settings),
        AgentEvent::LegacyLeft { kind, text } => leave(agent, *kind, text, at),
        AgentEvent::BurialAsked { evidence } => agent.burial = Some(evidence.clone()),
        AgentEvent::Rest(event) => rest::evolve(agent, event, at),
        AgentEvent::Summarised { summary } => agent.summary = Some(summary.clone()),
        AgentEvent::Snapshot(event) => snapshot::evolve(agent, event, at),
        AgentEvent::Handoff(event) => handoff::evolve(agent, event, at),
        AgentEvent::Checkpoint(event) => checkpoint::evolve(agent, event, at),
        AgentEvent::PutOff { until, unseen } => {
            agent.until = until.or(agent.until);
            not_seen(agent, *unseen, at);
        }
    }
}

fn starting(agent: &mut Agent, number: SessionNumber, limit: Duration, at: Time) {
    // One that stood in line gets its start limit when its turn comes.
    let stood = agent.session.as_ref().is_some_and(|session| session.wanted_at < at);
    if agent.state == State::Waking || (agent.state == State::Hatching && stood) {
        agent.until = Some(at + limit);
    }
    fold_session(agent, number, &SessionEvent::Starting, at);
}

fn begin_window(agent: &mut Agent, at: Time) {
    agent.clock = Clock::begin(at);
    handoff::evolve_by_window(agent);
}

fn open(agent: &mut Agent, opening: &Opening) {
    match opening {
        Opening::Bare | Opening::Fresh(_) => {}
        // Its own from here on, also if this session never comes to say so.
        Opening::Resume { conversation, turn } => {
            let known = agent.conversations.take();
            agent.conversations = Some(Conversations::follow(known, conversation));
            agent.turn = *turn;
        }
        Opening::Anew { turn, .. } => agent.turn = *turn,
    }
}

fn progressed(agent: &mut Agent, number: SessionNumber) {
    if let Some(session) = agent.session.as_mut().filter(|session| session.number == number) {
        session.has_progressed = true;
        agent.succession.has_worked = true;
    }
}

fn leave(agent: &mut Agent, kind: LegacyKind, text: &Text, at: Time) {
    agent.legacies.insert(kind, LeftText { text: text.clone(), at });
}

fn take_role(agent: &mut Agent, role: &str, terms: &RoleTerms, at: Time) {
    agent.rounds = Rounds { given: 0, since: at };
    (agent.role, agent.role_terms) = (Some(role.to_owned()), terms.clone());
}

/// Nobody could see the world for so long, up to this time.
fn not_seen(agent: &mut Agent, unseen: Duration, at: Time) {
    let live = agent.session.as_mut().filter(|session| !session.is_over());
    if let Some(session) = live.filter(|_| !unseen.is_zero()) {
        session.unseen += unseen;
        session.seen_again_at = Some(at);
    }
}

/// Takes the end of a session into the history of restarts.
fn count(agent: &mut Agent, number: SessionNumber, tally: &Tally, at: Time) {
    let Some(session) = agent.session.as_ref().filter(|session| session.number == number) else {
        return;
    };
    match tally {
        Tally::Becomes(history) => agent.history = history.clone(),
        Tally::ByFirstRule => {
            let progress = progress(agent, session);
            agent.history.end_by_first_rule(session.lived(at), progress, at);
        }
    }
}

fn take(agent: &mut Agent, moved: &Move, at: Time) {
    handoff::evolve_by_move(agent, moved);
    if matches!(moved.cause, Cause::Retry | Cause::EndedAgain | Cause::RebootedBusy) {
        agent.respawn_count += 1;
    }
    if moved.cause == Cause::Retry {
        agent.history.restarted(at);
    }
    if matches!(moved.cause, Cause::Wake | Cause::Restarted) {
        // The one who wakes it has looked at it, so its retries are counted afresh.
        agent.history = History::default();
        // Nor does it end by what it asked for before that.
        agent.burial = None;
    }
    if moved.reason == Reason::BreakerOpen {
        agent.history.breaker_opened();
    }
    if moved.to.roster() == Roster::Cemetery {
        (agent.hold, agent.burial) = (None, None);
    }
    if rest::is_over_by(moved.cause) {
        agent.rest = None;
    }
    succession::moved(agent, moved);
    agent.turn = turn_after(agent, moved);
    if matches!(moved.reason, Reason::ServiceFailed | Reason::LimitReached) {
        agent.unsettled = Some(moved.reason);
    } else if moved.reason == Reason::Idle {
        // A turn has ended as it should.
        agent.unsettled = None;
    }
    // Shown as unknown whatever follows, as the next daemon would show it: nothing but a person's word
    // outranks what can't be read.
    if agent.is_damaged() && moved.to != State::Frozen {
        return;
    }
    agent.state = moved.to;
    agent.reason = moved.reason;
    agent.evidence = moved.evidence.clone();
    agent.since = at;
    agent.until = moved.until;
}

/// Where the turn stands after a move.
fn turn_after(agent: &Agent, moved: &Move) -> Turn {
    let turn = agent.turn;
    match moved.to {
        State::Working => Turn::Open,
        // A dialog before the first word says nothing about the turn.
        State::Waiting if moved.cause == Cause::DialogSeen => turn,
        State::Waiting if moved.reason == Reason::StoppedInTurn => Turn::Stopped,
        // The turn goes on once the dialog is answered.
        State::Waiting if moved.reason.is_dialog() => Turn::Open,
        // The harness goes on by itself.
        State::Waiting if moved.reason == Reason::RateLimited => Turn::Open,
        State::Waiting => Turn::Over,
        State::Sleeping | State::Waking if is_cut_off(agent, moved) => Turn::Stopped,
        State::Hatching
        | State::Waking
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => turn,
    }
}

/// Whether a person ends a turn by this move. Who restarts an agent that has crashed ends nothing.
fn is_cut_off(agent: &Agent, moved: &Move) -> bool {
    let is_ending = |session: &Session| matches!(session.phase, Phase::Ending(_));
    let is_alive = agent.session.as_ref().is_some_and(is_ending) && agent.state != State::Crashed;
    let ends = moved.cause == Cause::Stop || (moved.cause == Cause::Restarted && is_alive);
    ends && agent.turn == Turn::Open && moved.evidence.witness == Witness::Operator
}

fn fold_session(agent: &mut Agent, number: SessionNumber, event: &SessionEvent, at: Time) {
    if *event == SessionEvent::Starting {
        // It has everything that was set until now.
        agent.pending = Pending::default();
        agent.snapshot_record.session_place = None;
    }
    agent.session = agent
        .session
        .take()
        .map(|session| if session.number == number { session.evolve(event, at) } else { session });
}
