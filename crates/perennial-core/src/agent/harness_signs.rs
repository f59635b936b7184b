//! What the signs of a harness do to one agent. Changes nothing.
//!
//! A sign is about the live session; one about another number says nothing. What a harness shows is
//! weaker than the kernel's word: it never ends a session by itself, but for one that hangs.

use super::Agent;
use super::becoming::Becoming;
use super::step::end_session;
use crate::context::{Sample, Source};
use crate::conversation::{ConversationId, Followed, Opening, Turn};
use crate::event::AgentEvent;
use crate::handoff;
use crate::id::SessionNumber;
use crate::observation::{Sign, Wait};
use crate::reason::{Evidence, Finding, Reason, Show, Witness};
use crate::session::{Pace, Phase, Session};
use crate::state::{Cause, State};
use crate::time::Time;
use crate::work::{self, Indicator};
use crate::{keeping, snapshot::SnapshotCause};

/// Takes note of what the harness of session `number` shows.
pub fn observe_harness(
    agent: &Agent,
    number: SessionNumber,
    sign: &Sign,
    now: Time,
) -> Vec<AgentEvent> {
    if let Sign::Worked { indicator, at } = sign {
        return worked(agent, number, *indicator, *at, now);
    }
    if let Sign::Committed { at } = sign {
        let is_at_work = matches!(agent.state, State::Working | State::HandingOff);
        let wish = keep_commit(agent, number, *at, now);
        return wish.filter(|_| is_at_work).into_iter().collect();
    }
    let live = agent.live_session().filter(|session| session.number == number);
    // One that was asked to end may still talk; the agent has moved on.
    let talks = |session: &&Session| matches!(session.phase, Phase::Starting | Phase::Running);
    let Some(session) = live.filter(talks) else {
        return Vec::new();
    };
    let mut next = Becoming::new(agent, now);
    take(&mut next, session, sign);
    next.into_events()
}

/// The last that a session did may be read when it is over: it counts until the next one is wanted.
fn worked(
    agent: &Agent,
    number: SessionNumber,
    indicator: Indicator,
    at: Time,
    now: Time,
) -> Vec<AgentEvent> {
    let is_newest = agent.session.as_ref().is_some_and(|session| session.number == number);
    if !is_newest || agent.is_over() {
        return Vec::new();
    }
    let is_commit = indicator == Indicator::CommitMade;
    let wish = is_commit.then(|| keep_commit(agent, number, at, now)).flatten();
    // The wish comes first: the change of phase is served by it.
    wish.into_iter().chain(work::found(agent, number, indicator, at, now)).collect()
}

/// The wish that follows from a commit in the work tree of an agent. One that a checkpoint has taken in is told again when
/// its transcript is.
fn keep_commit(agent: &Agent, number: SessionNumber, at: Time, now: Time) -> Option<AgentEvent> {
    let is_newest = agent.session.as_ref().is_some_and(|session| session.number == number);
    let is_news = agent.checkpoint.as_ref().is_none_or(|last| last.at < at);
    let counts = is_newest && is_news && !agent.is_over();
    counts.then(|| keeping::want(agent, SnapshotCause::Commit, now)).flatten()
}

fn take(next: &mut Becoming<'_>, session: &Session, sign: &Sign) {
    let (agent, number) = (next.before(), session.number);
    handoff::shown(next, sign);
    match sign {
        Sign::Began { conversation, how } => began(next, session, conversation, *how),
        // Its first word was not heard; this one is as good.
        Sign::TurnBegan if starts(agent) => {
            shows(next, Cause::Announced, Reason::InTurn, Show::TurnBegan, None);
        }
        // It is in a turn already.
        Sign::TurnBegan if agent.state == State::Working && !works_in_background(agent) => {}
        Sign::TurnBegan => shows(next, Cause::TurnBegan, Reason::InTurn, Show::TurnBegan, None),
        Sign::BackgroundWork => background(next),
        Sign::StillIdle => still_idle(next),
        Sign::Waits(wait) => waits(next, *wait),
        Sign::VendorStatus { wait, since } => {
            if let Some(sign) = listed(agent, *wait, *since) {
                take(next, session, &sign);
            }
        }
        Sign::Progressed => {
            if !session.has_progressed {
                next.emit(AgentEvent::SessionProgressed { number });
            }
            announced(next, session, false);
        }
        Sign::Measured { conversation, sample } => {
            passed(next, number, conversation.as_ref(), sample);
            // A file may tell of the session before: no sign of life.
            if sample.source == Source::StatusLine {
                announced(next, session, false);
            }
        }
        Sign::WindowBegan => next.emit(AgentEvent::WindowBegan { number }),
        Sign::Drawn => announced(next, session, false),
        Sign::LargeTurn { percent } => handoff::large_turn(next, number, *percent),
        Sign::Symptom { symptom, sample } => {
            handoff::showed(next, number, *symptom, sample.as_ref());
        }
        Sign::Hangs => hangs(next),
        // Weighed before, whether or not the session is alive.
        Sign::Worked { .. } | Sign::Committed { .. } => {}
    }
}

/// It began, or another conversation did in it.
fn began(next: &mut Becoming<'_>, session: &Session, conversation: &ConversationId, how: Followed) {
    let number = session.number;
    let known = next.before().conversations.as_ref();
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
        next.emit(AgentEvent::ConversationFollowed { number, conversation, how });
    }
    if !is_again && how.begins_a_window() && session.has_announced {
        next.emit(AgentEvent::WindowBegan { number });
    }
    let was_to_resume = matches!(session.opening, Opening::Resume { .. });
    announced(next, session, was_to_resume && how == Followed::Started);
}

/// Its turn has ended, and work that the turn began continues.
fn background(next: &mut Becoming<'_>) {
    let agent = next.agent();
    if works_in_background(agent) {
        return;
    }
    let cause = if starts(agent) { Cause::Announced } else { Cause::BackgroundWork };
    shows(next, cause, Reason::BackgroundTasks, Show::BackgroundWork, None);
}

/// A reminder tells of a turn's end that was not heard. Why the agent waits, or that it works in the
/// background, was told before and is no less true.
fn still_idle(next: &mut Becoming<'_>) {
    let now = next.now();
    let agent = next.agent();
    let is_waiting = agent.state == State::Waiting && !agent.reason.is_before_first_sign();
    let waits_on = is_waiting && !agent.is_past_limit(now);
    if !waits_on && !works_in_background(agent) {
        waits(next, Wait::Input);
    }
}

/// Nothing at all was heard in a turn for too long: the session is ended, and its end followed.
fn hangs(next: &mut Becoming<'_>) {
    let agent = next.agent();
    // One that hangs in a turn has no dialog in its way: its first words were lost.
    let is_taken_for_a_dialog =
        agent.state == State::Waiting && agent.reason.is_before_first_sign();
    let may_hang = agent.state == State::Working || is_taken_for_a_dialog;
    if may_hang && agent.hold.is_none() {
        shows(next, Cause::ConfirmationLost, Reason::Silent, Show::NothingInTurn, None);
        end_session(next, Pace::AtOnce);
    }
}

/// The thresholds that a sample of this conversation's window passes.
fn passed(
    next: &mut Becoming<'_>,
    number: SessionNumber,
    conversation: Option<&ConversationId>,
    sample: &Sample,
) {
    let agent = next.before();
    let current = agent.conversations.as_ref().map(|known| &known.current);
    // A sample of a conversation that was left says nothing about the window of this one.
    if current.is_some() && conversation.is_some() && conversation != current {
        return;
    }
    for threshold in agent.clock.passes(sample) {
        next.emit(AgentEvent::ClockPassed { number, threshold, sample: *sample });
    }
    handoff::measured(next, number, sample);
}

fn works_in_background(agent: &Agent) -> bool {
    agent.state == State::Working && agent.reason == Reason::BackgroundTasks
}

/// Why it waits for input: a turn has ended, or its session began without anything to do and waits for what
/// the one before waited for. `is_lost`: nobody had the conversation that the session was to resume.
fn input_reason(agent: &Agent, is_lost: bool) -> Reason {
    let opening = agent.live_session().map(|session| &session.opening);
    let is_silent =
        starts(agent) || (agent.state == State::Waiting && agent.reason.is_before_first_sign());
    match opening.filter(|opening| is_silent && !agent.opens_with_a_prompt(opening, is_lost)) {
        Some(Opening::Resume { turn: Turn::Stopped, .. }) => Reason::StoppedInTurn,
        Some(Opening::Bare | Opening::Fresh(_) | Opening::Resume { .. }) => {
            agent.unsettled.unwrap_or(Reason::Idle)
        }
        // It always has something to say.
        Some(Opening::Anew { .. }) => Reason::Idle,
        // How its last turn ended may be what was not heard.
        None if agent.state == State::Unknown => agent.unsettled.unwrap_or(Reason::Idle),
        None => Reason::Idle,
    }
}

/// The first sign of life of a session. Without anything to do it waits for input right away. `is_lost`:
/// nobody had the conversation that it was to resume, and it began that anew.
fn announced(next: &mut Becoming<'_>, session: &Session, is_lost: bool) {
    if session.has_announced {
        return;
    }
    let agent = next.agent();
    let has_prompt = agent.opens_with_a_prompt(&session.opening, is_lost);
    let reason = input_reason(agent, is_lost);
    let began = Show::SessionBegan;
    match agent.state {
        State::Hatching | State::Waking => {
            shows(next, Cause::Announced, Reason::InTurn, began, None);
            if !has_prompt {
                shows(next, Cause::TurnEnded, reason, began, None);
            }
        }
        State::Waiting if !agent.reason.is_before_first_sign() => {}
        // The dialog that was in its way is gone.
        State::Waiting if has_prompt => shows(next, Cause::TurnBegan, Reason::InTurn, began, None),
        State::Waiting => shows(next, Cause::TurnEnded, reason, began, None),
        State::Working
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => {}
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

fn waits(next: &mut Becoming<'_>, wait: Wait) {
    let agent = next.agent();
    let waits_for = |reason| agent.state == State::Waiting && agent.reason == reason;
    let (reason, show, until) = match wait {
        Wait::Input => (input_reason(agent, false), Show::TurnEnded, None),
        Wait::Permission => (Reason::NeedsPermission, Show::PermissionDialog, None),
        Wait::Answer => (Reason::NeedsAnswer, Show::Question, None),
        // The turn was given up before this was heard; at most it tells until when.
        Wait::RateLimit(until) if waits_for(Reason::LimitReached) => {
            (Reason::LimitReached, Show::LimitReached, until)
        }
        Wait::RateLimit(_) if waits_for(Reason::ServiceFailed) => return,
        Wait::RateLimit(until) => (Reason::RateLimited, Show::RateLimit, until),
        Wait::LimitReached(until) => {
            let known = agent.until.filter(|_| waits_for(Reason::RateLimited));
            (Reason::LimitReached, Show::LimitReached, until.or(known))
        }
        Wait::Failure => (Reason::ServiceFailed, Show::ServiceError, None),
        Wait::Refused => (Reason::ServiceFailed, Show::AccessRefused, None),
        Wait::TooLong => (Reason::ServiceFailed, Show::TooLong, None),
    };
    // The same again is no news, and a time that is known is not forgotten.
    if waits_for(reason) && (agent.until == until || until.is_none()) {
        return;
    }
    if starts(agent) {
        shows(next, Cause::Announced, Reason::InTurn, Show::SessionBegan, None);
    }
    shows(next, Cause::TurnEnded, reason, show, until);
}

/// A move that is shown. From `unknown` it is evidence of what the agent does, unless its record can't be
/// read.
fn shows(next: &mut Becoming<'_>, cause: Cause, reason: Reason, show: Show, until: Option<Time>) {
    let agent = next.agent();
    let is_unknown = agent.state == State::Unknown && !agent.is_damaged();
    let is_work = matches!(cause, Cause::TurnBegan | Cause::BackgroundWork);
    let cause = match is_unknown {
        true if is_work => Cause::SeenWorking,
        true if cause == Cause::TurnEnded => Cause::SeenWaiting,
        true | false => cause,
    };
    let evidence =
        Evidence { witness: Witness::Harness, fact: Finding::Shown(show), at: next.now() };
    next.moves(cause, reason, evidence, until);
}
