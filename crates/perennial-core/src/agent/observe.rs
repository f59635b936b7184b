//! What reports and the passing of time do to one agent. Changes nothing.
//!
//! A report about another session number than the live one says nothing. What is reported of an agent
//! that is held is recorded, and no next session follows from it (HO1).

use std::time::Duration;

use super::becoming::Becoming;
use super::burial;
use super::step::{
    begin, end_session, history_after, keep_what_is_left, next_session, retry_in_line,
    session_ended, starting, want_session,
};
use super::{Agent, DIALOG_AFTER, START_LIMIT};
use crate::conversation::Turn;
use crate::event::AgentEvent;
use crate::exit::{self, Exit, Fate, UnknownExit};
use crate::handoff;
use crate::hold::{HeldFor, Hold};
use crate::id::{NodeId, SessionNumber};
use crate::keeping::{self, MissCause};
use crate::observation::Report;
use crate::reason::{Evidence, Finding, Reason, Show, Witness};
use crate::restart::{NOT_INSTANT, Next, Restart, SessionProgress};
use crate::session::{Pace, Phase, Session};
use crate::snapshot::{self, SnapshotCause};
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
            let mut next = Becoming::new(agent, now);
            next.emit(AgentEvent::SessionRunning { number, process: *process });
            // One that was asked to end announces nothing: the agent may be waking for the next.
            if agent.launch.is_bare() && session.phase == Phase::Starting {
                let fact = Finding::Executed(*process);
                let evidence = Evidence { witness: Witness::Kernel, fact, at: now };
                next.moves(Cause::Announced, Reason::Running, evidence, None);
            }
            next.into_events()
        }
        Report::NotStarted(why) => {
            let exit = Exit::Unknown(UnknownExit::NotStarted);
            ended(agent, (exit, false), Finding::NotStarted(why.clone()), now)
        }
        Report::Exited(exit) => ended(agent, (*exit, exit.is_clean()), Finding::Exited(*exit), now),
        Report::Finished(exit) => ended(agent, (*exit, true), Finding::Exited(*exit), now),
    }
}

/// The end of the live session, read by the exit table unless a verb had asked for it.
fn ended(
    agent: &Agent,
    (exit, is_clean): (Exit, bool),
    fact: Finding,
    now: Time,
) -> Vec<AgentEvent> {
    let mut next = Becoming::new(agent, now);
    session_ended(&mut next, exit, is_clean);
    keep_what_is_left(&mut next, SnapshotCause::Crash);
    // Its state stays unknown: what can't be read may have been an order. If it becomes readable, what
    // follows is decided then.
    if !agent.is_damaged() {
        follow(&mut next, Evidence { witness: Witness::Kernel, fact, at: now });
    }
    next.into_events()
}

/// What follows the end of its session.
fn follow(next: &mut Becoming<'_>, evidence: Evidence) {
    let now = next.now();
    let agent = next.agent();
    // BU2
    if burial::is_ripe(agent) {
        return burial::carry_out(next);
    }
    let is_held = agent.hold.is_some();
    match agent.state {
        State::HandingOff if is_held => {}
        State::HandingOff => next_session(next, Cause::HandedOff, evidence),
        // Woken while the last session was still ending: the next one may start now.
        State::Waking if agent.session.as_ref().is_some_and(|session| session.was_asked) => {
            if !is_held {
                begin(next);
            }
        }
        // It failed to start, and its retry waited for the tree to be gone.
        State::Crashed if !is_held && agent.until.is_some_and(|until| until <= now) => {
            next_session(next, Cause::Retry, evidence);
        }
        // LO2: what its end means may have been in what is gone.
        State::Unknown if is_held && agent.reason == Reason::RecordLost => {}
        State::Hatching | State::Waking | State::Working | State::Waiting | State::Unknown => {
            unasked(next, evidence);
        }
        // A verb had asked for it: the verb's state stands.
        State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => {}
    }
}

/// What follows an end that was recorded while the agent's record could not be read.
fn follow_late(next: &mut Becoming<'_>, session: &Session) {
    let at = next.now();
    let exit = session.exit.unwrap_or(Exit::Unknown(UnknownExit::NotStarted));
    if exit == Exit::Unknown(UnknownExit::MachineRestarted) {
        let fact = Finding::BootChanged;
        follow_reboot(next, Evidence { witness: Witness::Daemon, fact, at });
    } else {
        let fact = Finding::Exited(exit);
        follow(next, Evidence { witness: Witness::Kernel, fact, at });
    }
}

fn unasked(next: &mut Becoming<'_>, evidence: Evidence) {
    let now = next.now();
    let agent = next.agent();
    let Some(session) = &agent.session else { return };
    if agent.state == State::Hatching && agent.name.is_none() {
        next.moves(Cause::NeverNamed, Reason::NeverNamed, evidence, None);
        return;
    }
    // A harness that ended before any sign of life, or in the middle of a turn, did not end well, whatever its code.
    let may_be_clean = was_heard(agent, session) && !is_cut_off(agent);
    let is_clean = session.is_clean && (agent.launch.is_bare() || may_be_clean);
    // One that ends at once, again and again, waits between its tries as any other does.
    let waits =
        agent.state == State::Hatching || session.lived(now) < NOT_INSTANT || agent.hold.is_some();
    match exit::read(is_clean, agent.restart) {
        Fate::Finished => {
            next.moves(Cause::EndedFinished, Reason::Finished, evidence, None);
        }
        Fate::RestartOff => {
            next.moves(Cause::EndedRestartOff, Reason::CrashedRestartOff, evidence, None);
        }
        Fate::Again if !waits => next_session(next, Cause::EndedAgain, evidence),
        Fate::Again | Fate::Crashed => crash(next, Cause::EndedCrashed, evidence),
    }
}

/// Whether the session ended in the middle of a turn. One whose turn left something running, or that waited for a
/// rate limit, may have been left by its person.
fn is_cut_off(agent: &Agent) -> bool {
    let may_be_left = matches!(agent.reason, Reason::BackgroundTasks | Reason::RateLimited);
    agent.turn == Turn::Open && !may_be_left
}

/// Whether the session's harness gave any sign of life.
fn was_heard(agent: &Agent, session: &Session) -> bool {
    let is_silent = matches!(agent.state, State::Hatching | State::Waking)
        || (agent.state == State::Waiting && agent.reason.is_before_first_sign());
    session.has_announced || !is_silent
}

/// Crashed: with a retry at its time, at once if that is now, or with the breaker open.
fn crash(next: &mut Becoming<'_>, cause: Cause, evidence: Evidence) {
    let now = next.now();
    let agent = next.agent();
    let Some(session) = &agent.session else { return };
    let is_over = session.is_over();
    // A start that failed counts as an end, though its tree may still be there.
    let history = if is_over { &agent.history } else { &history_after(agent, session, now) };
    let (reason, at) = match history.after_crash(agent.id, session.lived(now), now) {
        Next::RetryAt(at) => (Reason::Retrying, at),
        Next::HalfOpenAt(at) => (Reason::BreakerOpen, at),
    };
    // Otherwise the end of that tree brings the retry about.
    let retries = at <= now && is_over && agent.hold.is_none();
    if next.moves(cause, reason, evidence.clone(), Some(at)) && retries {
        next_session(next, Cause::Retry, evidence);
    }
}

/// Whether the session got anything done, where its harness lets us see that. One that had nothing
/// to do, or was asked to end, is no failure.
pub fn progress(agent: &Agent, session: &Session) -> SessionProgress {
    let given_up = matches!(agent.state, State::Unknown | State::Crashed);
    let asked = matches!(session.phase, Phase::Ending(_)) && !given_up;
    match (agent.launch.is_bare(), session.has_progressed) {
        (true, _) => SessionProgress::NotVisible,
        (false, true) => SessionProgress::Some,
        // Nor is one that the vendor let wait.
        (false, false) if agent.reason == Reason::RateLimited => SessionProgress::NotVisible,
        (false, false) if asked || agent.turn != Turn::Open => SessionProgress::NotVisible,
        (false, false) => SessionProgress::None,
    }
}

/// The time that `plan` named has passed.
/// `may_start`: no agent is ahead of it in line.
pub fn due(agent: &Agent, may_start: bool, now: Time) -> Vec<AgentEvent> {
    let mut next = Becoming::new(agent, now);
    // KE1: also of one that is held.
    next.extend(keeping::due(agent, now));
    if agent.hold.is_none() {
        come_due(&mut next, may_start);
    }
    next.into_events()
}

fn come_due(next: &mut Becoming<'_>, may_start: bool) {
    let (agent, now) = (next.before(), next.now());
    if burial::is_ripe(agent) {
        return burial::carry_out(next);
    }
    if let Some(session) = agent.session.as_ref().filter(|_| agent.is_left_over()) {
        return follow_late(next, session);
    }
    if agent.has_outlived() {
        return end_session(next, Pace::Graceful);
    }
    if may_start && let Some(session) = agent.session.as_ref().filter(|s| s.phase == Phase::Wanted)
    {
        return next.emit(starting(session.number));
    }
    if let Some(at) = agent.dialog_at().filter(|at| *at <= now) {
        let until = at + START_LIMIT.saturating_sub(DIALOG_AFTER);
        return silent(next, Reason::FirstRunDialog, Some(until));
    }
    if agent.ends_at().is_none_or(|until| until > now) {
        return;
    }
    let evidence = Evidence { witness: Witness::Daemon, fact: Finding::TimeCame, at: now };
    match agent.state {
        State::Hatching if agent.name.is_none() => {
            next.moves(Cause::NeverNamed, Reason::NeverNamed, evidence, None);
            end_session(next, Pace::AtOnce);
        }
        State::Hatching | State::Waking => fail_start(next, evidence),
        State::Crashed if agent.live_session().is_none() && may_start => {
            next_session(next, Cause::Retry, evidence);
        }
        // After a reboot others wait to be resumed: it gets in line with them.
        State::Crashed if agent.live_session().is_none() => retry_in_line(next, evidence),
        // Its request can't be read.
        State::HandingOff if agent.handing_off().is_none() => end_session(next, Pace::AtOnce),
        State::HandingOff => handoff::come_due(next),
        State::Waiting if agent.reason == Reason::FirstRunDialog => {
            silent(next, Reason::SilentAtStart, None);
        }
        State::Unknown => {
            next.moves(Cause::Unreported, Reason::Unlisted, evidence, None);
        }
        State::Crashed
        | State::Working
        | State::Waiting
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => {}
    }
}

/// The session runs and has given no sign of life: a person has to look at it, and it is not ended.
fn silent(next: &mut Becoming<'_>, reason: Reason, until: Option<Time>) {
    let fact = Finding::Shown(Show::NothingAtFirst);
    let evidence = Evidence { witness: Witness::Harness, fact, at: next.now() };
    next.moves(Cause::DialogSeen, reason, evidence, until);
}

/// Its start limit has come.
fn fail_start(next: &mut Becoming<'_>, evidence: Evidence) {
    let Some(session) = &next.before().session else { return };
    // Woken while the last session ends: not its own start that is late, but that one's end.
    if !matches!(session.phase, Phase::Ending(_)) {
        match exit::read(false, next.before().restart) {
            Fate::RestartOff => {
                next.moves(Cause::EndedRestartOff, Reason::CrashedRestartOff, evidence, None);
            }
            Fate::Finished | Fate::Again | Fate::Crashed => {
                crash(next, Cause::StartLimit, evidence);
            }
        }
    }
    end_session(next, Pace::AtOnce);
}

/// The machine restarted under the agent: what ran is gone. Busy ones get in line, and so do those
/// whose retry came due meanwhile.
pub fn rebooted(agent: &Agent, now: Time) -> Vec<AgentEvent> {
    let evidence = Evidence { witness: Witness::Daemon, fact: Finding::BootChanged, at: now };
    let mut next = Becoming::new(agent, now);
    let Some(session) = agent.live_session() else {
        let is_due = agent.state == State::Crashed && agent.until.is_some_and(|until| until <= now);
        if is_due && agent.hold.is_none() {
            retry_in_line(&mut next, evidence);
        }
        return next.into_events();
    };
    match session.phase {
        Phase::Wanted => return Vec::new(),
        Phase::Starting | Phase::Running | Phase::Ending(_) | Phase::Ended => {}
    }
    session_ended(&mut next, Exit::Unknown(UnknownExit::MachineRestarted), false);
    keep_what_is_left(&mut next, SnapshotCause::Reboot);
    if !agent.is_damaged() {
        follow_reboot(&mut next, evidence);
    }
    next.into_events()
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
    let mut next = Becoming::new(agent, now);
    next.emit(AgentEvent::Rehomed { node });
    next.extend(keeping::given_up(agent, MissCause::HomeCopied));
    next.extend(snapshot::given_up(agent, "the home was copied: the work tree is the original's"));
    session_ended(&mut next, Exit::Unknown(UnknownExit::HomeCopied), false);
    if lived {
        let held_for = HeldFor::Person;
        next.emit(AgentEvent::Held(Hold { held_for, evidence: evidence.clone(), since: now }));
        next.moves(Cause::ConfirmationLost, Reason::HomeCopied, evidence, None);
    }
    next.into_events()
}

/// What follows a reboot that ended its session.
fn follow_reboot(next: &mut Becoming<'_>, evidence: Evidence) {
    let agent = next.agent();
    if burial::is_ripe(agent) {
        return burial::carry_out(next);
    }
    // One that gave no sign of life is begun again, whether it is taken to show a dialog or not.
    let is_idle = matches!(agent.state, State::Waiting | State::Unknown)
        && agent.turn != Turn::Open
        && !agent.reason.is_before_first_sign();
    // BU2: one that is held is not buried yet, and gets no session either.
    let resumes = agent.restart != Restart::Never && !is_idle && agent.burial.is_none();
    if resumes && next.moves(Cause::RebootedBusy, Reason::Starting, evidence.clone(), None) {
        want_session(next);
    } else {
        next.moves(Cause::RebootedIdle, Reason::MachineRestarted, evidence, None);
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
    use crate::restart::History;
    use crate::role::RoleTerms;
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
        fold(&mut agent, hatch(id, birth, RoleTerms::default(), None), NOW);
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

    /// What its start limit brings, where its program had run for long before: a record in which the
    /// agent was moved could not be read.
    fn start_limit_after_long(history: History) -> Vec<AgentEvent> {
        let mut agent = ended_after(Restart::OnCrash, Duration::from_secs(9), false, Exit::Code(1));
        let number = SessionNumber(9);
        let running = Process { pid: 1, start_ticks: 1 };
        (agent.state, agent.history) = (State::Waking, history);
        for event in [
            AgentEvent::SessionWanted { number, opening: crate::conversation::Opening::Bare },
            starting(number),
            AgentEvent::SessionRunning { number, process: running },
        ] {
            evolve(&mut agent, &event, NOW);
        }
        super::due(&agent, true, NOW + Duration::from_secs(4000))
    }

    /// Found by the exploration.
    #[test]
    fn a_start_that_failed_after_long_is_not_retried_beside_its_session() {
        let events = start_limit_after_long(History::default());
        let begins = |event: &AgentEvent| matches!(event, AgentEvent::SessionWanted { .. });
        assert!(!events.is_empty(), "its limit has come");
        assert!(!events.iter().any(begins), "{events:?}");
    }

    #[test]
    fn a_start_that_failed_is_weighed_as_the_end_that_it_is() {
        let mut history = History::default();
        history.breaker_opened();
        let events = start_limit_after_long(history);
        let Some(AgentEvent::Moved(moved)) = events.first() else { panic!("{events:?}") };
        assert_eq!(moved.reason, Reason::Retrying, "it was healthy: the breaker is closed again");
    }
}
