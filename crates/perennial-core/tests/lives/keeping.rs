//! Keeping work: when a snapshot is wanted, what waits for it, and that nothing waits for long.

use std::time::Duration;

use perennial_core::command::{Command, Set, Spawn, Then};
use perennial_core::conversation::Followed;
use perennial_core::effect::{Action, Effect, KeepEffect, Timer};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::exit::Exit;
use perennial_core::hold::HeldFor;
use perennial_core::id::AgentId;
use perennial_core::keeping::{KEEP_WAITS_IN_LINE, KeepOutcome, MissCause, want};
use perennial_core::launch::Launch;
use perennial_core::observation::{Observation, Report, Sign};
use perennial_core::restart::Restart;
use perennial_core::session::Pace;
use perennial_core::settings::{Place, Settings};
use perennial_core::snapshot::{SnapshotCause, SnapshotEvent, SnapshotFiles};
use perennial_core::state::State;

use crate::told::{Told, due, launch};

const BOB: u128 = 1;

/// An agent CLI that runs in a git work tree.
fn running(restart: Restart) -> Told {
    let mut told = spawned(restart, "claude");
    told.begun(BOB, "talk", Followed::Started);
    told
}

fn spawned(restart: Restart, harness: &str) -> Told {
    let mut told = Told::new();
    let harness = harness.to_owned();
    let (dir, project) = ("/web".to_owned(), "/web/.git".to_owned());
    let spawn = Spawn {
        id: AgentId(BOB),
        name: "bob".parse().ok(),
        role: None,
        parent: None,
        launch: Launch { harness, dir, project, ..launch() },
        restart,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).unwrap();
    told
}

fn stop() -> Command {
    Command::Stop("bob".into())
}

fn actions(told: &Told) -> Vec<Action> {
    let plan = told.fleet.plan(&Entity::Agent(AgentId(BOB)), told.now);
    let of_session = |effect| match effect {
        Effect::Session(effect) => Some(effect.action),
        _ => None,
    };
    plan.effects.into_iter().filter_map(of_session).collect()
}

fn ordered(told: &Told) -> Option<KeepEffect> {
    let plan = told.fleet.plan(&Entity::Agent(AgentId(BOB)), told.now);
    plan.effects.into_iter().find_map(|effect| match effect {
        Effect::Keep(effect) => Some(effect),
        _ => None,
    })
}

fn files(commit: u8) -> Box<SnapshotFiles> {
    Box::new(SnapshotFiles {
        store: "web.git".into(),
        work_tree: "/web".into(),
        commit: format!("{commit:040}"),
        base: None,
        files: 1,
        bytes: 1,
        nested: 0,
        left_out: 0,
        listed: Vec::new(),
        torn: 0,
    })
}

fn kept(told: &mut Told, wish: u32, outcome: KeepOutcome) -> Vec<Event> {
    let why = SnapshotCause::PlannedEnd;
    told.observe(&Observation::Kept { agent: AgentId(BOB), wish, why, outcome, checkpoint: None })
}

fn of_snapshots(events: &[Event]) -> Vec<&SnapshotEvent> {
    let of = events.iter().filter_map(|event| match &event.what {
        What::Agent(_, AgentEvent::Snapshot(event)) => Some(&**event),
        _ => None,
    });
    of.collect()
}

fn crash(told: &mut Told) -> Vec<Event> {
    let number = told.number(BOB);
    told.report(BOB, number, Report::Exited(Exit::KillSignal(9)))
}

/// KE2: every verb that ends a session.
#[test]
fn a_session_is_ended_once_its_work_is_kept() {
    for verb in [
        stop(),
        Command::StopAll,
        Command::Restart("bob".into()),
        Command::Bury { target: "bob".into(), summary: None },
    ] {
        let mut told = running(Restart::OnCrash);
        told.ask(verb.clone()).unwrap();
        let order = ordered(&told).expect("a snapshot is wanted");
        assert_eq!((order.wish, order.why, &*order.dir), (1, SnapshotCause::PlannedEnd, "/web"));
        assert_eq!(actions(&told), [Action::Hold], "{verb:?}");
        kept(&mut told, 1, KeepOutcome::Taken(files(1)));
        assert_eq!(actions(&told), [Action::End(Pace::Graceful)], "{verb:?}");
        assert_eq!((told.agent(BOB).snapshots, ordered(&told)), (1, None));
    }
}

/// KE1
#[test]
fn nobody_waits_longer_than_two_seconds_after_a_crash_and_ten_before_a_planned_end() {
    let keeps_until = |told: &Told, span: u64| {
        let plan = told.fleet.plan(&Entity::Agent(AgentId(BOB)), told.now);
        let until = told.now + Duration::from_secs(span);
        assert!(plan.timers.contains(&(Timer::Keep, until)), "{plan:?}");
    };
    let mut crashed = running(Restart::OnCrash);
    crash(&mut crashed);
    keeps_until(&crashed, 2);
    let mut told = running(Restart::OnCrash);
    told.ask(stop()).unwrap();
    keeps_until(&told, 10);
    told.observe(&due(AgentId(BOB)));
    assert_eq!(actions(&told), [Action::Hold], "not before its time");
    told.pass(Duration::from_secs(10));
    let events = told.observe(&due(AgentId(BOB)));
    assert!(matches!(&of_snapshots(&events)[..], [SnapshotEvent::Missed(_)]), "{events:?}");
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);
    // What comes late is recorded all the same: it is durable.
    let late = kept(&mut told, 1, KeepOutcome::Taken(files(1)));
    assert_eq!((of_snapshots(&late).len(), told.agent(BOB).snapshots), (1, 1));
}

#[test]
fn what_one_that_is_held_or_damaged_waits_for_ends_as_well() {
    let mut told = running(Restart::OnCrash);
    told.ask(stop()).unwrap();
    told.hold(BOB, HeldFor::Person);
    told.pass(KEEP_WAITS_IN_LINE);
    told.observe(&due(AgentId(BOB)));
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);

    let mut told = running(Restart::OnCrash);
    told.ask(stop()).unwrap();
    told.damage(BOB);
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)], "KE6");
    told.pass(KEEP_WAITS_IN_LINE);
    told.observe(&due(AgentId(BOB)));
    assert_eq!(told.agent(BOB).keeping, None);
}

/// KE2, KE4
#[test]
fn after_a_crash_of_a_harness_the_next_session_waits_and_of_a_command_it_does_not() {
    let mut told = running(Restart::OnCrash);
    told.pass(Duration::from_secs(60));
    crash(&mut told);
    assert_eq!(ordered(&told).map(|order| order.why), Some(SnapshotCause::Crash));
    assert_eq!(told.agent(BOB).state, State::Waking);
    assert_eq!(actions(&told), []);
    kept(&mut told, 1, KeepOutcome::Missed(MissCause::Failed, "x".repeat(900)));
    assert!(matches!(&actions(&told)[..], [Action::Start(..)]));
    // And two seconds at most.
    let mut told = running(Restart::OnCrash);
    told.pass(Duration::from_secs(60));
    crash(&mut told);
    told.pass(Duration::from_secs(2));
    told.observe(&due(AgentId(BOB)));
    assert!(matches!(&actions(&told)[..], [Action::Start(..)]));

    let mut told = spawned(Restart::OnCrash, "command");
    told.executed(BOB);
    told.pass(Duration::from_secs(60));
    crash(&mut told);
    assert_eq!(ordered(&told), None);
    assert!(matches!(&actions(&told)[..], [Action::Start(..)]));
    told.executed(BOB);
    told.ask(stop()).unwrap();
    assert!(ordered(&told).is_some(), "its planned end is kept: any program may edit files");
}

#[test]
fn after_a_reboot_what_was_left_is_kept_before_the_agent_is_resumed() {
    let mut told = running(Restart::Always);
    told.show(BOB, Sign::TurnBegan);
    told.reboot();
    assert_eq!(ordered(&told).map(|order| order.why), Some(SnapshotCause::Reboot));
    told.all_due();
    assert_eq!((told.starting(), actions(&told)), (vec![BOB], vec![]));
}

/// KE1: a daemon that was killed in between is followed by one that does the same.
#[test]
fn the_next_daemon_takes_the_wish_over_in_its_own_time() {
    let mut told = running(Restart::OnCrash);
    told.ask(stop()).unwrap();
    told.pass(Duration::from_secs(3600));
    told.restart();
    let order = ordered(&told).expect("it still stands");
    assert_eq!((order.wish, order.until), (1, told.now + KEEP_WAITS_IN_LINE));
    told.observe(&due(AgentId(BOB)));
    assert_eq!(actions(&told), [Action::Hold]);
    kept(&mut told, 1, KeepOutcome::Taken(files(1)));
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);
}

#[test]
fn a_tree_that_has_not_changed_gets_no_second_snapshot() {
    let mut told = running(Restart::OnCrash);
    told.ask(Command::Restart("bob".into())).unwrap();
    kept(&mut told, 1, KeepOutcome::Taken(files(1)));
    crash(&mut told);
    told.executed(BOB);
    told.ask(stop()).unwrap();
    let events = kept(&mut told, 2, KeepOutcome::Taken(files(1)));
    let unchanged = SnapshotEvent::Unchanged { wish: 2, why: SnapshotCause::PlannedEnd, number: 1 };
    assert_eq!(of_snapshots(&events), [&unchanged]);
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);
}

/// KE5
#[test]
fn outside_of_git_nothing_is_recorded_and_nobody_waits() {
    let mut told = Told::new();
    told.spawn_cli(BOB, false, None).unwrap();
    told.begun(BOB, "talk", Followed::Started);
    let target = AgentId(BOB).to_string();
    let events = told.ask(Command::Restart(target)).unwrap();
    assert_eq!(of_snapshots(&events).len(), 0);
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);
    // A commit shows that there is one now.
    assert!(want(told.agent(BOB), SnapshotCause::Commit, told.now).is_some());

    // One that is not there any more is missed once.
    let mut told = running(Restart::OnCrash);
    told.ask(Command::Restart("bob".into())).unwrap();
    kept(&mut told, 1, KeepOutcome::Missed(MissCause::NoWorkTree, String::new()));
    crash(&mut told);
    told.executed(BOB);
    assert_eq!(of_snapshots(&told.ask(stop()).unwrap()).len(), 0);
}

/// A session runs where it was started, wherever the next one will.
#[test]
fn the_work_tree_of_a_session_is_the_one_it_was_started_in() {
    let mut told = running(Restart::OnCrash);
    let place = Place { dir: "/other".into(), project: "/other/.git".into() };
    let settings = Settings { place: Some(place), ..Settings::default() };
    let set = Set { target: "bob".into(), settings, then: Then::Nothing };
    told.ask(Command::Set(Box::new(set))).unwrap();
    told.ask(Command::Restart("bob".into())).unwrap();
    assert_eq!(ordered(&told).unwrap().dir, "/web");
    kept(&mut told, 1, KeepOutcome::Taken(files(1)));
    crash(&mut told);
    told.executed(BOB);
    told.ask(stop()).unwrap();
    assert_eq!(ordered(&told).unwrap().dir, "/other");
}

/// KE1, KE3: what holds nothing back gives way to what does, and its report ends nothing.
#[test]
fn a_planned_end_is_not_served_by_a_wish_from_before_it() {
    let mut told = running(Restart::OnCrash);
    let wish = want(told.agent(BOB), SnapshotCause::PhaseChange, told.now).unwrap();
    told.fold(&[Event { at: told.now, what: What::Agent(AgentId(BOB), wish) }]);
    assert_eq!(actions(&told), [Action::Hold]);
    assert_eq!(want(told.agent(BOB), SnapshotCause::Commit, told.now), None);
    told.ask(stop()).unwrap();
    assert_eq!(ordered(&told).unwrap().wish, 2);
    kept(&mut told, 1, KeepOutcome::Taken(files(1)));
    assert_eq!(actions(&told), [Action::Hold]);
    kept(&mut told, 2, KeepOutcome::Taken(files(2)));
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);
}

/// One that is buried leaves memory when its last snapshot is told.
#[test]
fn a_buried_agent_is_over_when_nothing_is_wanted_of_it() {
    let mut told = running(Restart::OnCrash);
    told.ask(Command::Bury { target: "bob".into(), summary: None }).unwrap();
    crash(&mut told);
    assert!(!told.agent(BOB).is_over());
    kept(&mut told, 1, KeepOutcome::Taken(files(1)));
    assert!(told.agent(BOB).is_over());
}

fn move_to(told: &mut Told, dir: &str, project: &str) {
    let place = Place { dir: dir.into(), project: project.into() };
    let settings = Settings { place: Some(place), ..Settings::default() };
    let set = Set { target: "bob".into(), settings, then: Then::Nothing };
    told.ask(Command::Set(Box::new(set))).unwrap();
}

fn no_work_tree() -> KeepOutcome {
    KeepOutcome::Missed(MissCause::NoWorkTree, String::new())
}

/// KE5: what was found out of a directory is known of the session in it, also after its agent was given another place.
#[test]
fn what_is_known_of_a_directory_stays_with_the_session_that_runs_in_it() {
    // Found out before the move.
    let mut told = running(Restart::OnCrash);
    told.show(BOB, Sign::TurnBegan);
    let wish = want(told.agent(BOB), SnapshotCause::PhaseChange, told.now).unwrap();
    told.fold(&[Event { at: told.now, what: What::Agent(AgentId(BOB), wish) }]);
    kept(&mut told, 1, no_work_tree());
    move_to(&mut told, "/other", "/other/.git");
    let events = told.ask(stop()).unwrap();
    assert_eq!(of_snapshots(&events).len(), 0, "{events:?}");
    assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);
    crash(&mut told);
    told.ask(Command::Wake("bob".into())).unwrap();
    told.executed(BOB);
    told.ask(stop()).unwrap();
    assert_eq!(ordered(&told).expect("that one is in git").dir, "/other");

    // Found out after the move: missed once.
    let mut told = running(Restart::OnCrash);
    move_to(&mut told, "/other", "/other/.git");
    let wish = want(told.agent(BOB), SnapshotCause::PhaseChange, told.now).unwrap();
    told.fold(&[Event { at: told.now, what: What::Agent(AgentId(BOB), wish) }]);
    kept(&mut told, 1, no_work_tree());
    let events = told.ask(stop()).unwrap();
    assert_eq!(of_snapshots(&events).len(), 0, "{events:?}");
}

/// KE5: a snapshot of the place that a session is leaving says nothing of the next one's.
#[test]
fn a_snapshot_of_the_old_place_is_no_work_tree_in_the_new_one() {
    for is_late in [false, true] {
        let mut told = running(Restart::OnCrash);
        move_to(&mut told, "/plain", "/plain");
        told.ask(Command::Restart("bob".into())).unwrap();
        assert_eq!(ordered(&told).expect("the session is in git").dir, "/web");
        if is_late {
            told.pass(KEEP_WAITS_IN_LINE);
            told.observe(&due(AgentId(BOB)));
        }
        kept(&mut told, 1, KeepOutcome::Taken(files(1)));
        crash(&mut told);
        told.executed(BOB);
        let events = told.ask(stop()).unwrap();
        assert_eq!(of_snapshots(&events).len(), 0, "late: {is_late}: {events:?}");
        assert_eq!(actions(&told), [Action::End(Pace::Graceful)]);
    }
}

/// KE5: who is given the place back that its session never left has what is known of it.
#[test]
fn a_move_and_back_forgets_nothing() {
    let mut told = running(Restart::OnCrash);
    let wish = want(told.agent(BOB), SnapshotCause::PhaseChange, told.now).unwrap();
    told.fold(&[Event { at: told.now, what: What::Agent(AgentId(BOB), wish) }]);
    kept(&mut told, 1, no_work_tree());
    move_to(&mut told, "/other", "/other/.git");
    move_to(&mut told, "/web", "/web/.git");
    assert_eq!(of_snapshots(&told.ask(Command::Restart("bob".into())).unwrap()).len(), 0);
    crash(&mut told);
    told.executed(BOB);
    assert_eq!(of_snapshots(&told.ask(stop()).unwrap()).len(), 0);
}
