//! Records that the journal has lost, and sessions that it never knew: what a daemon's stocktaking leads to.

use std::sync::Arc;

use perennial_core::agent;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::conversation::{Followed, Opening, Turn};
use perennial_core::effect::{Action, Effect, SessionEffect, Timer};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Birth, Event, Move, NodeEvent, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::{Fleet, is_known_again};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, BootId, Epoch, MessageId, NodeId, SessionNumber};
use perennial_core::job;
use perennial_core::launch::Launch;
use perennial_core::message::Held;
use perennial_core::observation::{
    LivingSession, LostRecords, Observation, Report, Sign, Stocktaking, Wait,
};
use perennial_core::reason::{Evidence, Finding, Reason, Verb, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::session::{Phase, Process};
use perennial_core::state::{Cause, State};
use perennial_core::text::{Digest, Fingerprint, Text, TextBody};
use perennial_core::time::Time;

use crate::signs::resume;
use crate::told::{Told, launch};

const BOB: AgentId = AgentId(1);
const LOST: (State, Reason) = (State::Unknown, Reason::RecordLost);
const PROCESS: Process = Process { pid: 7, start_ticks: 7 };

fn wake() -> Command {
    Command::Wake(BOB.to_string())
}

fn stop() -> Command {
    Command::Stop(BOB.to_string())
}

fn living(agent: AgentId, number: u32, process: Option<Process>) -> LivingSession {
    LivingSession { agent, number: SessionNumber(number), process, claim: None, has_records: false }
}

fn birth(name: &str, parent: Option<AgentId>, launch: Launch) -> Box<Birth> {
    let fact = Finding::Asked(Verb::Spawn);
    Box::new(Birth {
        name: name.parse().ok(),
        role: None,
        parent,
        node: NodeId::HOME,
        launch,
        restart: Restart::OnCrash,
        evidence: Evidence { witness: Witness::Operator, fact, at: Time(1) },
        until: Time(1),
    })
}

fn started(is_copy: bool, living: Vec<LivingSession>, is_lost: bool) -> Observation {
    let lost = is_lost.then_some(LostRecords { known: 9, found: 5 });
    let stocktaking = Stocktaking { living, lost };
    Observation::Started { boot: BootId("1".into()), version: "1".into(), is_copy, stocktaking }
}

fn running() -> Told {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    told.executed(1);
    told
}

/// An agent CLI in a turn.
fn in_turn() -> Told {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told
}

fn lose(told: &mut Told, living: Vec<LivingSession>) -> Vec<Event> {
    told.observe(&started(false, living, true))
}

fn session(told: &Told) -> Option<SessionEffect> {
    let plan = told.fleet.plan(&Entity::Agent(BOB), told.now);
    plan.effects.into_iter().find_map(|effect| match effect {
        Effect::Session(effect) => Some(effect),
        Effect::Focus(_)
        | Effect::Continue { .. }
        | Effect::PromptHeard { .. }
        | Effect::Deliver(_)
        | Effect::Job(_)
        | Effect::Keep(_)
        | Effect::Checkpoint(_)
        | Effect::Snapshot(_)
        | Effect::RemoveSecrets { .. } => None,
    })
}

fn moved(told: &mut Told, cause: Cause, to: State, reason: Reason) {
    let fact = Finding::TimeCame;
    let evidence = Evidence { witness: Witness::Daemon, fact, at: told.now };
    let moved = AgentEvent::Moved(Move { cause, to, reason, evidence, until: None });
    told.fold(&[Event { at: told.now, what: What::Agent(BOB, moved) }]);
}

/// LO2
#[test]
fn whoever_may_start_by_itself_is_held_until_a_person_says_what_becomes_of_it() {
    let mut hatching = Told::new();
    hatching.spawn(1, Some("bob"), Restart::OnCrash);
    let mut waiting = in_turn();
    waiting.show(1, Sign::Waits(Wait::Input));
    let mut crashed = in_turn();
    crashed.ends(1, Exit::KillSignal(9));
    crashed.ends(1, Exit::KillSignal(9));
    assert_eq!(crashed.agent(1).state, State::Crashed);
    let mut resting = in_turn();
    moved(&mut resting, Cause::Rested, State::Hibernating, Reason::Idle);
    for mut told in [hatching, running(), in_turn(), waiting, crashed, resting] {
        let before = told.agent(1).state;
        lose(&mut told, Vec::new());
        let bob = told.agent(1);
        let held_for = bob.hold.as_ref().map(|hold| hold.held_for);
        assert_eq!((told.shown_as(1), held_for), (LOST, Some(HeldFor::Person)), "{before:?}");
        assert!(told.fleet.plan(&Entity::Agent(BOB), told.now).timers.is_empty());
        let parent = agent::wake(
            told.agent(1),
            agent::Start::Continue,
            Witness::Agent(AgentId(9)),
            told.now,
        );
        assert!(matches!(parent, Err(Refusal::Held { .. })), "{before:?}: {parent:?}");
        told.ask(wake()).unwrap_or_else(|refused| panic!("{before:?}: {refused:?}"));
        assert!(told.agent(1).hold.is_none() && told.shown_as(1) != LOST, "{before:?}");
    }
}

#[test]
fn who_sleeps_or_has_an_unreadable_record_is_left_as_it_is() {
    let mut sleeping = running();
    sleeping.ask(stop()).unwrap();
    sleeping.ends(1, Exit::Code(0));
    let mut damaged = running();
    damaged.damage(1);
    for mut told in [sleeping, damaged] {
        let events = lose(&mut told, Vec::new());
        assert!(!events.iter().any(|event| event.of_agent().is_some()), "{events:?}");
    }
}

/// LO2: what is gone may have been the order that this end obeys.
#[test]
fn an_end_while_a_loss_is_not_settled_leads_to_nothing() {
    let mut told = running();
    lose(&mut told, Vec::new());
    told.ends(1, Exit::KillSignal(9));
    assert_eq!((told.shown_as(1), told.number(1)), (LOST, SessionNumber(1)));
    told.all_due();
    assert_eq!(told.shown_as(1), LOST);
    told.ask(wake()).unwrap();
    assert_eq!((told.agent(1).state, told.number(1)), (State::Waking, SessionNumber(2)));
}

#[test]
fn a_persons_stop_settles_a_loss_and_a_leads_does_not() {
    let mut told = running();
    lose(&mut told, Vec::new());
    let mut by_lead = told.clone();
    let events = agent::stop(by_lead.agent(1), Witness::Agent(AgentId(9)), told.now).unwrap();
    let at = told.now;
    let of_bob = |event| Event { at, what: What::Agent(BOB, event) };
    by_lead.fold(&events.into_iter().map(of_bob).collect::<Vec<_>>());
    assert!(by_lead.agent(1).awaits_word_on_loss());
    told.ask(stop()).unwrap();
    assert_eq!(told.shown_as(1), (State::Sleeping, Reason::Stopped));
    assert!(told.agent(1).hold.is_none());
}

/// What is gone may have been its start, its end and all that followed.
#[test]
fn a_start_is_not_repeated_before_a_person_says_so() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    assert!(matches!(session(&told).unwrap().action, Action::Start(..)));
    lose(&mut told, Vec::new());
    assert_eq!(session(&told), None);
    told.ask(wake()).unwrap();
    assert!(matches!(session(&told).unwrap().action, Action::Start(..)));
}

#[test]
fn who_runs_as_the_journal_says_is_not_touched_by_a_loss_of_others() {
    let mut told = running();
    told.spawn(2, Some("ada"), Restart::OnCrash);
    let ada = AgentId(2);
    lose(&mut told, vec![living(BOB, 1, Some(PROCESS))]);
    assert_eq!(told.shown_as(1), (State::Working, Reason::Running));
    assert_eq!(told.shown_as(2), LOST, "no holder of hers lives");
    // A holder that lives may have nothing left to hold.
    lose(&mut told, vec![living(BOB, 1, None), living(ada, 1, None)]);
    assert_eq!(told.shown_as(1), LOST);
}

/// LO1
#[test]
fn a_session_that_the_journal_does_not_know_is_the_agents_newest() {
    for is_lost in [false, true] {
        let mut told = running();
        told.ask(stop()).unwrap();
        told.ends(1, Exit::Code(3));
        told.ask(wake()).unwrap();
        told.ends(1, Exit::Code(3));
        assert!(told.agent(1).previous_exit.is_some());
        let found = vec![living(BOB, 5, Some(PROCESS))];
        let events = told.observe(&started(false, found, is_lost));
        assert!(events.iter().any(is_known_again));
        let bob = told.agent(1).clone();
        let fact = bob.hold.as_ref().map(|hold| hold.evidence.fact.clone());
        assert_eq!(fact, Some(Finding::SessionFound(SessionNumber(5))), "{is_lost}");
        assert_eq!((told.shown_as(1), told.number(1)), (LOST, SessionNumber(5)));
        let known = bob.live_session().expect("it lives");
        assert_eq!((known.phase, &known.opening), (Phase::Running, &Opening::Bare));
        assert_eq!(bob.previous_exit, None, "how the one before ended is gone");
        let effect = session(&told).expect("it is held");
        assert_eq!((effect.recorded, effect.action), (Some(PROCESS), Action::Hold));
        assert_eq!(told.fleet.by_process(PROCESS).map(|bob| bob.id), Some(BOB));
        told.ask(wake()).unwrap();
        assert_eq!(told.shown_as(1), (State::Working, Reason::Running));
        assert_eq!(told.number(1), SessionNumber(5), "it is taken up, not doubled");
    }
}

/// Its holder lives and says nothing of a program yet: what is heard of it is taken, once.
#[test]
fn a_found_session_is_told_its_process_later() {
    let mut told = running();
    told.observe(&started(false, vec![living(BOB, 2, None)], true));
    let fact = told.agent(1).hold.as_ref().map(|hold| hold.evidence.fact.clone());
    assert_eq!(fact, Some(Finding::SessionFound(SessionNumber(2))));
    assert_eq!((told.shown_as(1), session(&told).unwrap().recorded), (LOST, None));
    told.executed(1);
    assert_eq!(session(&told).unwrap().recorded, Some(PROCESS));
}

#[test]
fn a_found_session_of_an_agent_cli_goes_on_with_its_conversation() {
    let mut told = in_turn();
    told.observe(&started(false, vec![living(BOB, 2, Some(PROCESS))], false));
    let known = told.agent(1).live_session().expect("it lives");
    assert_eq!(known.opening, resume("a", Turn::Open));
    assert_eq!(known.started_at, Some(told.now));
    told.ask(wake()).unwrap();
    assert_eq!(told.shown_as(1), (State::Unknown, Reason::DaemonStarted));
}

#[test]
fn a_buried_agent_gets_no_session_from_the_world() {
    let mut told = running();
    told.ask(Command::Bury { target: BOB.to_string(), summary: None }).unwrap();
    told.ends(1, Exit::Code(0));
    let events = told.observe(&started(false, vec![living(BOB, 2, Some(PROCESS))], false));
    assert!(!events.iter().any(|event| event.of_agent().is_some()), "{events:?}");
    assert_eq!(told.agent(1).state, State::Dead);
}

/// What lies beside a holder is a claim: it gives nobody a right, and takes nobody's name.
#[test]
fn agents_that_nobody_knows_are_born_from_what_their_holders_claim() {
    let mut told = running();
    let claims = |id, claim| LivingSession { claim, ..living(AgentId(id), 1, Some(PROCESS)) };
    let found = vec![
        claims(2, Some(birth("bob", Some(BOB), launch()))),
        claims(3, Some(birth("bob", None, launch()))),
        claims(4, None),
    ];
    told.observe(&started(false, found, false));
    let name = |id| told.agent(id).name.as_ref().map(|name| name.as_str().to_owned());
    let names = [1, 2, 3, 4].map(|id| name(id).unwrap_or_default());
    assert_eq!(names, ["bob", "bob-2", "bob-3", "found"]);
    assert!(!told.fleet.is_above(BOB, AgentId(2)), "a parent is not believed");
    assert_eq!(told.agent(2).restart, Restart::OnCrash);
    assert_eq!(told.agent(4).restart, Restart::Never, "there is nothing to start");
    for id in [2, 3, 4] {
        assert_eq!(told.shown_as(id), LOST);
    }
    let refused = told.ask(Command::Restart("bob-2".into()));
    assert!(refused.is_ok(), "{refused:?}");
}

/// One whose birth can't be read is born again once, with the name that the record still has.
#[test]
fn an_agent_whose_birth_cannot_be_read_keeps_what_is_left_of_its_record() {
    let mut fleet = Fleet::default();
    let at = Time(5);
    fleet.list_unborn(BOB, at);
    let named = AgentEvent::Renamed { name: "ada".parse().expect("a good name") };
    let (number, opening) = (SessionNumber(1), resume("a", Turn::Over));
    let process = Process { pid: 8, start_ticks: 8 };
    for event in [
        named,
        AgentEvent::SessionWanted { number, opening },
        AgentEvent::SessionStarting { number, limit: agent::START_LIMIT },
        AgentEvent::SessionRunning { number, process },
    ] {
        fleet.evolve(&Event { at, what: What::Agent(BOB, event) });
    }
    assert!(fleet.by_process(process).is_some());
    let claims = |claim| vec![LivingSession { claim, ..living(BOB, 1, Some(PROCESS)) }];
    let of_agent = |events: Vec<Event>| -> Vec<Event> {
        events.into_iter().filter(|event| event.of_agent().is_some()).collect()
    };
    for nothing in [None, Some(birth("bob", None, Launch::unknown()))] {
        let events = fleet.observe(&started(false, claims(nothing), false), at);
        assert_eq!(of_agent(events), []);
    }
    let claim = claims(Some(birth("bob", None, launch())));
    for event in fleet.observe(&started(false, claim, false), at) {
        fleet.evolve(&event);
    }
    let ada = fleet.find("ada").expect("the record's name stands");
    assert_eq!((ada.id, &ada.launch), (BOB, &launch()));
    assert_eq!(fleet.named(&"ada".parse::<perennial_core::name::Name>().unwrap().key()).count(), 1);
    assert!(fleet.by_process(process).is_none() && fleet.by_process(PROCESS).is_some());
    assert_eq!(fleet, Fleet::restore(fleet.parts()), "nothing of the first birth is left");
}

fn send(told: &mut Told, id: u128) {
    let text = Text { digest: Digest([id as u8; 32]), bytes: 1, head: "x".into() };
    let body = TextBody { text, body: Arc::from("x") };
    let (id, target) = (MessageId(id), BOB.to_string());
    let fingerprint = Fingerprint([id.0 as u8; 32]);
    told.ask(Command::Send { id, target, body, fingerprint, after_turn: false }).unwrap();
}

/// T7, O2: what waits may have been given, and what was to run may have run.
#[test]
fn texts_and_jobs_that_may_be_done_are_not_done_again() {
    let mut told = in_turn();
    told.show(1, Sign::Waits(Wait::Input));
    send(&mut told, 1);
    send(&mut told, 2);
    send(&mut told, 3);
    let entity = Entity::Message(MessageId(1));
    told.observe(&Observation::Due { entity, timer: Timer::Offer });
    told.fleet.mark_message_unreadable(MessageId(3));
    let say = ["say".to_owned()];
    let (id, wanted) =
        job::notify(&say, told.agent(1), "bob".into(), Reason::NeedsAnswer, told.now);
    told.fold(&[Event { at: told.now, what: What::Job(id, wanted) }]);
    let events = lose(&mut told, vec![living(BOB, 1, Some(PROCESS))]);
    let of_texts: Vec<u128> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Message(id, _) => Some(id.0),
            What::Agent(..) | What::Node(..) | What::Name(..) => None,
            What::Conversation(..) | What::Post(..) | What::Job(..) | What::Role(..) => None,
            What::Signal(..) | What::Escalation(..) | What::Task(..) => None,
        })
        .collect();
    assert_eq!(of_texts, [2], "what was offered is told by its conversation");
    let second = told.fleet.messages().get(MessageId(2)).expect("it waits");
    assert!(second.is_unreadable() && second.needs_person() && Held::Damaged.needs_person());
    assert!(told.fleet.jobs().get(id).is_some_and(job::Job::is_over));
}

/// What happened before nodes had ids was this node's own; what another node has is not.
#[test]
fn what_was_recorded_before_nodes_had_ids_is_this_nodes_own() {
    let mut before = in_turn();
    before.show(1, Sign::Waits(Wait::Input));
    send(&mut before, 1);
    let say = ["say".to_owned()];
    let (id, wanted) =
        job::notify(&say, before.agent(1), "bob".into(), Reason::NeedsAnswer, before.now);
    before.fold(&[Event { at: before.now, what: What::Job(id, wanted) }]);
    let observed = |node: Option<NodeId>| {
        let mut parts = before.fleet.parts();
        parts.node = NodeId(2);
        if let Some(node) = node {
            parts.agents.iter_mut().for_each(|agent| agent.node = node);
            parts.jobs.iter_mut().for_each(|job| job.node = node);
        }
        let fleet = Fleet::restore(parts);
        fleet.observe(&started(false, Vec::new(), true), before.now)
    };
    let is_about = |event: &Event| !matches!(event.entity(), Entity::Node(_));
    let own = observed(None);
    assert!(own.iter().any(|event| event.entity() == Entity::Message(MessageId(1))), "{own:?}");
    assert!(own.iter().any(|event| event.entity() == Entity::Job(id)), "{own:?}");
    assert!(own.iter().any(|event| event.entity() == Entity::Agent(BOB)));
    let others = observed(Some(NodeId(3)));
    assert!(!others.iter().any(is_about), "{others:?}");
}

/// What a copied home's records say to run is the original's, and so is what lives.
#[test]
fn in_a_copied_home_no_stock_is_taken() {
    let mut told = running();
    let events = told.observe(&started(true, vec![living(AgentId(2), 1, Some(PROCESS))], true));
    let is_lost =
        |event: &Event| matches!(event.what, What::Node(_, NodeEvent::RecordsLost { .. }));
    assert!(told.fleet.agent(AgentId(2)).is_none() && !events.iter().any(is_lost));
}

#[test]
fn only_a_persons_order_makes_an_agent_known_again() {
    let at = Time(5);
    let is_known = |witness, fact: Finding| {
        let evidence = Evidence { witness, fact, at };
        let lifted = AgentEvent::HoldLifted { evidence: evidence.clone() };
        let (cause, to, reason) = (Cause::Stop, State::Sleeping, Reason::Stopped);
        let moved = AgentEvent::Moved(Move { cause, to, reason, evidence, until: None });
        [lifted, moved].map(|event| is_known_again(&Event { at, what: What::Agent(BOB, event) }))
    };
    assert_eq!(is_known(Witness::Operator, Finding::Asked(Verb::Stop)), [true; 2]);
    assert_eq!(is_known(Witness::Agent(BOB), Finding::Asked(Verb::Stop)), [false; 2]);
    assert_eq!(is_known(Witness::Operator, Finding::TimeCame), [false; 2]);
}

#[test]
fn a_daemon_of_the_same_epoch_is_outranked_too_and_an_older_one_is_not_believed() {
    let mut told = running();
    let own = told.fleet.epoch();
    let outranked = |by| Observation::Outranked { by, version: "1".into() };
    assert!(told.observe(&outranked(Epoch(own.0 - 1))).is_empty());
    assert_eq!(told.observe(&outranked(own)).len(), 1);
    assert_eq!(told.fleet.epoch(), Epoch(own.0 + 1));
}

#[test]
fn a_home_goes_on_as_its_newest_node_where_a_holder_lives() {
    let daemon = |node, epoch| {
        let (epoch, boot, version) = (Epoch(epoch), BootId("1".into()), "1".into());
        let started = NodeEvent::DaemonStarted { epoch, boot, version };
        Event { at: Time(1), what: What::Node(NodeId(node), started) }
    };
    let mut copied = Fleet::of_node(NodeId(9));
    [daemon(3, 7), daemon(4, 5)].iter().for_each(|event| drop(copied.evolve(event)));
    assert_eq!(copied.goes_on_as(true), Some(NodeId(3)));
    assert_eq!(copied.goes_on_as(false), None, "it is a copy");
    copied.evolve(&daemon(9, 8));
    assert_eq!(copied.goes_on_as(true), None, "it is itself");
}

/// A session that stood in the line has no holder: if one lives, its start is in what is gone.
#[test]
fn a_session_that_runs_and_stands_in_the_line_is_found() {
    let mut told = in_turn();
    told.reboot();
    assert_eq!(told.agent(1).session.as_ref().map(|one| one.phase), Some(Phase::Wanted));
    let found = vec![living(BOB, 2, Some(PROCESS))];
    let lost = Some(LostRecords { known: 9, found: 5 });
    let stocktaking = Stocktaking { living: found, lost };
    let (boot, version) = (BootId("2".into()), "1".into());
    let started = Observation::Started { boot, version, is_copy: false, stocktaking };
    let mut damaged = told.clone();
    damaged.damage(1);
    let events = damaged.observe(&started);
    assert!(!events.iter().any(|event| event.of_agent().is_some()), "its start can't be read");
    told.observe(&started);
    assert_eq!(told.shown_as(1), LOST);
    told.ask(stop()).unwrap();
    assert!(matches!(session(&told).map(|one| one.action), Some(Action::End(_))), "it is ended");
    told.report(1, SessionNumber(2), Report::Exited(Exit::Code(0)));
    assert_eq!(told.shown_as(1), (State::Sleeping, Reason::Stopped));
}

#[test]
fn a_parent_is_what_a_spawn_rests_on() {
    let told = running();
    let spawn = Spawn {
        id: AgentId(2),
        name: None,
        role: None,
        parent: Some("bob".into()),
        launch: launch(),
        restart: Restart::Never,
        conversation: None,
        situations: Vec::new(),
    };
    let command = Command::Spawn(Box::new(spawn));
    let request = perennial_core::command::Request { caller: Caller::Person, command };
    let decision = told.fleet.decide(&request, told.now).unwrap();
    assert_eq!(decision.read, [Entity::Agent(BOB)]);
}

#[test]
fn the_conversation_of_a_found_session_is_taken() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    let events = told.observe(&started(false, vec![living(BOB, 2, Some(PROCESS))], false));
    let is_taken = |event: &Event| matches!(event.what, What::Conversation(..));
    assert!(events.iter().any(is_taken), "{events:?}");
}
