//! Holds, reboots, copies and nodes, guard by guard: each case fails if that one guard is taken away.

use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Set, Spawn, Then};
use perennial_core::conversation::Followed;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, Move, NodeEvent, What};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fleet::Fleet;
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, BootId, Epoch, JobId, NodeId, SessionNumber};
use perennial_core::job;
use perennial_core::message::Held;
use perennial_core::observation::{Observation, Report, Sign, Stocktaking, Wait};
use perennial_core::reason::Reason;
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::session::{Pace, Phase, Process};
use perennial_core::settings::{NewParent, Place, Settings, VariableChange};
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;

use crate::told::{Told, due, launch};

const BOB: AgentId = AgentId(1);
const SECOND: Duration = Duration::from_secs(1);

fn stop() -> Command {
    Command::Stop(BOB.to_string())
}

fn wake() -> Command {
    Command::Wake(BOB.to_string())
}

fn exits(told: &mut Told, exit: Exit) {
    let number = told.number(1);
    told.report(1, number, Report::Exited(exit));
}

fn running(restart: Restart) -> Told {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), restart);
    told.executed(1);
    told
}

fn phase(told: &Told) -> Option<Phase> {
    told.agent(1).session.as_ref().map(|session| session.phase)
}

#[test]
fn who_is_held_while_its_last_session_ends_is_not_woken_by_that_end() {
    let mut told = running(Restart::OnCrash);
    told.ask(stop()).unwrap();
    told.ask(wake()).unwrap();
    told.hold(1, HeldFor::Person);
    exits(&mut told, Exit::Code(0));
    assert_eq!((told.agent(1).state, told.number(1).0), (State::Waking, 1), "HO1");
    told.ask(wake()).unwrap();
    told.all_due();
    assert_eq!(told.number(1).0, 2, "the hold was lifted");
}

#[test]
fn who_is_held_is_not_retried_when_the_tree_of_a_failed_start_is_gone() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    told.pass(SECOND * 91);
    told.observe(&due(BOB));
    assert_eq!(
        (told.agent(1).state, phase(&told)),
        (State::Crashed, Some(Phase::Ending(Pace::AtOnce)))
    );
    told.hold(1, HeldFor::Person);
    told.pass(SECOND * 60);
    exits(&mut told, Exit::KillSignal(9));
    assert_eq!((told.agent(1).state, told.number(1).0), (State::Crashed, 1), "HO1");
}

#[test]
fn who_is_held_while_it_hands_off_gets_no_successor() {
    let mut told = running(Restart::OnCrash);
    let (evidence, until) = (told.agent(1).evidence.clone(), None);
    let (cause, to, reason) = (Cause::HandoffAsked, State::HandingOff, Reason::HandoffAsked);
    let moved = AgentEvent::Moved(Move { cause, to, reason, evidence, until });
    told.fold(&[Event { at: told.now, what: What::Agent(BOB, moved) }]);
    told.hold(1, HeldFor::Verdict);
    exits(&mut told, Exit::Code(0));
    assert_eq!((told.agent(1).state, told.number(1).0), (State::HandingOff, 1), "HO1");
}

#[test]
fn a_start_that_is_late_because_the_last_session_ends_is_no_crash() {
    let mut told = running(Restart::OnCrash);
    told.ask(stop()).unwrap();
    assert_eq!(phase(&told), Some(Phase::Ending(Pace::Graceful)));
    told.ask(wake()).unwrap();
    told.pass(SECOND * 91);
    told.observe(&due(BOB));
    let shown = (told.agent(1).state, phase(&told));
    assert_eq!(shown, (State::Waking, Some(Phase::Ending(Pace::AtOnce))));
}

#[test]
fn a_retry_that_is_not_due_waits_through_a_reboot() {
    let mut told = running(Restart::OnCrash);
    exits(&mut told, Exit::KillSignal(9));
    let until = told.agent(1).until;
    told.reboot();
    assert_eq!((told.agent(1).state, told.agent(1).until), (State::Crashed, until));
}

#[test]
fn the_first_hold_stands() {
    let mut told = running(Restart::OnCrash);
    told.hold(1, HeldFor::Verdict);
    told.hold(1, HeldFor::Person);
    let held_for = told.agent(1).hold.as_ref().map(|hold| hold.held_for);
    assert_eq!(held_for, Some(HeldFor::Verdict));
    assert!(told.ask(wake()).is_err(), "a verdict is not lifted by a wake");
}

#[test]
fn who_always_restarts_is_counted() {
    let mut told = running(Restart::Always);
    told.pass(SECOND * 5);
    exits(&mut told, Exit::Code(0));
    assert_eq!((told.number(1).0, told.agent(1).respawn_count), (2, 1));
}

#[test]
fn the_dead_keep_their_names() {
    let mut told = running(Restart::OnCrash);
    told.ask(Command::Bury { target: BOB.to_string(), summary: Some("done".into()) }).unwrap();
    let name = "ada".parse().unwrap();
    let refused = told.ask(Command::Rename { target: BOB.to_string(), name });
    assert!(matches!(refused, Err(Refusal::WrongState { .. })), "{refused:?}");
}

#[test]
fn the_same_limit_again_without_a_time_does_not_forget_the_time() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    let until = Some(told.now + SECOND * 600);
    told.show(1, Sign::Waits(Wait::RateLimit(until)));
    assert_eq!(told.show(1, Sign::Waits(Wait::RateLimit(None))), []);
    assert_eq!(told.agent(1).until, until);
}

#[test]
fn a_session_that_was_asked_to_end_says_nothing_of_the_next() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.ask(stop()).unwrap();
    told.ask(wake()).unwrap();
    assert_eq!(told.show(1, Sign::TurnBegan), []);
    assert_eq!(told.agent(1).state, State::Waking);
}

/// A daemon of a copy of the home.
fn copied(told: &mut Told) {
    let (boot, version) = (BootId("9".into()), "1".into());
    told.observe(&Observation::Started {
        boot,
        version,
        is_copy: true,
        stocktaking: Stocktaking::default(),
    });
}

#[test]
fn in_a_copied_home_nothing_that_lived_goes_on_by_itself() {
    let mut crashed = running(Restart::OnCrash);
    exits(&mut crashed, Exit::KillSignal(9));
    for mut told in [running(Restart::Always), crashed] {
        copied(&mut told);
        let agent = told.agent(1);
        assert_eq!((agent.state, agent.reason), (State::Unknown, Reason::HomeCopied));
        assert_eq!(agent.hold.as_ref().map(|hold| hold.held_for), Some(HeldFor::Person));
        assert!(agent.live_session().is_none(), "it is the original's");
        told.pass(SECOND * 3600);
        told.all_due();
        assert_eq!(told.number(1).0, 1, "HO1");
        told.ask(wake()).unwrap();
        assert_eq!(told.number(1).0, 2);
    }
    let mut told = running(Restart::Always);
    copied(&mut told);
    let exit = told.agent(1).session.as_ref().and_then(|session| session.exit);
    assert_eq!(exit, Some(Exit::Unknown(UnknownExit::HomeCopied)));
    let mut told = running(Restart::OnCrash);
    told.ask(stop()).unwrap();
    exits(&mut told, Exit::Code(0));
    copied(&mut told);
    assert_eq!((told.agent(1).state, told.agent(1).is_held()), (State::Sleeping, false));
}

fn notification(about: &Agent, at: Time) -> (JobId, job::JobEvent) {
    job::notify(&["say".into()], about, "bob".into(), Reason::NeedsAnswer, at)
}

#[test]
fn in_a_copied_home_no_job_is_run_again() {
    let mut told = running(Restart::OnCrash);
    let (id, wanted) = notification(told.agent(1), told.now);
    told.fold(&[Event { at: told.now, what: What::Job(id, wanted) }]);
    copied(&mut told);
    assert!(told.fleet.jobs().get(id).is_some_and(job::Job::is_over), "O2");
}

const HERE: NodeId = NodeId(2);
const THERE: NodeId = NodeId(1);

fn daemon(node: NodeId, epoch: u64, boot: &str) -> Event {
    let (epoch, boot, version) = (Epoch(epoch), BootId(boot.into()), "1".into());
    let started = NodeEvent::DaemonStarted { epoch, boot, version };
    Event { at: Time(1), what: What::Node(node, started) }
}

/// What `HERE` has folded of an agent that runs `THERE`, and of a text and a job for it.
fn foreign() -> Fleet {
    let (mut here, mut there) = (Fleet::of_node(HERE), Fleet::of_node(THERE));
    let spawn = Spawn {
        id: BOB,
        name: None,
        role: None,
        parent: None,
        launch: launch(),
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    };
    let command = Command::Spawn(Box::new(spawn));
    let born = there.decide(&Request { caller: Caller::Person, command }, Time(2)).unwrap();
    let mut events = vec![daemon(HERE, 1, "1"), daemon(THERE, 5, "1")];
    events.extend(born.events);
    events.iter().for_each(|event| drop(there.evolve(event)));
    let report = Report::Executed(Process { pid: 7, start_ticks: 7 });
    let executed = Observation::Session { agent: BOB, number: SessionNumber(1), report };
    events.extend(there.observe(&executed, Time(3)));
    let (id, wanted) = notification(there.agent(BOB).unwrap(), Time(3));
    events.push(Event { at: Time(3), what: What::Job(id, wanted) });
    events.iter().for_each(|event| drop(here.evolve(event)));
    here
}

#[test]
fn a_node_does_nothing_for_the_agents_and_jobs_of_another() {
    let here = foreign();
    for entity in here.entities() {
        let plan = here.plan(&entity, Time(4));
        assert!(plan.effects.is_empty() && plan.timers.is_empty(), "U8: {entity:?} {plan:?}");
    }
    let job = here.jobs().iter().next().unwrap();
    assert_eq!(job.node, THERE, "it is run where its agent is");
    let request = Request { caller: Caller::Person, command: Command::StopAll };
    assert_eq!(here.decide(&request, Time(4)).unwrap().events, []);
    assert_eq!(here.observe(&Observation::ClockJumped { by: SECOND }, Time(4)), []);
    let rebooted = Observation::Started {
        boot: BootId("2".into()),
        version: "1".into(),
        is_copy: false,
        stocktaking: Stocktaking::default(),
    };
    let events = here.observe(&rebooted, Time(4));
    assert!(!events.iter().any(|event| matches!(event.what, What::Agent(..))), "{events:?}");
    assert!(matches!(events[0].entity(), Entity::Node(HERE)));
    assert_eq!(here.next_epoch(), Epoch(6), "newer than any");
}

#[test]
fn a_home_is_a_copy_if_it_knows_others_and_not_itself() {
    let knows = |nodes: &[NodeId]| {
        let mut fleet = Fleet::of_node(HERE);
        nodes.iter().for_each(|node| drop(fleet.evolve(&daemon(*node, 1, "1"))));
        fleet.is_copied()
    };
    assert!(!knows(&[]) && !knows(&[HERE]) && !knows(&[HERE, THERE]));
    assert!(!knows(&[NodeId::HOME]), "from before nodes had ids");
    assert!(knows(&[THERE]) && knows(&[NodeId::HOME, THERE]));
}

#[test]
fn a_reboot_is_noticed_by_the_first_daemon_that_has_an_id() {
    let mut told = running(Restart::OnCrash);
    let mut parts = told.fleet.parts();
    parts.node = HERE;
    told.fleet = Fleet::restore(parts);
    let (boot, version) = (BootId("2".into()), "1".into());
    told.observe(&Observation::Started {
        boot,
        version,
        is_copy: false,
        stocktaking: Stocktaking::default(),
    });
    assert_eq!(told.number(1).0, 2, "it was busy, and its session is gone");
}

#[test]
fn a_text_that_can_only_be_held_again_needs_a_person() {
    for (held, needs) in [(Held::LongLine, true), (Held::Unfit, true), (Held::Draft, false)] {
        assert_eq!(held.needs_person(), needs, "{held:?}");
    }
}

#[test]
fn a_time_that_has_just_come_has_come() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    let until = told.agent(1).until.unwrap();
    told.now = until.before(Duration::from_millis(1));
    told.observe(&due(BOB));
    assert_eq!((told.now, told.agent(1).state), (until, State::Crashed));
}

#[test]
fn who_is_held_while_it_wakes_takes_no_place_of_those_in_the_line() {
    let mut told = Told::new();
    for id in 1..=4 {
        told.spawn(id, None, Restart::OnCrash);
        told.executed(id);
    }
    told.reboot();
    told.all_due();
    assert_eq!(told.starting(), [1, 2]);
    told.hold(1, HeldFor::Person);
    told.hold(2, HeldFor::Person);
    told.all_due();
    assert_eq!(told.starting(), [1, 2, 3, 4]);
}

#[test]
fn no_reminder_is_given_before_the_transcript_was_read_again() {
    use crate::listener::{Listener, tools};
    let mut listener = Listener::new();
    listener.resume();
    let names: Vec<String> = (0..20).map(|number| format!("t{number}")).collect();
    listener.hear(&tools(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(listener.tells, [], "H12");
}

#[test]
fn a_node_types_no_text_of_another_and_its_line_is_its_own() {
    let mut here = foreign();
    let id = perennial_core::id::MessageId(1);
    let text = perennial_core::text::Text {
        digest: perennial_core::text::Digest([1; 32]),
        bytes: 3,
        head: "one".into(),
    };
    let fingerprint = perennial_core::text::Fingerprint([1; 32]);
    let text = Box::new(text);
    let content = perennial_core::message::Content::Typed { text, fingerprint, after_turn: false };
    let from = perennial_core::message::Sender::Person;
    let recorded =
        perennial_core::message::MessageEvent::Recorded { to: BOB.into(), from, content };
    here.evolve(&Event { at: Time(3), what: What::Message(id, recorded) });
    let plan = here.plan(&Entity::Message(id), Time(4));
    assert!(plan.effects.is_empty() && plan.timers.is_empty(), "U8: {plan:?}");

    // One of another node that waits there for its turn is in nobody's way here.
    let fold = |fleet: &mut Fleet, what| {
        fleet.evolve(&Event { at: Time(5), what: What::Agent(BOB, what) });
    };
    let number = SessionNumber(2);
    let opening = perennial_core::conversation::Opening::Bare;
    fold(&mut here, AgentEvent::SessionWanted { number, opening });
    let spawn = Spawn {
        id: AgentId(9),
        name: None,
        role: None,
        parent: None,
        launch: launch(),
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    };
    let command = Command::Spawn(Box::new(spawn));
    let born = here.decide(&Request { caller: Caller::Person, command }, Time(6)).unwrap();
    born.events.iter().for_each(|event| drop(here.evolve(event)));
    let number = SessionNumber(1);
    let report = Report::Exited(Exit::KillSignal(9));
    let exited = Observation::Session { agent: AgentId(9), number, report };
    let crashed = here.observe(&exited, Time(7));
    crashed.iter().for_each(|event| drop(here.evolve(event)));
    let later = Time(7) + SECOND * 60;
    let events = here.observe(&due(AgentId(9)), later);
    let starts =
        |event: &Event| matches!(event.what, What::Agent(_, AgentEvent::SessionStarting { .. }));
    assert!(events.iter().any(starts), "{events:?}");
}

#[test]
fn settings_that_an_agent_has_already_are_not_recorded_again() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Always);
    told.spawn(2, Some("ada"), Restart::Always);
    let set = |settings| {
        let set = Set { target: "bob".into(), settings, then: Then::Nothing };
        Command::Set(Box::new(set))
    };
    let (dir, project) = ("/srv".to_owned(), "/srv".to_owned());
    let other = Settings {
        restart: Some(Restart::Never),
        place: Some(Place { dir, project }),
        variables: None,
        parent: Some(NewParent::Agent("ada".to_owned())),
        situations: None,
    };
    assert!(told.ask(set(Settings::default())).unwrap().is_empty());
    assert_eq!(told.ask(set(other.clone())).unwrap().len(), 1);
    assert!(told.ask(set(other.clone())).unwrap().is_empty());
    // Only what changes is recorded.
    let nobody = Settings { parent: Some(NewParent::Nobody), ..other };
    let changed = told.ask(set(nobody.clone())).unwrap();
    let [(_, AgentEvent::SettingsChanged { settings, .. })] =
        changed.iter().filter_map(Event::of_agent).collect::<Vec<_>>()[..]
    else {
        panic!("{changed:?}")
    };
    let parent = Some(NewParent::Nobody);
    assert_eq!(**settings, Settings { parent, ..Settings::default() });
    assert!(told.ask(set(nobody)).unwrap().is_empty());
    // The same names may have other values.
    let change = VariableChange { revision: 1, set: vec!["A".into()], unset: Vec::new() };
    let variables = Settings { variables: Some(change), ..Settings::default() };
    assert_eq!(told.ask(set(variables.clone())).unwrap().len(), 1);
    assert_eq!(told.ask(set(variables)).unwrap().len(), 1);
}
