//! Holds: what is held stays as it is, whatever is heard, until a person lifts the hold.

use std::time::Duration;

use perennial_core::agent::{Agent, needs_operator};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::conversation::Followed;
use perennial_core::effect::{Action, Effect};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event};
use perennial_core::exit::Exit;
use perennial_core::hold::HeldFor;
use perennial_core::id::AgentId;
use perennial_core::observation::{Report, Sign, Wait};
use perennial_core::reason::Reason;
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::session::{Pace, Phase};
use perennial_core::state::State;

use crate::told::{Told, due, launch};

fn wake(id: u128) -> Command {
    Command::Wake(AgentId(id).to_string())
}

fn stop(id: u128) -> Command {
    Command::Stop(AgentId(id).to_string())
}

fn phase(told: &Told, id: u128) -> Option<Phase> {
    told.agent(id).session.as_ref().map(|session| session.phase)
}

/// Agent 1 in each state that an unreadable record can find it in.
fn in_every_state() -> Vec<(&'static str, Told)> {
    let mut all = Vec::new();
    let mut told = Told::new();
    told.spawn_cli_under(Restart::Always, 1, true, None).unwrap();
    all.push(("hatching", told.clone()));
    told.begun(1, "a", Followed::Started);
    all.push(("working", told.clone()));
    let mut waiting = told.clone();
    waiting.show(1, Sign::Waits(Wait::Input));
    all.push(("waiting", waiting));
    let mut hung = told.clone();
    hung.show(1, Sign::Hangs);
    all.push(("hung", hung));
    let mut crashed = told.clone();
    crashed.ends(1, Exit::KillSignal(9));
    crashed.ends(1, Exit::KillSignal(9));
    assert_eq!(crashed.agent(1).state, State::Crashed);
    all.push(("crashed", crashed));
    let mut in_line = told.clone();
    in_line.reboot();
    all.push(("in the line", in_line.clone()));
    in_line.all_due();
    all.push(("waking", in_line));
    told.ask(stop(1)).unwrap();
    all.push(("stopping", told.clone()));
    told.ends(1, Exit::Code(0));
    all.push(("sleeping", told));
    all
}

fn ends_it(effect: &Effect) -> bool {
    match effect {
        Effect::Session(effect) => matches!(effect.action, Action::End(_)),
        Effect::Focus(_)
        | Effect::Continue { .. }
        | Effect::PromptHeard { .. }
        | Effect::Deliver(_)
        | Effect::Job(_)
        | Effect::Keep(_)
        | Effect::Checkpoint(_)
        | Effect::Snapshot(_)
        | Effect::RemoveSecrets { .. } => false,
    }
}

/// Whether anything of the agent's plan would start, hold or let go a session, or a timer run.
fn is_left_alone(told: &Told) -> bool {
    let plan = told.fleet.plan(&Entity::Agent(AgentId(1)), told.now);
    plan.effects.iter().all(ends_it) && plan.timers.is_empty()
}

#[test]
fn an_unreadable_agent_is_unknown_and_held_in_every_state_and_nothing_follows_by_itself() {
    for (state, mut told) in in_every_state() {
        told.damage(1);
        let number = told.number(1);
        let held = |told: &Told, after: &str| {
            let agent = told.agent(1);
            assert!(agent.is_damaged(), "{state}, after {after}");
            assert_eq!(agent.state, State::Unknown, "{state}, after {after}");
            assert_eq!(told.number(1), number, "{state}, after {after}");
            assert!(is_left_alone(told), "{state}, after {after}");
            assert!(needs_operator(agent.state, agent.reason));
        };
        held(&told, "the damage");
        told.executed(1);
        told.show(1, Sign::TurnBegan);
        told.show(1, Sign::Waits(Wait::Permission));
        told.show(1, Sign::Hangs);
        held(&told, "signs");
        told.pass(Duration::from_secs(7200));
        told.all_due();
        held(&told, "its time");
        told.restart();
        held(&told, "another daemon");
        let was_live = matches!(phase(&told, 1), Some(Phase::Starting | Phase::Running));
        told.ends(1, Exit::KillSignal(9));
        held(&told, "its exit");
        assert!(!was_live || phase(&told, 1) == Some(Phase::Ended), "{state}: an exit is recorded");
        told.all_due();
        told.reboot();
        told.all_due();
        held(&told, "a reboot");
    }
}

#[test]
fn a_person_wakes_stops_and_buries_what_is_unreadable_in_every_state() {
    for (state, damaged) in in_every_state() {
        let mut damaged = damaged;
        damaged.damage(1);
        let mut told = damaged.clone();
        told.ask(wake(1)).unwrap_or_else(|refusal| panic!("{state}: {refusal:?}"));
        assert_eq!(told.agent(1).hold, None, "{state}");
        assert!(told.agent(1).live_session().is_some(), "{state}");
        let mut told = damaged.clone();
        told.ask(stop(1)).unwrap();
        let stopped = (State::Sleeping, Reason::Stopped);
        assert_eq!((told.shown_as(1), told.agent(1).hold.is_none()), (stopped, true), "{state}");
        let mut told = damaged.clone();
        let target = AgentId(1).to_string();
        told.ask(Command::Bury { target, summary: Some("over".into()) }).unwrap();
        assert_eq!(told.agent(1).state, State::Dead, "{state}");
        let ends = matches!(phase(&told, 1), Some(Phase::Ending(Pace::Graceful | Pace::AtOnce)));
        assert!(ends || phase(&told, 1) == Some(Phase::Ended), "{state}");
    }
}

/// What can't be read may have been the order to start: it may run, whatever the record says.
#[test]
fn a_session_whose_start_may_be_unreadable_is_ended_and_not_taken_for_never_started() {
    let (_, mut told) = in_every_state().remove(5);
    assert_eq!(phase(&told, 1), Some(Phase::Wanted));
    told.damage(1);
    told.ask(stop(1)).unwrap();
    assert_eq!(phase(&told, 1), Some(Phase::Ending(Pace::Graceful)));
}

/// The same, woken before it is stopped: the hold is gone, and what it stood for is not.
#[test]
fn a_session_whose_start_may_be_unreadable_is_ended_also_after_a_wake() {
    let (_, mut told) = in_every_state().remove(5);
    told.damage(1);
    told.ask(wake(1)).unwrap();
    assert_eq!((told.agent(1).state, phase(&told, 1)), (State::Waking, Some(Phase::Starting)));
    assert_eq!(told.number(1).0, 2, "it is the same session");
    told.ask(stop(1)).unwrap();
    assert_eq!(phase(&told, 1), Some(Phase::Ending(Pace::Graceful)));
    assert_eq!(told.agent(1).session.as_ref().unwrap().exit, None);
}

fn lead_and_led() -> Told {
    let mut told = Told::new();
    told.spawn(9, Some("boss"), Restart::OnCrash);
    let spawn = Spawn {
        id: AgentId(1),
        name: None,
        role: None,
        parent: Some("boss".into()),
        launch: launch(),
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).unwrap();
    told.executed(1);
    told
}

/// M3: only the operator wakes what can't be read.
#[test]
fn a_lead_can_stop_what_is_held_and_not_wake_it() {
    let parent = Caller::Agent(AgentId(9));
    for held_for in [HeldFor::Damage, HeldFor::Person, HeldFor::Verdict] {
        let mut told = lead_and_led();
        match held_for {
            HeldFor::Damage => told.damage(1),
            HeldFor::Person | HeldFor::Verdict => told.hold(1, held_for),
        }
        let refused = told.ask_as(parent, wake(1));
        assert_eq!(refused, Err(Refusal::Held { agent: AgentId(1), held_for }));
        told.ask_as(parent, stop(1)).unwrap();
        // What can't be read stays shown as that, by this daemon as by the next.
        let shown = match held_for {
            HeldFor::Damage => (State::Unknown, Reason::RecordUnreadable),
            HeldFor::Person | HeldFor::Verdict => (State::Sleeping, Reason::Stopped),
        };
        assert_eq!(told.shown_as(1), shown);
        assert!(told.agent(1).hold.is_some(), "{held_for:?}");
        let plan = told.fleet.plan(&Entity::Agent(AgentId(1)), told.now);
        assert!(ends_it(&plan.effects[0]), "{held_for:?}");
        told.ends(1, Exit::Code(0));
        assert!(told.ask_as(parent, wake(1)).is_err(), "{held_for:?}");
        let by_person = told.ask(wake(1));
        assert_eq!(by_person.is_ok(), held_for != HeldFor::Verdict, "{held_for:?}");
    }
}

/// One that is held for a person goes on living; its crash waits for the hold to be lifted.
#[test]
fn a_hold_outlasts_everything_heard_and_a_crash_waits_for_its_end() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.hold(1, HeldFor::Person);
    told.show(1, Sign::Waits(Wait::Input));
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::Idle));
    told.show(1, Sign::TurnBegan);
    told.show(1, Sign::Hangs);
    assert_eq!(told.shown_as(1), (State::Working, Reason::InTurn));
    told.pass(Duration::from_secs(60));
    told.ends(1, Exit::KillSignal(9));
    told.pass(Duration::from_secs(600));
    told.all_due();
    assert_eq!((told.agent(1).state, phase(&told, 1)), (State::Crashed, Some(Phase::Ended)));
    told.ask(wake(1)).unwrap();
    assert_eq!((told.agent(1).state, phase(&told, 1)), (State::Waking, Some(Phase::Starting)));
    assert_eq!(told.agent(1).hold, None);
}

#[test]
fn waking_one_that_lives_only_lifts_its_hold() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    told.executed(1);
    told.hold(1, HeldFor::Person);
    assert_eq!(told.ask(wake(1)).unwrap().len(), 1);
    assert_eq!((told.agent(1).state, told.number(1).0), (State::Working, 1));
    assert_eq!(told.ask(wake(1)), Err(Refusal::Running { agent: AgentId(1) }));
}

/// M5: an agent whose birth can't be read is listed, and can be buried; there is nothing to start.
#[test]
fn an_agent_whose_birth_is_unreadable_is_listed_and_can_only_be_ended() {
    let mut told = Told::new();
    told.fleet.list_unborn(AgentId(1), told.now);
    let agent: &Agent = told.agent(1);
    assert_eq!((agent.state, agent.reason), (State::Unknown, Reason::RecordUnreadable));
    let refused = told.ask(wake(1));
    assert!(matches!(refused, Err(Refusal::Held { .. })), "{refused:?}");
    let target = AgentId(1).to_string();
    told.ask(Command::Bury { target, summary: Some("lost".into()) }).unwrap();
    assert_eq!((told.agent(1).state, told.agent(1).hold.is_none()), (State::Dead, true));
}

/// F1: the record by which an agent changed its name can't be read, and another one took the old name.
#[test]
fn an_unreadable_renaming_gives_no_name_to_two() {
    let rename = |name: &str| {
        let (target, name) = (AgentId(1).to_string(), name.parse().expect("a name"));
        Command::Rename { target, name }
    };
    let spawn = |id, name: &str| {
        let name = name.parse().ok();
        let (role, parent, launch, conversation) = (None, None, launch(), None);
        let restart = Restart::OnCrash;
        let id = AgentId(id);
        Command::Spawn(Box::new(Spawn {
            id,
            name,
            role,
            parent,
            launch,
            restart,
            conversation,
            situations: Vec::new(),
        }))
    };
    let mut told = Told::new();
    let commands = [spawn(1, "ann"), rename("Bob"), spawn(2, "ann")];
    let events: Vec<Event> =
        commands.into_iter().flat_map(|command| told.ask(command).unwrap()).collect();
    let is_lost =
        |what: &AgentEvent| matches!(what, AgentEvent::Renamed { .. } | AgentEvent::Hatched(_));
    for lost in
        events.iter().filter(|event| event.of_agent().is_some_and(|(_, what)| is_lost(what)))
    {
        let Some((AgentId(1), _)) = lost.of_agent() else { continue };
        let mut found = Told::new();
        for event in events.iter().filter(|event| *event != lost) {
            found.fleet.list_unborn(AgentId(1), event.at);
            found.fleet.evolve(event);
        }
        found.damage(1);
        let name = |id| found.agent(id).name.as_ref().map(|name| name.key().to_string());
        assert_eq!((name(1).as_deref(), name(2).as_deref()), (Some("bob"), Some("ann")));
        assert_eq!(found.fleet.find("ann").map(|agent| agent.id), Ok(AgentId(2)));
        assert_eq!(found.fleet.find("bob").map(|agent| agent.id), Ok(AgentId(1)));
        let refused = found.ask(spawn(3, "BOB"));
        assert!(matches!(refused, Err(Refusal::NameTaken { by: AgentId(1), .. })), "{refused:?}");
    }
}

#[test]
fn reports_of_other_sessions_say_nothing_of_one_that_is_held() {
    let (_, mut told) = in_every_state().remove(1);
    told.damage(1);
    let stale = told.number(1).next();
    assert!(told.report(1, stale, Report::Exited(Exit::Code(0))).is_empty());
    assert!(told.observe(&due(AgentId(1))).is_empty());
}
