//! Snapshots of work trees as they are recorded: numbers, who may, and no restore under a live session.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::effect::{Action, Effect, SnapshotEffect, Timer};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::Policy;
use perennial_core::id::AgentId;
use perennial_core::observation::{Observation, Report};
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::snapshot::{
    RestoreOutcome, SnapshotAsked, SnapshotCause, SnapshotEvent, SnapshotFiles, SnapshotOrder,
    SnapshotReport, SnapshotTerms,
};

use crate::told::Told;

fn order(what: SnapshotAsked) -> Command {
    Command::Snapshot(Box::new(SnapshotOrder { target: "bob".into(), what }))
}

fn taken() -> Command {
    taken_as(0)
}

fn taken_as(commit: u32) -> Command {
    let files = SnapshotFiles {
        store: "web.git".into(),
        work_tree: "/web".into(),
        commit: format!("{commit:040x}"),
        base: None,
        files: 1,
        bytes: 1,
        nested: 0,
        left_out: 0,
        listed: Vec::new(),
        torn: 0,
    };
    order(SnapshotAsked::Taken(SnapshotCause::Asked, files))
}

fn restore(in_tree: &[u128]) -> Command {
    let in_tree = in_tree.iter().copied().map(AgentId).collect();
    let work_tree = "/web".to_owned();
    order(SnapshotAsked::Restore { number: 1, present: 1, with_index: false, work_tree, in_tree })
}

fn number(events: &[Event]) -> Option<u32> {
    events.iter().find_map(|event| match &event.what {
        What::Agent(_, AgentEvent::Snapshot(event)) => match &**event {
            SnapshotEvent::Taken(taken) => Some(taken.number),
            SnapshotEvent::Wanted(_)
            | SnapshotEvent::Unchanged { .. }
            | SnapshotEvent::Missed(_)
            | SnapshotEvent::Dropped { .. }
            | SnapshotEvent::Removed { .. }
            | SnapshotEvent::RestoreBegun(_)
            | SnapshotEvent::RestoreEnded(_) => None,
        },
        _ => None,
    })
}

/// SH1
#[test]
fn numbers_have_no_gaps_and_survive_a_restart() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    assert_eq!(number(&told.ask(taken_as(1)).unwrap()), Some(1));
    assert_eq!(number(&told.ask(taken_as(2)).unwrap()), Some(2));
    told.restart();
    assert_eq!(number(&told.ask(taken_as(3)).unwrap()), Some(3));
    assert_eq!(told.agent(1).snapshots, 3);
}

/// SH2
#[test]
fn no_restore_begins_while_a_session_is_alive_in_the_tree() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    told.spawn(2, Some("eve"), Restart::Never);
    told.executed(1);
    let refused = Err(Refusal::SessionInTree { agent: AgentId(1) });
    assert_eq!(told.ask(restore(&[1])), refused);
    assert_eq!(told.ask(restore(&[2, 1])), Err(Refusal::SessionInTree { agent: AgentId(2) }));
    told.ask(taken()).unwrap();
    // Agents elsewhere do not matter.
    assert_eq!(told.ask(restore(&[])).unwrap().len(), 1);
    assert_eq!(told.agent(1).snapshots, 1);
}

#[test]
fn only_a_person_and_only_for_those_who_are_not_dead() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    for caller in [Caller::Agent(AgentId(1)), Caller::Job, Caller::Viewer, Caller::Ambiguous] {
        let refused = told.ask_as(caller, taken());
        assert!(matches!(refused, Err(Refusal::NotAllowed { verb: Verb::Snapshot, .. })));
    }
    told.ask(Command::Bury { target: "bob".into(), summary: None }).unwrap();
    assert!(told.ask(taken()).is_err());
}

/// Takes snapshots, each with a commit of its own, and returns what was dropped by that.
fn take_all(told: &mut Told, why: SnapshotCause, count: u32) -> Vec<u32> {
    let mut gone = Vec::new();
    for _ in 0..count {
        let commit = format!("{:040x}", told.agent(1).snapshots + 1);
        let SnapshotAsked::Taken(_, files) = asked_of(&taken()) else { unreachable!() };
        let files = SnapshotFiles { commit, ..files };
        let events = told.ask(order(SnapshotAsked::Taken(why, files))).unwrap();
        gone.extend(dropped(&events));
    }
    gone
}

fn asked_of(command: &Command) -> SnapshotAsked {
    let Command::Snapshot(order) = command else { panic!("{command:?}") };
    order.what.clone()
}

fn dropped(events: &[Event]) -> Vec<u32> {
    let of = events.iter().filter_map(|event| match &event.what {
        What::Agent(_, AgentEvent::Snapshot(event)) => Some(&**event),
        _ => None,
    });
    let numbers = of.filter_map(|event| match event {
        SnapshotEvent::Dropped { numbers, .. } => Some(numbers.clone()),
        _ => None,
    });
    numbers.flatten().collect()
}

fn kept(told: &Told) -> Vec<u32> {
    told.agent(1).snapshot_record.kept.iter().map(|head| head.number).collect()
}

fn ordered(told: &Told) -> Option<SnapshotEffect> {
    let plan = told.fleet.plan(&Entity::Agent(AgentId(1)), told.now);
    plan.effects.into_iter().find_map(|effect| match effect {
        Effect::Snapshot(effect) => Some(effect),
        _ => None,
    })
}

fn under(told: &mut Told, automatic: usize, asked: usize, days: Option<u32>) {
    let for_time = days.map(|days| Duration::from_secs(86_400) * days);
    let snapshots = SnapshotTerms { automatic: Some(automatic), asked: Some(asked), for_time };
    let policy = Policy { snapshots, ..told.fleet.policy().clone() };
    told.fleet = std::mem::take(&mut told.fleet).under(policy);
}

/// SD1, SD2, SD3
#[test]
fn old_snapshots_are_dropped_by_number_and_what_a_person_asked_for_lives_longest() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    under(&mut told, 10, 20, None);
    assert_eq!(take_all(&mut told, SnapshotCause::Asked, 5), [0; 0]);
    assert_eq!(take_all(&mut told, SnapshotCause::Commit, 12), [0; 0], "a few more may be there");
    assert_eq!(take_all(&mut told, SnapshotCause::Crash, 1), [6, 7, 8]);
    assert_eq!(kept(&told).len(), 15);
    let Some(SnapshotEffect::Remove(removal)) = ordered(&told) else {
        panic!("nothing is removed")
    };
    let numbers: Vec<u32> = removal.snapshots.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [6, 7, 8]);
    // A daemon that was killed before it removed them is followed by one that does.
    told.restart();
    assert!(matches!(ordered(&told), Some(SnapshotEffect::Remove(_))));
    let report = SnapshotReport::Removed { numbers, bytes: 7 };
    told.observe(&Observation::Snapshots { agent: AgentId(1), report });
    assert_eq!((ordered(&told), kept(&told)[..6].to_vec()), (None, vec![1, 2, 3, 4, 5, 9]));
    let (number, work_tree, in_tree) = (6, "/web".to_owned(), Vec::new());
    let refused =
        SnapshotAsked::Restore { number, present: 18, with_index: false, work_tree, in_tree };
    assert_eq!(
        told.ask(order(refused)),
        Err(Refusal::SnapshotDropped { agent: AgentId(1), number: 6 })
    );
    assert_eq!(take_all(&mut told, SnapshotCause::Asked, 20), [1, 2, 3, 4, 5]);
}

/// SD1, SD2
#[test]
fn old_snapshots_are_dropped_by_age_but_never_the_newest() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    under(&mut told, 100, 100, Some(30));
    take_all(&mut told, SnapshotCause::Asked, 1);
    take_all(&mut told, SnapshotCause::Commit, 3);
    let due = |told: &mut Told| {
        let entity = Entity::Agent(AgentId(1));
        told.observe(&Observation::Due { entity, timer: Timer::Retain })
    };
    let day = Duration::from_secs(86_400);
    told.pass(day * 29);
    assert_eq!(dropped(&due(&mut told)), [0; 0]);
    told.pass(day * 2);
    let plan = told.fleet.plan(&Entity::Agent(AgentId(1)), told.now);
    assert!(plan.timers.iter().any(|(timer, at)| *timer == Timer::Retain && *at <= told.now));
    assert_eq!((dropped(&due(&mut told)), kept(&told)), (vec![2, 3], vec![1, 4]));
}

/// SD2. A person asks for what is there already, because somebody else had it taken a moment ago.
#[test]
fn a_snapshot_that_is_asked_for_later_is_kept_as_an_asked_one() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    under(&mut told, 100, 100, Some(30));
    take_all(&mut told, SnapshotCause::Commit, 3);
    let SnapshotAsked::Taken(why, files) = asked_of(&taken_as(1)) else { unreachable!() };
    for (number, why) in [(1, why), (2, SnapshotCause::BeforeRestore)] {
        let files = SnapshotFiles { commit: format!("{number:040x}"), ..files.clone() };
        let events = told.ask(order(SnapshotAsked::Taken(why, files))).unwrap();
        let [What::Agent(_, AgentEvent::Snapshot(event))] = &*whats(&events) else {
            panic!("{events:?}")
        };
        assert_eq!(**event, SnapshotEvent::Unchanged { wish: 0, why, number });
    }
    assert_eq!(told.agent(1).snapshots, 3, "no number is given twice");
    // To say so once is enough.
    assert_eq!(told.ask(taken_as(1)).unwrap(), []);
    take_all(&mut told, SnapshotCause::Commit, 1);
    told.pass(Duration::from_secs(86_400) * 40);
    let (entity, timer) = (Entity::Agent(AgentId(1)), Timer::Retain);
    // Its session never came up: that is concluded first.
    told.observe(&Observation::Due { entity: entity.clone(), timer });
    let events = told.observe(&Observation::Due { entity, timer });
    assert_eq!((dropped(&events), kept(&told)), (vec![3], vec![1, 2, 4]), "{events:?}");
}

fn whats(events: &[Event]) -> Vec<What> {
    events.iter().map(|event| event.what.clone()).collect()
}

/// They may be the only copy of its unfinished work: no rule of time takes them.
#[test]
fn snapshots_of_the_dead_do_not_age() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    under(&mut told, 100, 100, Some(30));
    take_all(&mut told, SnapshotCause::Commit, 4);
    told.ask(Command::Bury { target: "bob".into(), summary: None }).unwrap();
    let entity = Entity::Agent(AgentId(1));
    let timers = told.fleet.plan(&entity, told.now).timers;
    assert!(timers.iter().all(|(timer, _)| *timer != Timer::Retain), "{timers:?}");
    told.pass(Duration::from_secs(86_400) * 60);
    assert_eq!(dropped(&told.observe(&Observation::Due { entity, timer: Timer::Retain })), [0; 0]);
    assert_eq!(kept(&told), [1, 2, 3, 4]);
}

fn restore_of(agent: u128, number: u32, work_tree: &str) -> Command {
    let (in_tree, work_tree) = (vec![AgentId(agent)], work_tree.to_owned());
    order(SnapshotAsked::Restore { number, present: number, with_index: false, work_tree, in_tree })
}

fn starts(told: &Told, agent: u128) -> bool {
    let plan = told.fleet.plan(&Entity::Agent(AgentId(agent)), told.now);
    plan.effects.iter().any(|effect| match effect {
        Effect::Session(effect) => matches!(effect.action, Action::Start(..)),
        _ => false,
    })
}

/// SR1, SR2: also when the daemon is killed in between.
#[test]
fn no_session_starts_where_files_are_being_restored_until_that_has_ended() {
    let mut told = Told::new();
    let dir = crate::told::launch().dir;
    told.spawn(1, Some("bob"), Restart::Never);
    told.executed(1);
    told.ask(Command::Stop("bob".into())).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::KillSignal(15)));
    take_all(&mut told, SnapshotCause::Asked, 1);
    told.ask(restore_of(1, 1, &dir)).unwrap();
    assert!(matches!(ordered(&told), Some(SnapshotEffect::Restore(_))));
    assert_eq!(told.ask(restore_of(1, 1, &dir)), Err(Refusal::RestoreInTree { agent: AgentId(1) }));
    // Its own next session, and one of an agent that is born meanwhile.
    told.ask(Command::Wake("bob".into())).unwrap();
    told.spawn(2, Some("eve"), Restart::Never);
    told.all_due();
    assert_eq!((starts(&told, 1), starts(&told, 2)), (false, false));
    assert_eq!(told.fleet.held_back_by(AgentId(2)), Some(AgentId(1)));
    told.restart();
    told.all_due();
    assert_eq!((starts(&told, 1), starts(&told, 2)), (false, false));
    let Some(SnapshotEffect::Restore(order)) = ordered(&told) else { panic!("it is forgotten") };
    // Another restore's report ends nothing.
    for (restore, ends) in [(order.restore + 1, false), (order.restore, true)] {
        let report =
            SnapshotReport::Restored { restore, found: None, outcome: RestoreOutcome::default() };
        told.observe(&Observation::Snapshots { agent: AgentId(1), report });
        told.all_due();
        assert_eq!((starts(&told, 1), starts(&told, 2)), (ends, ends));
    }
}

/// What is kept where nobody set anything, and what "for ever" is.
#[test]
fn by_default_fifty_for_thirty_days_and_two_hundred_that_were_asked_for() {
    let terms = SnapshotTerms::default();
    let days = terms.for_time.map(|time| time.as_secs() / 86_400);
    assert_eq!((terms.automatic, days, terms.asked), (Some(50), Some(30), Some(200)));
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    told.executed(1);
    let snapshots = SnapshotTerms { automatic: None, asked: None, for_time: None };
    let policy = Policy { snapshots, ..told.fleet.policy().clone() };
    told.fleet = std::mem::take(&mut told.fleet).under(policy);
    assert_eq!(take_all(&mut told, SnapshotCause::Commit, 80), [0; 0]);
    told.pass(Duration::from_secs(86_400) * 4000);
    let entity = Entity::Agent(AgentId(1));
    assert_eq!(dropped(&told.observe(&Observation::Due { entity, timer: Timer::Retain })), [0; 0]);
    assert_eq!(kept(&told).len(), 80);
}

/// The oldest is what the clock looks at, and what was removed is what was to be.
#[test]
fn what_is_old_goes_when_the_oldest_is_and_only_what_was_dropped_is_gone() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    told.executed(1);
    under(&mut told, 100, 100, Some(30));
    let day = Duration::from_secs(86_400);
    take_all(&mut told, SnapshotCause::Commit, 1);
    let first = told.now;
    told.pass(day * 10);
    take_all(&mut told, SnapshotCause::Commit, 3);
    let retain = |told: &Told| {
        let timers = told.fleet.plan(&Entity::Agent(AgentId(1)), told.now).timers;
        timers.into_iter().find(|(timer, _)| *timer == Timer::Retain).map(|(_, at)| at)
    };
    assert_eq!(retain(&told), Some(first + day * 31));
    told.now = first + day * 31;
    let entity = Entity::Agent(AgentId(1));
    let events = told.observe(&Observation::Due { entity, timer: Timer::Retain });
    assert_eq!(dropped(&events), [1]);
    let all = |told: &Told| told.agent(1).snapshot_record.kept.all_stored().len();
    assert_eq!((kept(&told), all(&told)), (vec![2, 3, 4], 4), "its files may be there still");
    // A report about others says nothing of this one, nor of what is kept.
    let removed = |told: &mut Told, numbers: &[u32]| {
        let report = SnapshotReport::Removed { numbers: numbers.to_vec(), bytes: 7 };
        told.observe(&Observation::Snapshots { agent: AgentId(1), report })
    };
    assert_eq!(removed(&mut told, &[2, 9]), []);
    assert!(matches!(ordered(&told), Some(SnapshotEffect::Remove(_))));
    let events = removed(&mut told, &[1, 2]);
    let numbers = events.iter().find_map(|event| match &event.what {
        What::Agent(_, AgentEvent::Snapshot(event)) => match &**event {
            SnapshotEvent::Removed { numbers, .. } => Some(numbers.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(numbers, Some(vec![1]));
    assert_eq!((kept(&told), all(&told), ordered(&told)), (vec![2, 3, 4], 3, None));
}

/// What a restore is given to put back, and where; in the same batch it is its agent's.
#[test]
fn a_restore_is_ordered_with_the_commit_of_its_snapshot() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    take_all(&mut told, SnapshotCause::Asked, 2);
    let command = restore_of(9, 1, "/web");
    let request = perennial_core::command::Request { caller: Caller::Person, command };
    let decision = told.fleet.decide(&request, told.now).expect("nobody runs there");
    assert_eq!(decision.about, [Entity::Agent(AgentId(1))]);
    assert_eq!(decision.read, [Entity::Agent(AgentId(9))], "whose session would be in the way");
    told.fold(&decision.events);
    let Some(SnapshotEffect::Restore(order)) = ordered(&told) else {
        panic!("nothing is restored")
    };
    let stored = order.snapshot.expect("it is kept");
    assert_eq!(
        (stored.store.as_str(), stored.commit.to_string()),
        ("web.git", format!("{:040x}", 1))
    );
    assert_eq!((order.restore, order.work_tree.as_str()), (1, "/web"));
}
