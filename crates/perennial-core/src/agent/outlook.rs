//! What happens to an agent next if no one intervenes: the rules of `observe`, as data.
//!
//! Changes nothing, and is never recorded. Each answer follows from the same fields that `due` and
//! `observe` go by.

use super::{Agent, Confirmation};
use crate::fleet::Fleet;
use crate::hold::HeldFor;
use crate::reason::Reason;
use crate::rest;
use crate::restart::Restart;
use crate::role::Span;
use crate::session::Phase;
use crate::state::State;
use crate::time::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Nothing starts it until the hold is lifted.
    Held(HeldFor),
    /// Its session starts when those before it in the line have started.
    InLine,
    /// Its session starts when the last one has ended.
    AfterLastSession,
    /// Its program is being started; at this time that counts as a crash.
    Start { crash_at: Option<Time> },
    /// An agent CLI runs and has given no sign of life yet; from this time on it needs a person.
    FirstSign { needs_person_at: Option<Time> },
    /// An agent CLI has given no sign of life for long: it is left as it is until a person looks.
    Person,
    /// It is in a turn, and waits for input after it.
    TurnEnd,
    /// It works until its program ends.
    Exit(Restart),
    /// It waits for a text.
    Text,
    /// It waits for a person's answer to what it asks.
    Answer,
    /// The vendor lets it go on at this time, as far as that is known.
    Vendor { at: Option<Time> },
    /// Its turn was given up: it goes on with the next text.
    TurnGivenUp { vendor_ready_at: Option<Time> },
    /// Its holder has to answer.
    Confirmation,
    /// Its session hangs and is being ended; what follows is what follows a crash.
    Hangs,
    /// Its successor starts, at this time at the latest.
    Successor { at: Option<Time> },
    /// The next session starts.
    Retry { at: Option<Time> },
    /// It asked to be buried, and is when its turn or its session has ended.
    Burial,
    /// Its task is verified: it does this when nothing is left for it to do.
    Rest(Span),
    /// It sleeps until it is woken.
    Wake,
    /// It hibernates until a task lies on its queue, or it is woken.
    Task,
    /// Only a person's approval wakes it.
    Approval,
    /// This is final.
    Final,
}

/// What comes next for an agent whose holder is heard like this.
pub fn outlook(agent: &Agent, confirmation: Confirmation) -> Outlook {
    let (state, reason) = agent.vouched(confirmation);
    if let Some(hold) = agent.hold.as_ref().filter(|_| !is_final(state)) {
        return Outlook::Held(hold.held_for);
    }
    if agent.burial.is_some() && !is_final(state) && state != State::Frozen {
        return Outlook::Burial;
    }
    let rest = resting(agent, (state, reason)).map(Outlook::Rest);
    rest.unwrap_or_else(|| by_state(agent, (state, reason)))
}

impl Fleet {
    /// What comes next for an agent, as far as its tasks tell: while it has another one, that is not its rest.
    pub fn outlook(&self, agent: &Agent, confirmation: Confirmation) -> Outlook {
        let has_task = self.tasks().of(agent.id).next().is_some();
        let next = outlook(agent, confirmation);
        let is_put_off = has_task && matches!(next, Outlook::Rest(_));
        if is_put_off { by_state(agent, agent.vouched(confirmation)) } else { next }
    }
}

fn by_state(agent: &Agent, (state, reason): (State, Reason)) -> Outlook {
    match state {
        State::Hatching | State::Waking => start(agent),
        State::Working if reason == Reason::InTurn => Outlook::TurnEnd,
        State::Working => Outlook::Exit(agent.restart),
        State::Waiting => waiting(agent, reason),
        State::Unknown if reason == Reason::Silent => Outlook::Hangs,
        State::Unknown => Outlook::Confirmation,
        State::HandingOff => Outlook::Successor { at: agent.until },
        State::Crashed => Outlook::Retry { at: agent.until },
        State::Sleeping => Outlook::Wake,
        State::Hibernating => Outlook::Task,
        State::Frozen => Outlook::Approval,
        State::Dead | State::Expired => Outlook::Final,
    }
}

/// What rest comes to for an agent that may, once its turn is over and nothing else is left.
fn resting(agent: &Agent, (state, reason): (State, Reason)) -> Option<Span> {
    let is_in_turn = state == State::Working && reason == Reason::InTurn;
    let is_idle = state == State::Waiting && reason == Reason::Idle;
    let may = agent.rest.is_some() && (is_in_turn || is_idle);
    rest::span(agent).filter(|_| may)
}

fn is_final(state: State) -> bool {
    matches!(state, State::Dead | State::Expired)
}

fn start(agent: &Agent) -> Outlook {
    match agent.session.as_ref().map(|session| session.phase) {
        Some(Phase::Wanted) => Outlook::InLine,
        Some(Phase::Ending(_)) => Outlook::AfterLastSession,
        Some(Phase::Running) if !agent.launch.is_bare() => {
            Outlook::FirstSign { needs_person_at: agent.dialog_at() }
        }
        Some(Phase::Starting | Phase::Running | Phase::Ended) | None => {
            Outlook::Start { crash_at: agent.until }
        }
    }
}

fn waiting(agent: &Agent, reason: Reason) -> Outlook {
    match reason {
        Reason::FirstRunDialog | Reason::SilentAtStart => Outlook::Person,
        Reason::NeedsPermission | Reason::NeedsAnswer => Outlook::Answer,
        Reason::RateLimited => Outlook::Vendor { at: agent.until },
        Reason::LimitReached | Reason::ServiceFailed => {
            Outlook::TurnGivenUp { vendor_ready_at: agent.until }
        }
        Reason::Starting
        | Reason::Running
        | Reason::InTurn
        | Reason::BackgroundTasks
        | Reason::Idle
        | Reason::StoppedInTurn
        | Reason::DaemonStarted
        | Reason::HolderUnreachable
        | Reason::LeadSilent
        | Reason::Silent
        | Reason::RecordUnreadable
        | Reason::HomeCopied
        | Reason::RecordLost
        | Reason::HandoffAsked
        | Reason::Retrying
        | Reason::BreakerOpen
        | Reason::Finished
        | Reason::Stopped
        | Reason::CrashedRestartOff
        | Reason::MachineRestarted
        | Reason::LeadEnded
        | Reason::Unlisted
        | Reason::TaskDone
        | Reason::FrozenByOrder
        | Reason::Completed
        | Reason::Reaped
        | Reason::Retired
        | Reason::GaveUp
        | Reason::NeverNamed => Outlook::Text,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::agent::{DIALOG_AFTER, HATCH_LIMIT, START_LIMIT, due, evolve, hatch, observe};
    use crate::event::{AgentEvent, Birth};
    use crate::exit::Exit;
    use crate::id::{AgentId, NodeId, SessionNumber};
    use crate::launch::{BARE_COMMAND, Host, Launch, Options};
    use crate::observation::Report;
    use crate::reason::{Evidence, Finding, Verb, Witness};
    use crate::role::RoleTerms;
    use crate::session::Process;

    const NOW: Time = Time(1_000_000_000);
    const FIRST: SessionNumber = SessionNumber::FIRST;

    fn born(harness: &str) -> Agent {
        let launch = Launch {
            harness: harness.to_owned(),
            host: Host::Shim,
            argv: vec!["true".to_owned()],
            dir: "/".to_owned(),
            env_names: Vec::new(),
            project: "/".to_owned(),
            options: Options::default(),
        };
        let evidence =
            Evidence { witness: Witness::Operator, fact: Finding::Asked(Verb::Spawn), at: NOW };
        let birth = Birth {
            name: "bob".parse().ok(),
            role: None,
            parent: None,
            node: NodeId::HOME,
            launch,
            restart: Restart::OnCrash,
            evidence,
            until: NOW + HATCH_LIMIT,
        };
        let mut agent = Agent::born(AgentId(7), &birth, NOW);
        fold(&mut agent, &hatch(AgentId(7), birth, RoleTerms::default(), None), NOW);
        agent
    }

    fn fold(agent: &mut Agent, events: &[AgentEvent], at: Time) {
        events.iter().for_each(|event| evolve(agent, event, at));
    }

    fn reported(agent: &mut Agent, report: &Report, at: Time) {
        let events = observe(agent, FIRST, report, at);
        fold(agent, &events, at);
    }

    fn next(agent: &Agent) -> Outlook {
        outlook(agent, Confirmation::Confirmed)
    }

    /// A5: a CLI that runs does not crash by being silent, and `why` said that it would.
    #[test]
    fn an_agent_cli_that_runs_and_shows_nothing_comes_to_need_a_person_and_never_crashes() {
        let mut agent = born("claude");
        assert!(matches!(next(&agent), Outlook::Start { crash_at: Some(_) }), "{:?}", next(&agent));
        reported(&mut agent, &Report::Executed(Process { pid: 1, start_ticks: 1 }), NOW);
        let at = NOW + DIALOG_AFTER;
        assert_eq!(next(&agent), Outlook::FirstSign { needs_person_at: Some(at) });
        for at in [at, NOW + START_LIMIT, NOW + HATCH_LIMIT] {
            let events = due(&agent, true, at);
            fold(&mut agent, &events, at);
            assert_eq!((agent.state, next(&agent)), (State::Waiting, Outlook::Person));
        }
    }

    #[test]
    fn a_bare_command_works_until_it_ends_and_is_tried_again_when_that_is_due() {
        let mut agent = born(BARE_COMMAND);
        reported(&mut agent, &Report::Executed(Process { pid: 1, start_ticks: 1 }), NOW);
        assert_eq!(next(&agent), Outlook::Exit(Restart::OnCrash));
        assert_eq!(outlook(&agent, Confirmation::Lost), Outlook::Confirmation);
        reported(&mut agent, &Report::Exited(Exit::Code(1)), NOW + Duration::from_millis(5));
        assert_eq!(next(&agent), Outlook::Retry { at: agent.until });
        assert!(agent.until.is_some());
    }
}
