//! What reports and the passing of time do to one agent. Changes nothing.
//!
//! A report about another session number than the live one says nothing. What is reported of an agent
//! that is held is recorded, and no next session follows from it (HO1).

use std::time::Duration;

use super::step::{begin, end_session, next_session, retry_in_line, session_ended, starting};
use super::{Agent, DIALOG_AFTER, START_LIMIT};
use crate::conversation::Turn;
use crate::event::{AgentEvent, Move};
use crate::exit::{self, Exit, Fate, UnknownExit};
use crate::hold::{HeldFor, Hold};
use crate::id::{NodeId, SessionNumber};
use crate::observation::Report;
use crate::reason::{Evidence, Finding, Reason, Show, Witness};
use crate::restart::{NOT_INSTANT, Next, Progress, Restart};
use crate::session::{Pace, Phase, Session};
use crate::state::{Cause, State};
use crate::time::Time;

/// Takes note of what the host says of session `number`.
pub fn observe(
    agent: &Agent,
    number: SessionNumber,
    report: &Report,
    now: Time,
) -> Vec<AgentEvent> {
    let Some(session) = agent.live_session().filter(|session| session.number == number) else {
        return Vec::new();
    };
    match report {
        Report::Executed(process) => {
            if session.process.is_some() {
                return Vec::new();
            }
            let mut events = vec![AgentEvent::SessionRunning { number, process: *process }];
            let evidence =
                Evidence { witness: Witness::Kernel, fact: Finding::Executed(*process), at: now };
            // One that was asked to end announces nothing: the agent may be waking for the next.
            if agent.launch.is_bare() && session.phase == Phase::Starting {
                let moved = agent.moved(Cause::Announced, Reason::Running, evidence);
                events.extend(moved.map(AgentEvent::Moved));
            }
            events
        }
        Report::NotStarted(why) => {
            let exit = Exit::Unknown(UnknownExit::NotStarted);
            ended(agent, session, (exit, false), Finding::NotStarted(why.clone()), now)
        }
        Report::Exited(exit) => {
            ended(agent, session, (*exit, exit.is_clean()), Finding::Exited(*exit), now)
        }
        Report::Finished(exit) => ended(agent, session, (*exit, true), Finding::Exited(*exit), now),
    }
}

/// The end of the live session, read by the exit table unless a verb had asked for it.
fn ended(
    agent: &Agent,
    session: &Session,
    (exit, is_clean): (Exit, bool),
    fact: Finding,
    now: Time,
) -> Vec<AgentEvent> {
    let evidence = Evidence { witness: Witness::Kernel, fact, at: now };
    let mut events = vec![session_ended(agent, session, (exit, is_clean), now)];
    // Its state stays unknown: what can't be read may have been an order. If it becomes readable, what
    // follows is decided then.
    if !agent.is_damaged() {
        events.extend(follow(&counted(agent, session, now), session, is_clean, evidence, now));
    }
    events
}

/// What follows the end of a session that is in the history already.
fn follow(
    agent: &Agent,
    session: &Session,
    is_clean: bool,
    evidence: Evidence,
    now: Time,
) -> Vec<AgentEvent> {
    let is_held = agent.hold.is_some();
    match agent.state {
        State::HandingOff if is_held => Vec::new(),
        State::HandingOff => next_session(agent, Cause::HandedOff, true, evidence, now),
        // Woken while the last session was still ending: the next one may start now.
        State::Waking if session.was_asked => {
            begin(agent).into_iter().filter(|_| !is_held).collect()
        }
        // It failed to start, and its retry waited for the tree to be gone.
        State::Crashed if !is_held && agent.until.is_some_and(|until| until <= now) => {
            next_session(agent, Cause::Retry, true, evidence, now)
        }
        State::Hatching | State::Waking | State::Working | State::Waiting | State::Unknown => {
            unasked(agent, session, is_clean, evidence, now)
        }
        // A verb had asked for it: the verb's state stands.
        State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => Vec::new(),
    }
}

/// What follows an end that was recorded while the agent's record could not be read.
fn follow_late(agent: &Agent, session: &Session, now: Time) -> Vec<AgentEvent> {
    let exit = session.exit.unwrap_or(Exit::Unknown(UnknownExit::NotStarted));
    if exit == Exit::Unknown(UnknownExit::MachineRestarted) {
        let evidence = Evidence { witness: Witness::Daemon, fact: Finding::BootChanged, at: now };
        return follow_reboot(agent, session.number, evidence);
    }
    let evidence = Evidence { witness: Witness::Kernel, fact: Finding::Exited(exit), at: now };
    follow(agent, session, session.is_clean, evidence, now)
}

fn unasked(
    agent: &Agent,
    session: &Session,
    is_clean: bool,
    evidence: Evidence,
    now: Time,
) -> Vec<AgentEvent> {
    if agent.state == State::Hatching && agent.name.is_none() {
        let moved = agent.moved(Cause::NeverNamed, Reason::NeverNamed, evidence);
        return moved.map(AgentEvent::Moved).into_iter().collect();
    }
    // A harness that ended before any sign of life did not end well, whatever its code.
    let clean = is_clean && (agent.launch.is_bare() || was_heard(agent, session));
    let sleep = |cause, reason| agent.moved(cause, reason, evidence.clone()).map(AgentEvent::Moved);
    match exit::read(clean, agent.restart) {
        Fate::Finished => sleep(Cause::EndedFinished, Reason::Finished).into_iter().collect(),
        Fate::RestartOff => {
            sleep(Cause::EndedRestartOff, Reason::CrashedRestartOff).into_iter().collect()
        }
        // One that ends at once, again and again, waits between its tries as any other does.
        Fate::Again
            if agent.state == State::Hatching
                || session.lived(now) < NOT_INSTANT
                || agent.hold.is_some() =>
        {
            crash(agent, session, Cause::EndedCrashed, evidence, now)
        }
        Fate::Again => next_session(agent, Cause::EndedAgain, true, evidence, now),
        Fate::Crashed => crash(agent, session, Cause::EndedCrashed, evidence, now),
    }
}

/// Whether the session's harness gave any sign of life.
fn was_heard(agent: &Agent, session: &Session) -> bool {
    let is_silent = matches!(agent.state, State::Hatching | State::Waking)
        || (agent.state == State::Waiting && agent.reason.is_before_first_sign());
    session.has_announced || !is_silent
}

/// The agent with the end of this session in its history: what follows is decided by that.
pub fn counted(agent: &Agent, session: &Session, now: Time) -> Agent {
    let mut agent = agent.clone();
    agent.history.ended(session.lived(now), progress(&agent, session), now);
    agent
}

/// Crashed: with a retry at its time, at once if that is now, or with the breaker open.
fn crash(
    agent: &Agent,
    session: &Session,
    cause: Cause,
    evidence: Evidence,
    now: Time,
) -> Vec<AgentEvent> {
    let (reason, at) = match agent.history.after_crash(agent.id, session.lived(now), now) {
        Next::RetryAt(at) => (Reason::Retrying, at),
        Next::HalfOpenAt(at) => (Reason::BreakerOpen, at),
    };
    let Some(moved) = agent.moved(cause, reason, evidence.clone()) else {
        return Vec::new();
    };
    let mut events = vec![AgentEvent::Moved(Move { until: Some(at), ..moved })];
    // The tree of a start that failed may still be there; its end brings the retry about.
    if at <= now && cause == Cause::EndedCrashed && agent.hold.is_none() {
        let crashed = Agent { state: State::Crashed, ..agent.clone() };
        events.extend(next_session(&crashed, Cause::Retry, true, evidence, now));
    }
    events
}

/// Whether the session got anything done, where its harness lets us see that. One that had nothing
/// to do, or was asked to end, is no failure.
pub fn progress(agent: &Agent, session: &Session) -> Progress {
    let given_up = matches!(agent.state, State::Unknown | State::Crashed);
    let asked = matches!(session.phase, Phase::Ending(_)) && !given_up;
    match (agent.launch.is_bare(), session.has_progressed) {
        (true, _) => Progress::NotVisible,
        (false, true) => Progress::Some,
        // Nor is one that the vendor let wait.
        (false, false) if agent.reason == Reason::RateLimited => Progress::NotVisible,
        (false, false) if asked || agent.turn != Turn::Open => Progress::NotVisible,
        (false, false) => Progress::None,
    }
}

/// The time that `plan` named has passed.
/// `may_start`: no agent is ahead of it in line.
pub fn due(agent: &Agent, may_start: bool, now: Time) -> Vec<AgentEvent> {
    if agent.hold.is_some() {
        return Vec::new();
    }
    if let Some(session) = agent.session.as_ref().filter(|_| agent.is_left_over()) {
        return follow_late(agent, session, now);
    }
    if may_start && let Some(session) = agent.session.as_ref().filter(|s| s.phase == Phase::Wanted)
    {
        return vec![starting(session.number)];
    }
    if let Some(at) = agent.dialog_at().filter(|at| *at <= now) {
        let until = at + START_LIMIT.saturating_sub(DIALOG_AFTER);
        return silent(agent, Reason::FirstRunDialog, Some(until), now);
    }
    if agent.ends_at().is_none_or(|until| until > now) {
        return Vec::new();
    }
    let evidence = Evidence { witness: Witness::Daemon, fact: Finding::TimeCame, at: now };
    match agent.state {
        State::Hatching if agent.name.is_none() => {
            let moved = agent.moved(Cause::NeverNamed, Reason::NeverNamed, evidence);
            let mut events: Vec<_> = moved.into_iter().map(AgentEvent::Moved).collect();
            events.extend(end_session(agent, Pace::AtOnce, now));
            events
        }
        State::Hatching | State::Waking => failed_start(agent, evidence, now),
        State::Crashed if agent.live_session().is_none() && may_start => {
            next_session(agent, Cause::Retry, true, evidence, now)
        }
        // After a reboot others wait to be resumed: it gets in line with them.
        State::Crashed if agent.live_session().is_none() => retry_in_line(agent, evidence),
        State::HandingOff => end_session(agent, Pace::AtOnce, now).into_iter().collect(),
        State::Waiting if agent.reason == Reason::FirstRunDialog => {
            silent(agent, Reason::SilentAtStart, None, now)
        }
        State::Unknown => {
            let moved = agent.moved(Cause::Unreported, Reason::Unlisted, evidence);
            moved.into_iter().map(AgentEvent::Moved).collect()
        }
        State::Crashed
        | State::Working
        | State::Waiting
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => Vec::new(),
    }
}

/// The session runs and has given no sign of life: a person has to look at it, and it is not ended.
fn silent(agent: &Agent, reason: Reason, until: Option<Time>, now: Time) -> Vec<AgentEvent> {
    let fact = Finding::Shown(Show::NothingAtFirst);
    let evidence = Evidence { witness: Witness::Harness, fact, at: now };
    let moved = agent.moved(Cause::DialogSeen, reason, evidence);
    moved.map(|moved| AgentEvent::Moved(Move { until, ..moved })).into_iter().collect()
}

fn failed_start(agent: &Agent, evidence: Evidence, now: Time) -> Vec<AgentEvent> {
    let Some(session) = &agent.session else {
        return Vec::new();
    };
    // Woken while the last session ends: not its own start that is late, but that one's end.
    if matches!(session.phase, Phase::Ending(_)) {
        return end_session(agent, Pace::AtOnce, now).into_iter().collect();
    }
    let given_up = counted(agent, session, now);
    let mut events = match exit::read(false, agent.restart) {
        Fate::RestartOff => {
            let reason = Reason::CrashedRestartOff;
            let moved = agent.moved(Cause::EndedRestartOff, reason, evidence);
            moved.into_iter().map(AgentEvent::Moved).collect()
        }
        Fate::Finished | Fate::Again | Fate::Crashed => {
            crash(&given_up, session, Cause::StartLimit, evidence, now)
        }
    };
    events.extend(end_session(agent, Pace::AtOnce, now));
    events
}

/// The machine restarted under the agent: what ran is gone. Busy ones get in line, and so do those
/// whose retry came due meanwhile.
pub fn rebooted(agent: &Agent, now: Time) -> Vec<AgentEvent> {
    let evidence = Evidence { witness: Witness::Daemon, fact: Finding::BootChanged, at: now };
    let Some(session) = agent.live_session() else {
        let is_due = agent.state == State::Crashed && agent.until.is_some_and(|until| until <= now);
        let retries = is_due && agent.hold.is_none();
        return if retries { retry_in_line(agent, evidence) } else { Vec::new() };
    };
    let exit = match session.phase {
        Phase::Wanted => return Vec::new(),
        Phase::Starting | Phase::Running | Phase::Ending(_) | Phase::Ended => {
            Exit::Unknown(UnknownExit::MachineRestarted)
        }
    };
    let mut events = vec![session_ended(agent, session, (exit, false), now)];
    if !agent.is_damaged() {
        let counted = counted(agent, session, now);
        events.extend(follow_reboot(&counted, session.number, evidence));
    }
    events
}

/// The home was copied: what runs is the original's, and nothing of it is touched from here. The agent is
/// this node's now. One that lived is unknown, and held until a person says what is to become of it.
pub fn home_copied(agent: &Agent, node: NodeId, now: Time) -> Vec<AgentEvent> {
    let fact = Finding::HomeCopied;
    let evidence = Evidence { witness: Witness::Daemon, fact, at: now };
    let lived = match agent.state {
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::Unknown
        | State::HandingOff
        | State::Crashed => true,
        State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
            false
        }
    };
    let exit = Exit::Unknown(UnknownExit::HomeCopied);
    let ended =
        agent.live_session().map(|session| session_ended(agent, session, (exit, false), now));
    let mut events = vec![AgentEvent::Rehomed { node }];
    events.extend(ended);
    if lived {
        let held_for = HeldFor::Person;
        events.push(AgentEvent::Held(Hold { held_for, evidence: evidence.clone(), since: now }));
        let moved = agent.moved(Cause::ConfirmationLost, Reason::HomeCopied, evidence);
        events.extend(moved.map(AgentEvent::Moved));
    }
    events
}

/// What follows a reboot that ended session `number`, which is in the history already.
fn follow_reboot(agent: &Agent, number: SessionNumber, evidence: Evidence) -> Vec<AgentEvent> {
    // One that gave no sign of life is begun again, whether it is taken to show a dialog or not.
    let is_idle = matches!(agent.state, State::Waiting | State::Unknown)
        && agent.turn != Turn::Open
        && !agent.reason.is_before_first_sign();
    let resumes = agent.restart != Restart::Never && !is_idle;
    let busy = agent.moved(Cause::RebootedBusy, Reason::Starting, evidence.clone());
    match busy.filter(|_| resumes) {
        Some(moved) => {
            let number = number.next();
            let opening = agent.next_opening(number);
            let moved = AgentEvent::Moved(Move { until: None, ..moved });
            vec![moved, AgentEvent::SessionWanted { number, opening }]
        }
        None => {
            let moved = agent.moved(Cause::RebootedIdle, Reason::MachineRestarted, evidence);
            moved.map(AgentEvent::Moved).into_iter().collect()
        }
    }
}

/// Nobody could see the world for so long: what would end by silence gets that time back, and what
/// runs did not live meanwhile.
pub fn put_off(agent: &Agent, by: Duration) -> Vec<AgentEvent> {
    let ends_by_silence = match agent.state {
        State::Hatching | State::Waking | State::Unknown | State::HandingOff => true,
        State::Waiting => agent.reason.is_before_first_sign(),
        State::Working
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => false,
    };
    let until = agent.until.filter(|_| ends_by_silence).map(|until| until + by);
    let runs = agent.live_session().is_some_and(|session| session.started_at.is_some());
    let unseen = if runs { by } else { Duration::ZERO };
    let is_news = until.is_some() || runs;
    is_news.then_some(AgentEvent::PutOff { until, unseen }).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{evolve, hatch};
    use crate::event::Birth;
    use crate::id::AgentId;
    use crate::launch::{BARE_COMMAND, Host, Launch};
    use crate::reason::Verb;
    use crate::session::Process;

    const NOW: Time = Time(1_000_000_000);

    /// A bare command under `restart` whose first session ran for `lived` and then ended.
    fn ended_after(restart: Restart, lived: Duration, executed: bool, exit: Exit) -> Agent {
        let id = AgentId(7);
        let launch = Launch {
            harness: BARE_COMMAND.to_owned(),
            host: Host::Shim,
            argv: vec!["true".to_owned()],
            dir: "/".to_owned(),
            env_names: Vec::new(),
            project: "/".to_owned(),
            options: crate::launch::Options::default(),
        };
        let asked = Finding::Asked(Verb::Spawn);
        let birth = Birth {
            name: "bob".parse().ok(),
            role: None,
            parent: None,
            node: NodeId::HOME,
            launch,
            restart,
            evidence: Evidence { witness: Witness::Operator, fact: asked, at: NOW },
            until: NOW + Duration::from_secs(300),
        };
        let mut agent = Agent::born(id, &birth, NOW);
        let fold = |agent: &mut Agent, events: Vec<AgentEvent>, at| {
            events.iter().for_each(|event| evolve(agent, event, at));
        };
        fold(&mut agent, hatch(id, birth, None), NOW);
        let number = SessionNumber::FIRST;
        if executed {
            let process = Process { pid: 1, start_ticks: 1 };
            let events = observe(&agent, number, &Report::Executed(process), NOW);
            fold(&mut agent, events, NOW);
        }
        let end = NOW + lived;
        let events = observe(&agent, number, &Report::Exited(exit), end);
        fold(&mut agent, events, end);
        agent
    }

    #[test]
    fn a_command_that_always_restarts_and_ends_at_once_waits_between_its_tries() {
        let at_once = ended_after(Restart::Always, Duration::from_millis(5), true, Exit::Code(0));
        assert_eq!((at_once.state, at_once.reason), (State::Crashed, Reason::Retrying));
        assert!(at_once.until > Some(NOW + Duration::from_secs(1)));
        let later = ended_after(Restart::Always, Duration::from_secs(2), true, Exit::Code(0));
        assert_eq!((later.state, later.next_number()), (State::Waking, SessionNumber(3)));
    }

    #[test]
    fn a_command_that_ended_well_before_its_start_was_heard_of_has_finished() {
        let missed = ended_after(Restart::OnCrash, Duration::from_secs(9), false, Exit::Code(0));
        assert_eq!((missed.state, missed.reason), (State::Sleeping, Reason::Finished));
    }

    /// Found by the exploration: a record in which it was moved could not be read, so its program had run for
    /// long when its start limit came.
    #[test]
    fn a_start_that_failed_after_long_is_not_retried_beside_its_session() {
        let mut agent = ended_after(Restart::OnCrash, Duration::from_secs(9), false, Exit::Code(1));
        let number = SessionNumber(9);
        let running = Process { pid: 1, start_ticks: 1 };
        agent.state = State::Waking;
        for event in [
            AgentEvent::SessionWanted { number, opening: crate::conversation::Opening::Bare },
            starting(number),
            AgentEvent::SessionRunning { number, process: running },
        ] {
            evolve(&mut agent, &event, NOW);
        }
        let late = NOW + Duration::from_secs(4000);
        let events = super::due(&agent, true, late);
        let begins = |event: &AgentEvent| matches!(event, AgentEvent::SessionWanted { .. });
        assert!(!events.is_empty(), "its limit has come");
        assert!(!events.iter().any(begins), "{events:?}");
    }
}
