//! What the signs of a harness do to one agent. Changes nothing.
//!
//! A sign is about the live session; one about another number says nothing. What a harness shows is
//! weaker than the kernel's word: it never ends a session by itself, but for one that hangs.

use super::Agent;
use super::step::end_session;
use crate::context::{Sample, Source};
use crate::conversation::{ConversationId, Followed, Opening, Turn};
use crate::event::AgentEvent;
use crate::id::SessionNumber;
use crate::observation::{Sign, Wait};
use crate::reason::{Evidence, Finding, Reason, Show, Witness};
use crate::session::{Pace, Phase, Session};
use crate::state::{Cause, State};
use crate::time::Time;

/// Takes note of what the harness of session `number` shows.
pub fn observe_harness(
    agent: &Agent,
    number: SessionNumber,
    sign: &Sign,
    now: Time,
) -> Vec<AgentEvent> {
    let live = agent.live_session().filter(|session| session.number == number);
    // One that was asked to end may still talk; the agent has moved on.
    let talks = |session: &&Session| matches!(session.phase, Phase::Starting | Phase::Running);
    let Some(session) = live.filter(talks) else {
        return Vec::new();
    };
    match sign {
        Sign::Began { conversation, how } => began(agent, session, conversation, *how, now),
        // Its first word was not heard; this one is as good.
        Sign::TurnBegan if starts(agent) => {
            moved(agent, Cause::Announced, Reason::InTurn, Show::TurnBegan, now)
        }
        // It is in a turn already.
        Sign::TurnBegan if agent.state == State::Working && !works_in_background(agent) => {
            Vec::new()
        }
        Sign::TurnBegan => moved(agent, Cause::TurnBegan, Reason::InTurn, Show::TurnBegan, now),
        Sign::BackgroundWork => background(agent, now),
        Sign::StillIdle => still_idle(agent, now),
        Sign::Waits(wait) => waits(agent, *wait, now),
        Sign::VendorStatus { wait, since } => match listed(agent, *wait, *since) {
            Some(sign) => observe_harness(agent, number, &sign, now),
            None => Vec::new(),
        },
        Sign::Progressed => {
            let fresh =
                (!session.has_progressed).then_some(AgentEvent::SessionProgressed { number });
            fresh.into_iter().chain(announced(agent, session, now)).collect()
        }
        Sign::Measured { conversation, sample } => {
            let mut events = passed(agent, number, conversation.as_ref(), sample);
            // A file may tell of the session before: no sign of life.
            if sample.source == Source::StatusLine {
                events.extend(announced(agent, session, now));
            }
            events
        }
        Sign::WindowBegan => vec![AgentEvent::WindowBegan { number }],
        Sign::Drawn => announced(agent, session, now),
        Sign::Hangs => hangs(agent, now),
    }
}

/// It began, or another conversation did in it.
fn began(
    agent: &Agent,
    session: &Session,
    conversation: &ConversationId,
    how: Followed,
    now: Time,
) -> Vec<AgentEvent> {
    let number = session.number;
    let mut events = Vec::new();
    let known = agent.conversations.as_ref();
    let is_current = known.is_some_and(|known| known.current == *conversation);
    let was_left = known.is_some_and(|known| known.earlier.contains(conversation));
    // Only a compaction begins anything in a conversation that goes on, and only a session
    // that goes back is in one that was left.
    let is_again = session.has_announced
        && match how {
            Followed::Compacted => false,
            Followed::Resumed => is_current,
            Followed::Started | Followed::Cleared | Followed::Forked => is_current || was_left,
        };
    if !is_again {
        let (conversation, how) = (conversation.clone(), how);
        events.push(AgentEvent::ConversationFollowed { number, conversation, how });
    }
    if !is_again && how.begins_a_window() && session.has_announced {
        events.push(AgentEvent::WindowBegan { number });
    }
    // Nobody had the conversation any more: it was told what a first session is told, or nothing.
    let is_anew = how == Followed::Started && matches!(session.opening, Opening::Resume { .. });
    if is_anew {
        let opening = Opening::Fresh(conversation.clone());
        let session = Session { opening, ..session.clone() };
        let agent = Agent { session: Some(session.clone()), ..agent.clone() };
        events.extend(announced(&agent, &session, now));
    } else {
        events.extend(announced(agent, session, now));
    }
    events
}

/// Its turn has ended, and work that the turn began continues.
fn background(agent: &Agent, now: Time) -> Vec<AgentEvent> {
    if works_in_background(agent) {
        return Vec::new();
    }
    let cause = if starts(agent) { Cause::Announced } else { Cause::BackgroundWork };
    moved(agent, cause, Reason::BackgroundTasks, Show::BackgroundWork, now)
}

/// A reminder tells of a turn's end that was not heard. Why the agent waits, or that it works in the
/// background, was told before and is no less true.
fn still_idle(agent: &Agent, now: Time) -> Vec<AgentEvent> {
    let is_waiting = agent.state == State::Waiting && !agent.reason.is_before_first_sign();
    let waits_on = is_waiting && !agent.is_past_limit(now);
    if waits_on || works_in_background(agent) {
        return Vec::new();
    }
    waits(agent, Wait::Input, now)
}

/// Nothing at all was heard in a turn for too long: the session is ended, and its end followed.
fn hangs(agent: &Agent, now: Time) -> Vec<AgentEvent> {
    // One that hangs in a turn has no dialog in its way: its first words were lost.
    let is_taken_for_a_dialog =
        agent.state == State::Waiting && agent.reason.is_before_first_sign();
    let may_hang = agent.state == State::Working || is_taken_for_a_dialog;
    if !may_hang || agent.hold.is_some() {
        return Vec::new();
    }
    let mut events =
        moved(agent, Cause::ConfirmationLost, Reason::Silent, Show::NothingInTurn, now);
    events.extend(end_session(agent, Pace::AtOnce, now));
    events
}

/// The thresholds that a sample of this conversation's window passes.
fn passed(
    agent: &Agent,
    number: SessionNumber,
    conversation: Option<&ConversationId>,
    sample: &Sample,
) -> Vec<AgentEvent> {
    let current = agent.conversations.as_ref().map(|known| &known.current);
    // A sample of a conversation that was left says nothing about the window of this one.
    if current.is_some() && conversation.is_some() && conversation != current {
        return Vec::new();
    }
    let passed = |threshold| AgentEvent::ClockPassed { number, threshold, sample: *sample };
    agent.clock.passes(sample).into_iter().map(passed).collect()
}

fn works_in_background(agent: &Agent) -> bool {
    agent.state == State::Working && agent.reason == Reason::BackgroundTasks
}

/// Why it waits for input: a turn has ended, or its session began without anything to do and waits for
/// what the one before waited for.
fn input_reason(agent: &Agent) -> Reason {
    let is_silent =
        starts(agent) || (agent.state == State::Waiting && agent.reason.is_before_first_sign());
    let opened = agent.live_session().filter(|s| is_silent && !agent.opens_with_a_prompt(s));
    match opened.map(|session| &session.opening) {
        Some(Opening::Resume { turn: Turn::Stopped, .. }) => Reason::StoppedInTurn,
        Some(Opening::Bare | Opening::Fresh(_) | Opening::Resume { .. }) => {
            agent.unsettled.unwrap_or(Reason::Idle)
        }
        // How its last turn ended may be what was not heard.
        None if agent.state == State::Unknown => agent.unsettled.unwrap_or(Reason::Idle),
        None => Reason::Idle,
    }
}

/// The first sign of life. Without anything to do the session waits for input right away.
fn announced(agent: &Agent, session: &Session, now: Time) -> Vec<AgentEvent> {
    if session.has_announced {
        return Vec::new();
    }
    let began = Show::SessionBegan;
    match agent.state {
        State::Hatching | State::Waking => {
            let mut events = moved(agent, Cause::Announced, Reason::InTurn, began, now);
            if !agent.opens_with_a_prompt(session) {
                let working = Agent { state: State::Working, ..agent.clone() };
                let reason = input_reason(agent);
                events.extend(moved(&working, Cause::TurnEnded, reason, began, now));
            }
            events
        }
        State::Waiting if !agent.reason.is_before_first_sign() => Vec::new(),
        // The dialog that was in its way is gone.
        State::Waiting if agent.opens_with_a_prompt(session) => {
            moved(agent, Cause::TurnBegan, Reason::InTurn, began, now)
        }
        State::Waiting => moved(agent, Cause::TurnEnded, input_reason(agent), began, now),
        State::Working
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => Vec::new(),
    }
}

/// What a listing says that was not heard. What was heard after it is newer, and knows more.
fn listed(agent: &Agent, wait: Option<Wait>, since: Time) -> Option<Sign> {
    // Whoever is listed has no first-run dialog in its way.
    let is_past_dialog = agent.reason.is_before_first_sign();
    if since <= agent.since && !is_past_dialog && agent.state != State::Unknown {
        return None;
    }
    let is_plain = is_past_dialog
        || agent.is_past_limit(since)
        || matches!(agent.reason, Reason::Idle | Reason::NeedsPermission | Reason::NeedsAnswer);
    match (agent.state, wait) {
        (State::Waiting, None) => Some(Sign::TurnBegan),
        // The list does not know of work in the background.
        (State::Working, Some(Wait::Input)) if works_in_background(agent) => None,
        (State::Working, Some(wait)) => Some(Sign::Waits(wait)),
        // Why a turn ended early is not in the list: there it is idle.
        (State::Waiting, Some(wait)) if is_plain => Some(Sign::Waits(wait)),
        (State::Waiting, Some(_)) | (State::Working, None) => None,
        // Nothing else is known of it.
        (State::Unknown, None) => Some(Sign::TurnBegan),
        (State::Unknown, Some(wait)) => Some(Sign::Waits(wait)),
        // Before its first word the list has what it begins with.
        (
            State::Hatching
            | State::Waking
            | State::HandingOff
            | State::Crashed
            | State::Sleeping
            | State::Hibernating
            | State::Frozen
            | State::Dead
            | State::Expired,
            _,
        ) => None,
    }
}

fn starts(agent: &Agent) -> bool {
    matches!(agent.state, State::Hatching | State::Waking)
}

fn waits(agent: &Agent, wait: Wait, now: Time) -> Vec<AgentEvent> {
    let waits_for = |reason| agent.state == State::Waiting && agent.reason == reason;
    let (reason, show, until) = match wait {
        Wait::Input => (input_reason(agent), Show::TurnEnded, None),
        Wait::Permission => (Reason::NeedsPermission, Show::PermissionDialog, None),
        Wait::Answer => (Reason::NeedsAnswer, Show::Question, None),
        // The turn was given up before this was heard; at most it tells until when.
        Wait::RateLimit(until) if waits_for(Reason::LimitReached) => {
            (Reason::LimitReached, Show::LimitReached, until)
        }
        Wait::RateLimit(_) if waits_for(Reason::ServiceFailed) => return Vec::new(),
        Wait::RateLimit(until) => (Reason::RateLimited, Show::RateLimit, until),
        Wait::LimitReached(until) => {
            let known = agent.until.filter(|_| waits_for(Reason::RateLimited));
            (Reason::LimitReached, Show::LimitReached, until.or(known))
        }
        Wait::Failure => (Reason::ServiceFailed, Show::ServiceError, None),
    };
    if starts(agent) {
        let working = Agent { state: State::Working, ..agent.clone() };
        let mut events = moved(agent, Cause::Announced, Reason::InTurn, Show::SessionBegan, now);
        events.extend(ended_turn(&working, reason, show, until, now));
        return events;
    }
    // The same again is no news, and a time that is known is not forgotten.
    let is_same = agent.state == State::Waiting && agent.reason == reason;
    if is_same && (agent.until == until || until.is_none()) {
        return Vec::new();
    }
    ended_turn(agent, reason, show, until, now)
}

fn ended_turn(
    agent: &Agent,
    reason: Reason,
    show: Show,
    until: Option<Time>,
    now: Time,
) -> Vec<AgentEvent> {
    let mut events = moved(agent, Cause::TurnEnded, reason, show, now);
    if let Some(AgentEvent::Moved(moved)) = events.first_mut() {
        moved.until = until;
    }
    events
}

/// A move that is shown. From `unknown` it is evidence of what the agent does, unless its record can't be read.
fn moved(agent: &Agent, cause: Cause, reason: Reason, show: Show, now: Time) -> Vec<AgentEvent> {
    let is_unknown = agent.state == State::Unknown && !agent.is_damaged();
    let is_work = matches!(cause, Cause::TurnBegan | Cause::BackgroundWork);
    let cause = match is_unknown {
        true if is_work => Cause::SeenWorking,
        true if cause == Cause::TurnEnded => Cause::SeenWaiting,
        true | false => cause,
    };
    let evidence = Evidence { witness: Witness::Harness, fact: Finding::Shown(show), at: now };
    agent.moved(cause, reason, evidence).map(AgentEvent::Moved).into_iter().collect()
}
