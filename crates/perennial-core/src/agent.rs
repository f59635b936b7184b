//! The life of one agent: a persistent identity whose sessions come and go.
//!
//! Pure: no clock, no I/O; time arrives as an argument.
//!
//! Invariants
//! - G1  At most one session that is not over; the next one is wanted only when the last is over.
//! - G2  A report about another session number says nothing.
//! - G3  `decide` and `observe` make only moves that `state::next` allows.
//! - G4  `stop` leaves no retry behind: only the operator (or a lead) wakes a stopped agent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::effect::{Action, Effect, Plan};
use crate::event::{AgentEvent, Birth, Move};
use crate::exit::{self, Exit, Fate, UnknownExit};
use crate::id::{AgentId, SessionId, SessionNumber};
use crate::launch::Launch;
use crate::name::Name;
use crate::observation::Report;
use crate::reason::{Evidence, Fact, Reason, Verb, Witness};
use crate::refusal::Refusal;
use crate::restart::{History, Next, Progress, Restart};
use crate::session::{Pace, Phase, Session, SessionEvent};
use crate::state::{self, Cause, State};
use crate::time::Time;

/// A session must give its first sign of life within this.
pub const START_LIMIT: Duration = Duration::from_secs(90);
/// An agent must be born within this.
pub const HATCH_LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub name: Option<Name>,
    /// When it took its name.
    pub named_at: Time,
    pub role: Option<String>,
    pub parent: Option<AgentId>,
    pub launch: Launch,
    pub restart: Restart,
    pub state: State,
    pub reason: Reason,
    pub evidence: Evidence,
    pub since: Time,
    /// When the state ends by itself, if it does.
    pub until: Option<Time>,
    /// The newest session, over or not.
    pub session: Option<Session>,
    /// How the session before it ended.
    pub previous_exit: Option<Exit>,
    pub history: History,
    /// Sessions that were started because the one before ended unasked.
    pub respawn_count: u32,
    pub created_at: Time,
    pub summary: Option<String>,
}

/// Whether the holder of a session is heard now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    Confirmed,
    /// Not since the daemon started.
    NotYet,
    /// It was, and no longer is.
    Lost,
}

/// Whether somebody has to look at an agent that is shown like this.
pub fn needs_operator(state: State, reason: Reason) -> bool {
    match reason {
        Reason::NeedsPermission
        | Reason::NeedsAnswer
        | Reason::FirstRunDialog
        | Reason::Verdict
        | Reason::RecordUnreadable
        | Reason::HolderUnreachable
        | Reason::BreakerOpen => true,
        Reason::CrashedRestartOff => state == State::Sleeping,
        Reason::Starting
        | Reason::Running
        | Reason::InTurn
        | Reason::Idle
        | Reason::RateLimited
        | Reason::DaemonStarted
        | Reason::LeadSilent
        | Reason::HandoffAsked
        | Reason::Retrying
        | Reason::Finished
        | Reason::Stopped
        | Reason::MachineRestarted
        | Reason::LeadEnded
        | Reason::Unlisted
        | Reason::TaskDone
        | Reason::FrozenByOrder
        | Reason::Completed
        | Reason::Reaped
        | Reason::Retired
        | Reason::GaveUp
        | Reason::NeverNamed => false,
    }
}

impl Agent {
    pub fn born(id: AgentId, birth: &Birth, at: Time) -> Agent {
        Agent {
            id,
            name: birth.name.clone(),
            named_at: at,
            role: birth.role.clone(),
            parent: birth.parent,
            launch: birth.launch.clone(),
            restart: birth.restart,
            state: State::Hatching,
            reason: Reason::Starting,
            evidence: birth.evidence.clone(),
            since: at,
            until: Some(birth.until),
            session: None,
            previous_exit: None,
            history: History::default(),
            respawn_count: 0,
            created_at: at,
            summary: None,
        }
    }

    /// The session that is not over, if there is one.
    pub fn live_session(&self) -> Option<&Session> {
        self.session.as_ref().filter(|session| !session.is_over())
    }

    pub fn session_id(&self) -> Option<SessionId> {
        self.session.as_ref().map(|s| SessionId { agent: self.id, number: s.number })
    }

    pub fn predecessor(&self) -> Option<SessionId> {
        let number = self.session.as_ref()?.number.previous()?;
        Some(SessionId { agent: self.id, number })
    }

    /// Whether a next session of it is under way and has not announced itself.
    pub fn is_starting(&self) -> bool {
        self.state == State::Waking && self.reason == Reason::Starting
    }

    /// The state that can be vouched for now: a running session that nobody confirms is unknown.
    /// A view, never an event: the journal holds what happened, not what could not be seen.
    pub fn vouched(&self, confirmation: Confirmation) -> (State, Reason) {
        let runs = self.live_session().is_some_and(|s| s.process.is_some());
        let needs_confirmation = match self.state {
            State::Working | State::Waiting | State::HandingOff => runs,
            State::Hatching
            | State::Waking
            | State::Unknown
            | State::Crashed
            | State::Sleeping
            | State::Hibernating
            | State::Frozen
            | State::Dead
            | State::Expired => false,
        };
        match confirmation {
            Confirmation::NotYet if needs_confirmation => (State::Unknown, Reason::DaemonStarted),
            Confirmation::Lost if needs_confirmation => (State::Unknown, Reason::HolderUnreachable),
            Confirmation::Confirmed | Confirmation::NotYet | Confirmation::Lost => {
                (self.state, self.reason)
            }
        }
    }

    fn next_number(&self) -> SessionNumber {
        self.session.as_ref().map_or(SessionNumber::FIRST, |session| session.number.next())
    }

    /// A move by the table, or nothing where the table has none.
    fn moved(&self, cause: Cause, reason: Reason, evidence: Evidence) -> Option<Move> {
        let to = state::next(self.state, cause)?;
        Some(Move { cause, to, reason, evidence, until: None })
    }
}

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
        State::Unknown if agent.live_session().is_some() => {
            return Err(Refusal::Running { agent: agent.id });
        }
        State::Unknown | State::Crashed | State::Sleeping | State::Hibernating => {}
    }
    let evidence = Evidence { witness, fact: Fact::Asked(Verb::Wake), at: now };
    Ok(next_session(agent, Cause::Wake, evidence, now))
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
                Evidence { witness: Witness::Kernel, fact: Fact::Executed(*process), at: now };
            if agent.launch.is_bare() {
                let moved = agent.moved(Cause::Announced, Reason::Running, evidence);
                events.extend(moved.map(AgentEvent::Moved));
            }
            events
        }
        Report::NotStarted(why) => {
            let exit = Exit::Unknown(UnknownExit::NotStarted);
            ended(agent, session, exit, Fact::NotStarted(why.clone()), now)
        }
        Report::Exited(exit) => ended(agent, session, *exit, Fact::Exited(*exit), now),
    }
}

/// The end of the live session, read by the exit table unless a verb had asked for it.
fn ended(agent: &Agent, session: &Session, exit: Exit, fact: Fact, now: Time) -> Vec<AgentEvent> {
    let evidence = Evidence { witness: Witness::Kernel, fact, at: now };
    let mut events = vec![AgentEvent::SessionEnded { number: session.number, exit }];
    match agent.state {
        State::HandingOff => events.extend(next_session(agent, Cause::HandedOff, evidence, now)),
        // Woken while the last session was still ending: its turn has come.
        State::Waking if matches!(session.phase, Phase::Ending(_)) => events.extend(begin(agent)),
        // It failed to start, and its retry waited for the tree to be gone.
        State::Crashed if agent.until.is_some_and(|until| until <= now) => {
            events.extend(next_session(agent, Cause::Retry, evidence, now));
        }
        State::Hatching | State::Waking | State::Working | State::Waiting | State::Unknown => {
            events.extend(unasked(agent, session, exit, evidence, now));
        }
        // A verb had asked for it: the verb's state stands.
        State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => {}
    }
    events
}

fn unasked(
    agent: &Agent,
    session: &Session,
    exit: Exit,
    evidence: Evidence,
    now: Time,
) -> Vec<AgentEvent> {
    if agent.state == State::Hatching && agent.name.is_none() {
        let moved = agent.moved(Cause::NeverNamed, Reason::NeverNamed, evidence);
        return moved.map(AgentEvent::Moved).into_iter().collect();
    }
    // One that ended before any sign of life did not end well, whatever its code.
    let clean = exit.is_clean() && agent.state != State::Hatching && agent.state != State::Waking;
    let sleep = |cause, reason| agent.moved(cause, reason, evidence.clone()).map(AgentEvent::Moved);
    match exit::read(clean, agent.restart) {
        Fate::Finished => sleep(Cause::EndedFinished, Reason::Finished).into_iter().collect(),
        Fate::RestartOff => {
            sleep(Cause::EndedRestartOff, Reason::CrashedRestartOff).into_iter().collect()
        }
        Fate::Again => next_session(agent, Cause::EndedAgain, evidence, now),
        Fate::Crashed => crash(agent, session, Cause::EndedCrashed, evidence, now),
    }
}

/// Crashed: with a retry at its time, at once if that is now, or with the breaker open.
fn crash(
    agent: &Agent,
    session: &Session,
    cause: Cause,
    evidence: Evidence,
    now: Time,
) -> Vec<AgentEvent> {
    let lived = session.lived(now);
    let mut history = agent.history.clone();
    history.ended(lived, Progress::NotVisible, now);
    let (reason, at) = match history.after_crash(agent.id, lived, now) {
        Next::RetryAt(at) => (Reason::Retrying, at),
        Next::HalfOpenAt(at) => (Reason::BreakerOpen, at),
    };
    let Some(moved) = agent.moved(cause, reason, evidence.clone()) else {
        return Vec::new();
    };
    let mut events = vec![AgentEvent::Moved(Move { until: Some(at), ..moved })];
    // The failed start's tree may still be there; its end brings the retry about.
    if at <= now && cause == Cause::EndedCrashed {
        let crashed = Agent { state: State::Crashed, ..agent.clone() };
        events.extend(next_session(&crashed, Cause::Retry, evidence, now));
    }
    events
}

/// Moves to `waking`; the session itself begins now if the last one is over, else at its end.
fn next_session(agent: &Agent, cause: Cause, evidence: Evidence, now: Time) -> Vec<AgentEvent> {
    let Some(moved) = agent.moved(cause, Reason::Starting, evidence) else {
        return Vec::new();
    };
    let mut events = vec![AgentEvent::Moved(Move { until: Some(now + START_LIMIT), ..moved })];
    let over = match cause {
        // The session whose end is being told is over with the event before this one.
        Cause::EndedAgain | Cause::HandedOff | Cause::Retry => true,
        _ => agent.live_session().is_none(),
    };
    if over {
        events.extend(begin(agent));
    }
    events
}

fn begin(agent: &Agent) -> [AgentEvent; 2] {
    let number = agent.next_number();
    [AgentEvent::SessionWanted { number }, AgentEvent::SessionStarting { number }]
}

fn end_session(agent: &Agent, pace: Pace) -> Option<AgentEvent> {
    let session = agent.live_session()?;
    match session.phase {
        // It never started: there is nothing to end but the wish.
        Phase::Wanted => Some(AgentEvent::SessionEnded {
            number: session.number,
            exit: Exit::Unknown(UnknownExit::NotStarted),
        }),
        Phase::Starting | Phase::Running => {
            Some(AgentEvent::SessionEnding { number: session.number, pace })
        }
        Phase::Ending(Pace::Graceful) if pace == Pace::AtOnce => {
            Some(AgentEvent::SessionEnding { number: session.number, pace })
        }
        Phase::Ending(_) | Phase::Ended => None,
    }
}

/// The time that `plan` named has come.
pub fn due(agent: &Agent, may_start: bool, now: Time) -> Vec<AgentEvent> {
    if may_start && let Some(session) = agent.session.as_ref().filter(|s| s.phase == Phase::Wanted)
    {
        return vec![AgentEvent::SessionStarting { number: session.number }];
    }
    if agent.until.is_none_or(|until| until > now) {
        return Vec::new();
    }
    let evidence = Evidence { witness: Witness::Daemon, fact: Fact::TimeCame, at: now };
    match agent.state {
        State::Hatching if agent.name.is_none() => {
            let moved = agent.moved(Cause::NeverNamed, Reason::NeverNamed, evidence);
            let mut events: Vec<_> = moved.into_iter().map(AgentEvent::Moved).collect();
            events.extend(end_session(agent, Pace::AtOnce));
            events
        }
        State::Hatching | State::Waking => failed_start(agent, evidence, now),
        State::Crashed if agent.live_session().is_none() => {
            next_session(agent, Cause::Retry, evidence, now)
        }
        State::HandingOff => end_session(agent, Pace::AtOnce).into_iter().collect(),
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

fn failed_start(agent: &Agent, evidence: Evidence, now: Time) -> Vec<AgentEvent> {
    let Some(session) = &agent.session else {
        return Vec::new();
    };
    // Woken while the last session ends: not its own start that is late, but that one's end.
    if matches!(session.phase, Phase::Ending(_)) {
        return end_session(agent, Pace::AtOnce).into_iter().collect();
    }
    let mut events = crash(agent, session, Cause::StartLimit, evidence, now);
    events.extend(end_session(agent, Pace::AtOnce));
    events
}

/// The machine restarted under the agent: what ran is gone. Busy ones get in line.
pub fn rebooted(agent: &Agent, now: Time) -> Vec<AgentEvent> {
    let Some(session) = agent.live_session() else {
        return Vec::new();
    };
    let evidence = Evidence { witness: Witness::Daemon, fact: Fact::BootChanged, at: now };
    let exit = match session.phase {
        Phase::Wanted => return Vec::new(),
        Phase::Starting | Phase::Running | Phase::Ending(_) | Phase::Ended => {
            Exit::Unknown(UnknownExit::MachineRestarted)
        }
    };
    let mut events = vec![AgentEvent::SessionEnded { number: session.number, exit }];
    let busy = agent.moved(Cause::RebootedBusy, Reason::Starting, evidence.clone());
    match busy.filter(|_| agent.restart != Restart::Never) {
        Some(moved) => {
            events.push(AgentEvent::Moved(Move { until: None, ..moved }));
            events.push(AgentEvent::SessionWanted { number: session.number.next() });
        }
        None => {
            let moved = agent.moved(Cause::RebootedIdle, Reason::MachineRestarted, evidence);
            events.extend(moved.map(AgentEvent::Moved));
        }
    }
    events
}

/// Nobody could see the world for so long: what would end by silence gets that time back.
pub fn put_off(agent: &Agent, by: Duration) -> Vec<AgentEvent> {
    match (agent.state, agent.until) {
        (State::Hatching | State::Waking | State::Unknown | State::HandingOff, Some(until)) => {
            vec![AgentEvent::PutOff { until: until + by }]
        }
        _ => Vec::new(),
    }
}

/// Folds one event.
pub fn evolve(mut agent: Agent, event: &AgentEvent, at: Time) -> Agent {
    match event {
        AgentEvent::Hatched(_) => {}
        AgentEvent::Moved(moved) => take(&mut agent, moved, at),
        AgentEvent::SessionWanted { number } => {
            agent.previous_exit = agent.session.take().and_then(|session| session.exit);
            agent.session = Some(Session::wanted(*number, at));
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
            fold_session(&mut agent, *number, &SessionEvent::Ended(*exit), at);
            if let Some(session) = agent.session.as_ref().filter(|s| s.number == *number) {
                agent.history.ended(session.lived(at), Progress::NotVisible, at);
            }
        }
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
    match moved.cause {
        Cause::Retry => {
            agent.history.restarted(at);
            agent.respawn_count += 1;
        }
        Cause::EndedAgain | Cause::RebootedBusy => agent.respawn_count += 1,
        // The operator looked at it: it gets its tries anew.
        Cause::Wake => agent.history = History::default(),
        _ => {}
    }
    if moved.reason == Reason::BreakerOpen {
        agent.history.breaker_opened();
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

/// What to do so that the world matches the journal, and when to look again.
pub fn plan(agent: &Agent, may_start: bool, now: Time) -> Plan {
    let mut plan = Plan { effects: Vec::new(), wake_at: agent.until };
    // A record that can't be read is held: nothing is done for it.
    if agent.reason == Reason::RecordUnreadable {
        return Plan::default();
    }
    let Some(session) = &agent.session else {
        return plan;
    };
    let action = match session.phase {
        Phase::Wanted => {
            plan.wake_at = may_start.then_some(now);
            return plan;
        }
        Phase::Starting => Action::Start(agent.launch.clone()),
        Phase::Running => Action::Hold,
        Phase::Ending(pace) => Action::End(pace),
        Phase::Ended => Action::Release,
    };
    plan.effects.push(Effect { agent: agent.id, number: session.number, action });
    plan
}
