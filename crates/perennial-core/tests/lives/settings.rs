//! `set` and `restart`: what counts from when on, who may be whose parent, and what a restart does to a turn.

use perennial_core::agent::{self, Agent};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Set, Spawn, Then};
use perennial_core::conversation::{Followed, Turn};
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::reason::{Reason, Verb, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::restart::{History, Restart};
use perennial_core::session::Phase;
use perennial_core::settings::{NewParent, Pending, Place, Settings, VariableChange};
use perennial_core::state::State;

use crate::told::{Told, launch};

const BOB: AgentId = AgentId(1);

fn set(target: &str, settings: Settings<String>) -> Command {
    Command::Set(Box::new(Set { target: target.to_owned(), settings, then: Then::Nothing }))
}

fn place(dir: &str, project: &str) -> Settings<String> {
    let place = Place { dir: dir.to_owned(), project: project.to_owned() };
    Settings { place: Some(place), ..Settings::default() }
}

fn variables(revision: u32, set: &[&str], unset: &[&str]) -> Settings<String> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let change = VariableChange { revision, set: names(set), unset: names(unset) };
    Settings { variables: Some(change), ..Settings::default() }
}

fn below(parent: &str) -> Settings<String> {
    Settings { parent: Some(NewParent::Agent(parent.to_owned())), ..Settings::default() }
}

fn restart() -> Command {
    Command::Restart(BOB.to_string())
}

fn stop() -> Command {
    Command::Stop(BOB.to_string())
}

fn running() -> Told {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    told.executed(1);
    told
}

fn in_turn() -> Told {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told
}

#[test]
fn a_running_session_lacks_what_was_set_and_the_next_one_has_it() {
    let mut told = running();
    told.ask(set("bob", place("/", "/git"))).unwrap();
    assert_eq!(told.agent(1).pending, Pending::default(), "it runs there already");
    assert_eq!(told.agent(1).launch.project, "/git");
    told.ask(set("bob", place("/srv", "/srv"))).unwrap();
    assert_eq!(told.agent(1).pending, Pending { dir: true, variables: false });
    told.ask(set("bob", variables(1, &["B", "A"], &[]))).unwrap();
    assert_eq!(told.agent(1).pending, Pending { dir: true, variables: true });
    told.ask(restart()).unwrap();
    assert_ne!(told.agent(1).pending, Pending::default(), "the last one is still there");
    told.ends(1, Exit::Code(0));
    assert_eq!(told.agent(1).pending, Pending::default());
    assert_eq!(told.agent(1).launch.dir, "/srv");
}

#[test]
fn who_has_no_session_or_waits_for_its_turn_lacks_nothing() {
    let mut asleep = running();
    asleep.ask(stop()).unwrap();
    asleep.ends(1, Exit::Code(0));
    let mut in_line = in_turn();
    in_line.reboot();
    assert_eq!(in_line.agent(1).session.as_ref().map(|one| one.phase), Some(Phase::Wanted));
    for mut told in [asleep, in_line] {
        let target = BOB.to_string();
        told.ask(set(&target, place("/srv", "/srv"))).unwrap();
        told.ask(set(&target, variables(1, &["A"], &[]))).unwrap();
        assert_eq!(told.agent(1).pending, Pending::default());
    }
}

#[test]
fn the_names_of_variables_are_kept_once_and_the_revision_that_counts_with_them() {
    let mut told = running();
    told.ask(set("bob", variables(1, &["B", "A"], &[]))).unwrap();
    told.ask(set("bob", variables(2, &["A", "C", "D"], &["B", "D"]))).unwrap();
    assert_eq!(told.agent(1).launch.env_names, ["A", "C"]);
    assert_eq!(told.agent(1).environment, 2);
}

#[test]
fn the_project_alone_is_a_change_too() {
    let mut told = running();
    assert_eq!(told.ask(set("bob", place("/", "/git"))).unwrap().len(), 1);
    assert!(told.ask(set("bob", place("/", "/git"))).unwrap().is_empty());
}

/// bob is the parent of ada, who is eve's.
fn family() -> Told {
    let mut told = running();
    told.spawn(2, Some("ada"), Restart::Never);
    told.spawn(3, Some("eve"), Restart::Never);
    told.ask(set("ada", below("bob"))).unwrap();
    told.ask(set("eve", below("ada"))).unwrap();
    told
}

#[test]
fn nobody_is_led_by_itself_or_by_those_below_it_or_by_the_dead() {
    let mut told = family();
    for parent in [1, 2, 3] {
        let refused = told.ask(set("bob", below(&AgentId(parent).to_string())));
        let parent = AgentId(parent);
        assert_eq!(refused, Err(Refusal::ParentBelow { agent: BOB, parent }));
    }
    told.spawn(4, Some("zoe"), Restart::Never);
    told.ask(Command::Bury { target: "zoe".into(), summary: None }).unwrap();
    let refused = told.ask(set("bob", below(&AgentId(4).to_string())));
    assert_eq!(refused, Err(Refusal::ParentGone { parent: AgentId(4) }));
}

/// Another node that moves anybody above the new parent could close a circle: the decision rests on them all.
#[test]
fn a_new_parent_rests_on_everybody_above_it() {
    let mut told = family();
    told.spawn(4, Some("zoe"), Restart::Never);
    let request = Request { caller: Caller::Person, command: set("zoe", below("eve")) };
    let decision = told.fleet.decide(&request, told.now).unwrap();
    assert_eq!(decision.read, [3, 2, 1].map(|id| Entity::Agent(AgentId(id))));
}

/// A parent stays in memory; who no longer does may leave it.
#[test]
fn an_ended_lead_is_kept_for_as_long_as_it_leads() {
    let mut told = running();
    told.spawn(2, Some("ada"), Restart::Never);
    let bob = Entity::Agent(BOB);
    let set_parent = set("ada", below("bob"));
    told.ask(set_parent).unwrap();
    told.ask(Command::Bury { target: "bob".into(), summary: None }).unwrap();
    told.ends(1, Exit::Code(0));
    assert!(!told.fleet.is_over(&bob), "it is the parent of ada");
    let nobody = Settings { parent: Some(NewParent::Nobody), ..Settings::default() };
    let caller = Caller::Person;
    let request = Request { caller, command: set("ada", nobody) };
    let decision = told.fleet.decide(&request, told.now).unwrap();
    let touched: Vec<Entity> =
        decision.events.iter().flat_map(|event| told.fleet.evolve(event)).collect();
    assert!(told.fleet.is_over(&bob));
    assert!(touched.contains(&bob), "so that it is looked at whether it may go");
}

#[test]
fn nothing_is_set_of_the_dead() {
    let mut told = running();
    told.ask(Command::Bury { target: "bob".into(), summary: None }).unwrap();
    let refused = told.ask(set("bob", place("/srv", "/srv")));
    let (verb, state) = (Verb::Set, State::Dead);
    assert_eq!(refused, Err(Refusal::WrongState { agent: BOB, verb, state }));
}

/// Both or neither: a wake that is refused changes nothing.
#[test]
fn what_is_set_with_a_wake_is_one_decision() {
    let mut told = running();
    let (target, settings) = ("bob".to_owned(), place("/srv", "/srv"));
    let and_wake = Set { target, settings, then: Then::Wake };
    let refused = told.ask(Command::Set(Box::new(and_wake.clone())));
    assert_eq!(refused, Err(Refusal::Running { agent: BOB }));
    assert_eq!(told.agent(1).launch.dir, "/");
    told.ask(stop()).unwrap();
    told.ends(1, Exit::Code(0));
    told.ask(Command::Set(Box::new(and_wake))).unwrap();
    assert_eq!((told.agent(1).state, &*told.agent(1).launch.dir), (State::Waking, "/srv"));
}

/// G4
#[test]
fn a_lead_does_not_restart_what_the_operator_stopped() {
    let mut told = Told::new();
    told.spawn(9, Some("boss"), Restart::OnCrash);
    let spawn = Spawn {
        id: BOB,
        name: None,
        role: None,
        parent: Some("boss".into()),
        launch: launch(),
        restart: Restart::Never,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).unwrap();
    told.executed(1);
    let parent = Caller::Agent(AgentId(9));
    told.ask_as(parent, restart()).unwrap();
    told.ask(stop()).unwrap();
    let refused = told.ask_as(parent, restart());
    assert_eq!(refused, Err(Refusal::StoppedByOperator { agent: BOB }));
    assert!(told.ask(restart()).is_ok());
}

#[test]
fn a_restart_counts_retries_anew() {
    let mut told = in_turn();
    told.next_opening(1);
    told.ends(1, Exit::KillSignal(9));
    assert_eq!(told.agent(1).state, State::Crashed);
    assert_ne!(told.agent(1).history, History::default());
    told.ask(restart()).unwrap();
    assert_eq!(told.agent(1).history, History::default());
    assert_eq!(told.agent(1).state, State::Waking);
}

/// A person who restarts it in a turn has cut that off; a parent has not, and a crash did.
#[test]
fn only_a_persons_restart_of_one_that_lives_cuts_its_turn_off() {
    let turn_after = |witness, told: &Told| {
        let events =
            agent::restart(told.agent(1), agent::Start::Continue, witness, told.now).unwrap();
        let mut bob = told.agent(1).clone();
        events.iter().for_each(|event| agent::evolve(&mut bob, event, told.now));
        assert_eq!(bob.state, State::Waking);
        bob.turn
    };
    let told = in_turn();
    assert_eq!(turn_after(Witness::Operator, &told), Turn::Stopped);
    assert_eq!(turn_after(Witness::Agent(AgentId(9)), &told), Turn::Open);
    // It failed to start, and what is left of it is still ending.
    let mut crashed = in_turn();
    crashed.next_opening(1);
    crashed.now = crashed.agent(1).until.expect("it starts");
    crashed.all_due();
    let phase = crashed.agent(1).live_session().map(|session| session.phase);
    assert!(matches!(phase, Some(Phase::Ending(_))), "{phase:?}");
    assert_eq!((crashed.agent(1).state, crashed.agent(1).turn), (State::Crashed, Turn::Open));
    assert_eq!(turn_after(Witness::Operator, &crashed), Turn::Open);
}

/// What can't be read may have been its start: it is ended before the next one begins.
#[test]
fn one_that_stood_in_the_line_and_is_damaged_is_ended_before_it_is_restarted() {
    let mut told = in_turn();
    told.reboot();
    let mut sound = told.clone();
    sound.ask(restart()).unwrap();
    assert_eq!(sound.agent(1).session.as_ref().map(|one| one.phase), Some(Phase::Wanted));
    assert_eq!(sound.shown_as(1), (State::Waking, Reason::Starting));
    told.damage(1);
    let events = told.ask(restart()).unwrap();
    let ends = |event: &AgentEvent| matches!(event, AgentEvent::SessionEnding { .. });
    let agent_events = events.iter().filter_map(|event| event.of_agent());
    assert!(agent_events.into_iter().any(|(_, event)| ends(event)), "{events:?}");
}

/// One whose birth can't be read has nothing to start; while it runs, it can be taken up.
#[test]
fn an_unborn_agent_is_held_unless_it_runs() {
    let told = running();
    let mut unborn = Agent::unborn(BOB, told.now);
    let refused = agent::wake(&unborn, agent::Start::Continue, Witness::Operator, told.now);
    assert!(matches!(refused, Err(Refusal::Held { .. })), "{refused:?}");
    unborn.session = told.agent(1).session.clone();
    assert!(agent::wake(&unborn, agent::Start::Continue, Witness::Operator, told.now).is_ok());
}

#[test]
fn who_gets_no_name_is_called_as_its_agent_cli_or_its_program() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::Never);
    told.spawn_cli(2, true, None).unwrap();
    let name = |id| told.agent(id).name.as_ref().map(|name| name.as_str().to_owned());
    assert_eq!([name(1), name(2)], ["program", "claude"].map(|name| Some(name.to_owned())));
}
