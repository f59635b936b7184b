//! The steps that verbs and reports share: beginning the next session, ending the live one.

use super::becoming::Becoming;
use super::observe::progress;
use super::{Agent, START_LIMIT, burial};
use crate::conversation::{Opening, Turn};
use crate::event::AgentEvent;
use crate::exit::{Exit, UnknownExit};
use crate::id::SessionNumber;
use crate::keeping;
use crate::reason::{Evidence, Reason};
use crate::restart::{History, Tally};
use crate::session::{Pace, Phase, Session};
use crate::snapshot::SnapshotCause;
use crate::state::{Cause, State};
use crate::time::Time;

/// Moves to `waking`. The session itself begins with it if nothing of the last one is left.
pub fn next_session(next: &mut Becoming<'_>, cause: Cause, evidence: Evidence) {
    let until = next.now() + START_LIMIT;
    let moves = next.moves(cause, Reason::Starting, evidence, Some(until));
    if moves && next.agent().live_session().is_none() {
        begin(next);
    }
}

/// The retry of a crashed agent in the line: it starts when its turn comes.
pub fn retry_in_line(next: &mut Becoming<'_>, evidence: Evidence) {
    if next.moves(Cause::Retry, Reason::Starting, evidence, None) {
        want_session(next);
    }
}

pub fn begin(next: &mut Becoming<'_>) {
    let number = want_session(next);
    next.emit(starting(number));
}

/// The next session waits for its turn.
pub fn want_session(next: &mut Becoming<'_>) -> SessionNumber {
    let is_copied = next.before().reason == Reason::HomeCopied;
    let agent = next.agent();
    let number = agent.next_number();
    let opening = match agent.next_opening(number) {
        // The turn is the original's to finish; here a person has to say what is to be done.
        Opening::Resume { conversation, turn: Turn::Open } if is_copied => {
            Opening::Resume { conversation, turn: Turn::Stopped }
        }
        Opening::Anew { conversation, turn: Turn::Open, why } if is_copied => {
            Opening::Anew { conversation, turn: Turn::Stopped, why }
        }
        opening @ (Opening::Bare
        | Opening::Fresh(_)
        | Opening::Resume { .. }
        | Opening::Anew { .. }) => opening,
    };
    // C2: without a conversation nobody tells of its windows: each session has one of its own.
    let begins_window = agent.conversations.is_none() && agent.clock.passed.is_some();
    next.emit(AgentEvent::SessionWanted { number, opening });
    if begins_window {
        next.emit(AgentEvent::WindowBegan { number });
    }
    number
}

pub fn starting(number: SessionNumber) -> AgentEvent {
    AgentEvent::SessionStarting { number, limit: START_LIMIT }
}

/// The live session, if there is one, has ended.
pub fn session_ended(next: &mut Becoming<'_>, exit: Exit, is_clean: bool) {
    let now = next.now();
    let agent = next.agent();
    let Some(session) = agent.live_session() else { return };
    let tally = Tally::Becomes(history_after(agent, session, now));
    let (number, asked) = (session.number, asked_because(agent, session));
    next.emit(AgentEvent::SessionEnded { number, exit, is_clean, tally, asked });
}

/// Why this session had been asked to end, if the agent has moved on since: nothing but its end is left to come.
fn asked_because(agent: &Agent, session: &Session) -> Option<Reason> {
    match agent.state {
        State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
            Some(agent.reason)
        }
        State::Waking if matches!(session.phase, Phase::Ending(_)) => Some(agent.reason),
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::HandingOff
        | State::Unknown
        | State::Crashed => None,
    }
}

/// A session that ran has ended and nobody asked it to: what it left is kept before the next one changes it.
pub fn keep_what_is_left(next: &mut Becoming<'_>, why: SnapshotCause) {
    let ran = |session: &&Session| session.is_over() && session.started_at.is_some();
    let was_asked = next.agent().session.as_ref().filter(ran).map(|session| session.was_asked);
    if was_asked == Some(false) {
        let now = next.now();
        let wish = keeping::want(next.agent(), why, now);
        next.extend(wish);
    }
}

/// What the end of this session makes of the history: what follows is decided by that.
pub fn history_after(agent: &Agent, session: &Session, now: Time) -> History {
    let mut history = agent.history.clone();
    history.ended(session.lived(now), progress(agent, session), now);
    history
}

/// The live session, if there is one, is asked to end, unless it was already.
pub fn end_session(next: &mut Becoming<'_>, pace: Pace) {
    let may_have_started = next.before().is_damaged();
    let Some(session) = next.agent().live_session() else { return };
    let ending = AgentEvent::SessionEnding { number: session.number, pace };
    match session.phase {
        // What can't be read may have been its start.
        Phase::Wanted if may_have_started => next.emit(ending),
        // It never started: there is nothing to end but the wish.
        Phase::Wanted => {
            session_ended(next, Exit::Unknown(UnknownExit::NotStarted), false);
            // BU1
            if burial::is_ripe(next.agent()) {
                burial::carry_out(next);
            }
        }
        Phase::Running => {
            let now = next.now();
            let wish = keeping::want(next.agent(), SnapshotCause::PlannedEnd, now);
            next.extend(wish);
            next.emit(ending);
        }
        Phase::Starting => next.emit(ending),
        Phase::Ending(Pace::Graceful) if pace == Pace::AtOnce => next.emit(ending),
        Phase::Ending(_) | Phase::Ended => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::observe::home_copied;
    use super::*;
    use crate::agent::{Agent, decide, evolve};
    use crate::conversation::{ConversationId, Conversations};
    use crate::id::{AgentId, NodeId, SessionId};
    use crate::reason::Witness;
    use crate::session::Process;
    use crate::state::State;

    /// Two sessions would go on with one turn, at the same time.
    #[test]
    fn a_turn_of_a_copied_home_is_finished_in_the_original() {
        let (now, number) = (Time(1_000_000), SessionNumber::FIRST);
        let mut agent = Agent::unborn(AgentId(1), now);
        let current = ConversationId::of(SessionId { agent: agent.id, number });
        agent.launch.harness = "an agent CLI".to_owned();
        agent.launch.argv = vec!["cli".to_owned()];
        let opening = Opening::Fresh(current.clone());
        evolve(&mut agent, &AgentEvent::SessionWanted { number, opening }, now);
        evolve(&mut agent, &starting(number), now);
        let process = Process { pid: 1, start_ticks: 1 };
        evolve(&mut agent, &AgentEvent::SessionRunning { number, process }, now);
        agent.conversations = Some(Conversations { current, earlier: Vec::new() });
        (agent.state, agent.turn, agent.hold) = (State::Working, Turn::Open, None);
        for event in home_copied(&agent, NodeId(2), now) {
            evolve(&mut agent, &event, now);
        }
        let events = decide::wake(&agent, decide::Start::Continue, Witness::Operator, now)
            .expect("it is woken");
        let is_stopped = |event: &AgentEvent| {
            let AgentEvent::SessionWanted { opening, .. } = event else { return false };
            matches!(opening, Opening::Resume { turn: Turn::Stopped, .. })
        };
        assert!(events.iter().any(is_stopped), "{events:?}");
    }
}
