//! Snapshots: whatever happened before and after them, the fleet is that of the full fold, but for what
//! is over; and whoever has left memory is recalled as it ended.

use perennial_core::id::NodeId;
use perennial_store::Expected;
use perennial_store::Projections;
use perennial_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::context::{self, Source};
use perennial_core::conversation::Followed;
use perennial_core::effect::Timer;
use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::exit::Exit;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, BootId};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::observation::{Observation, Report, Sign, Stocktaking, Wait};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::state::State;
use perennial_core::time::Time;
use perennial_store::{Batch, Journal, MemoryJournal, Seq, SnapshotSet, Version, load, recall};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::events::*;

/// One thing that happens to one of a few agents.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Spawn(u8),
    Executed(u8),
    Exited(u8, i32),
    Due(u8),
    Stop(u8),
    Wake(u8),
    Rename(u8, u8),
    Bury(u8),
    Daemon(u8),
    /// What a harness shows, by number.
    Sign(u8, u8),
}

fn turns() -> impl Strategy<Value = Vec<(Turn, u8)>> {
    let turn = prop_oneof![
        2 => (0u8..6).prop_map(Turn::Spawn),
        3 => (0u8..6).prop_map(Turn::Executed),
        3 => (0u8..6, 0i32..2).prop_map(|(agent, code)| Turn::Exited(agent, code)),
        2 => (0u8..6).prop_map(Turn::Due),
        1 => (0u8..6).prop_map(Turn::Stop),
        1 => (0u8..6).prop_map(Turn::Wake),
        1 => (0u8..6, 0u8..4).prop_map(|(agent, name)| Turn::Rename(agent, name)),
        1 => (0u8..6).prop_map(Turn::Bury),
        1 => (0u8..3).prop_map(Turn::Daemon),
        6 => (0u8..6, 0u8..12).prop_map(|(agent, sign)| Turn::Sign(agent, sign)),
    ];
    vec((turn, 0u8..120), 1..80)
}

fn name(number: u8) -> String {
    format!("name-{number}")
}

fn spawn(number: u8, parent: Option<String>, serial: u128) -> Command {
    Command::Spawn(Box::new(Spawn {
        id: AgentId(serial),
        name: name(number).parse().ok(),
        role: None,
        parent,
        launch: Launch {
            // Every other one has a harness that shows something.
            harness: if number % 2 == 1 { "claude" } else { "command" }.into(),
            host: Host::Shim,
            argv: vec!["/bin/true".into()],
            dir: "/".into(),
            env_names: vec![],
            project: "/".into(),
            options: Options::default(),
        },
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    }))
}

fn sign(number: u8) -> Sign {
    let measured = |tokens| {
        let (window, usable, source) = (100, 90, Source::StatusLine);
        let sample = context::Sample { tokens, window, usable, source };
        Sign::Measured { conversation: None, sample }
    };
    let began =
        |conversation: &str, how| Sign::Began { conversation: conversation.parse().unwrap(), how };
    match number {
        0 => began("a", Followed::Started),
        1 => began("b", Followed::Cleared),
        2 => began("a", Followed::Resumed),
        3 => Sign::TurnBegan,
        4 => Sign::Waits(Wait::Input),
        5 => Sign::Waits(Wait::RateLimit(Some(Time(77)))),
        6 => Sign::Progressed,
        7 => measured(50),
        8 => measured(90),
        9 => Sign::WindowBegan,
        10 => Sign::Progressed,
        _ => Sign::Hangs,
    }
}

/// What the core makes of a turn; nothing where it refuses.
fn play(fleet: &Fleet, turn: Turn, serial: u128, now: Time) -> Vec<Event> {
    let ask = |command| {
        let request = Request { caller: Caller::Person, command };
        fleet.decide(&request, now).map(|decision| decision.events).unwrap_or_default()
    };
    let newest = |number: u8| fleet.agents().nth(usize::from(number)).map(|agent| agent.id);
    let report = |number, report: Report| {
        let agent = fleet.agents().nth(usize::from(number))?;
        let session = agent.session.as_ref()?;
        let (agent, number) = (agent.id, session.number);
        Some(fleet.observe(&Observation::Session { agent, number, report }, now))
    };
    match turn {
        // Some have a parent: the one before, if it is there.
        Turn::Spawn(number) => {
            let parent = number.checked_sub(3).map(name).filter(|name| fleet.find(name).is_ok());
            ask(spawn(number, parent, serial))
        }
        Turn::Executed(number) => {
            let process = Process { pid: 100 + i32::from(number), start_ticks: now.0 };
            report(number, Report::Executed(process)).unwrap_or_default()
        }
        Turn::Exited(number, code) => {
            report(number, Report::Exited(Exit::Code(code))).unwrap_or_default()
        }
        Turn::Due(number) => newest(number).map_or(vec![], |agent| {
            let entity = Entity::Agent(agent);
            fleet.observe(&Observation::Due { entity, timer: Timer::StateEnds }, now)
        }),
        Turn::Stop(number) => ask(Command::Stop(name(number))),
        Turn::Wake(number) => ask(Command::Wake(name(number))),
        Turn::Rename(agent, other) => match name(other).parse() {
            Ok(new) => ask(Command::Rename { target: name(agent), name: new }),
            Err(_) => vec![],
        },
        Turn::Bury(number) => {
            ask(Command::Bury { target: name(number), summary: Some("x".into()) })
        }
        Turn::Daemon(boot) => {
            let boot = BootId(format!("boot {boot}"));
            fleet.observe(
                &Observation::Started {
                    boot,
                    version: "1".into(),
                    is_copy: false,
                    stocktaking: Stocktaking::default(),
                },
                now,
            )
        }
        Turn::Sign(number, shown) => {
            let agent = fleet.agents().nth(usize::from(number));
            let session = agent.and_then(|agent| Some((agent.id, agent.session.as_ref()?.number)));
            session.map_or(vec![], |(agent, number)| {
                let sign = sign(shown);
                fleet.observe(&Observation::Harness { agent, number, sign }, now)
            })
        }
    }
}

/// Appends what a story makes, and puts snapshots of what has changed after the turns that `cuts`
/// says; what is over in them leaves memory.
fn tell(journal: &dyn Store, story: &[(Turn, u8)], cuts: &[usize]) -> Fleet {
    let mut fleet = Fleet::default();
    let mut versions: BTreeMap<Entity, Version> = BTreeMap::new();
    let mut changed: BTreeSet<Entity> = BTreeSet::new();
    let mut now = Time(1);
    for (number, (turn, seconds)) in story.iter().enumerate() {
        now = now + Duration::from_secs(u64::from(*seconds)) + Duration::from_micros(1);
        let events = play(&fleet, *turn, number as u128 + 1, now);
        let version = |stream: &Entity| versions.get(stream).copied().unwrap_or_default().into();
        append(journal, Batch::of(events.clone(), version)).unwrap();
        for event in &events {
            fleet.evolve(event);
            versions.entry(event.entity()).or_default().0 += 1;
            changed.insert(event.entity());
        }
        if cuts.contains(&number) {
            let set = perennial_store::load::snapshots(&fleet, &versions, &changed);
            journal.put_snapshots(set, Box::new(|is_kept| assert!(is_kept)));
            let over: Vec<Entity> =
                changed.iter().filter(|one| fleet.is_over(one)).cloned().collect();
            changed.clear();
            for entity in over {
                changed.extend(fleet.retire(&entity).filter(|parent| fleet.is_over(parent)));
            }
        }
    }
    fleet
}

/// Only what is not over, with the versions of that.
fn living(
    mut fleet: Fleet,
    versions: &BTreeMap<Entity, Version>,
) -> (Fleet, Vec<(Entity, Version)>) {
    // Who has no more children may be over by that.
    loop {
        let over = fleet.entities().find(|entity| fleet.is_over(entity));
        let Some(over) = over else { break };
        fleet.retire(&over);
    }
    let kept = versions.iter().filter(|(stream, _)| fleet.has(stream));
    let versions = kept.map(|(stream, version)| (stream.clone(), *version)).collect();
    (fleet, versions)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn with_snapshots_anywhere_the_fleet_is_that_of_the_full_fold(
        story in turns(), cuts in vec(0usize..80, 1..6),
    ) {
        let journal = MemoryJournal::new();
        let fleet = tell(&journal, &story, &cuts);
        // The same records, folded from the first one.
        let records = journal.read(Seq(0), 10_000).unwrap();
        let unkept = MemoryJournal::new();
        let events = records.into_iter().map(|record| record.event.unwrap()).collect();
        append(&unkept, Batch::of(events, |_| Expected::Anything)).unwrap();
        let (cut, whole) = (load(&journal, NodeId::HOME).unwrap(), load(&unkept, NodeId::HOME).unwrap());
        prop_assert_eq!((cut.head, cut.latest), (whole.head, whole.latest));

        let dead = whole.fleet.agents().filter(|agent| whole.fleet.is_over(&agent.id.into()));
        for agent in dead {
            prop_assert_eq!(recall(&journal, agent.id).unwrap(), Some(agent.clone()));
            prop_assert_eq!(recall(&unkept, agent.id).unwrap(), Some(agent.clone()));
        }
        let in_memory = cut.fleet.agents().count() as u64;
        prop_assert_eq!(in_memory + cut.over, whole.fleet.agents().count() as u64);
        let (expected, versions) = living(whole.fleet, &whole.versions);
        let (told, _) = living(fleet, &BTreeMap::new());
        prop_assert_eq!(&told, &expected);
        prop_assert_eq!(living(cut.fleet, &cut.versions), (expected, versions));
    }
}

/// A parent that is dead stays for its team's sake, over restarts too, and goes with the last of it.
#[test]
fn a_dead_lead_is_loaded_until_its_team_is_over() {
    let journal = MemoryJournal::new();
    let parent = [
        (Turn::Daemon(0), 1),
        (Turn::Spawn(0), 1),
        (Turn::Executed(0), 1),
        (Turn::Spawn(3), 1),
        (Turn::Executed(1), 1),
        (Turn::Bury(0), 1),
        (Turn::Exited(0, 0), 1),
    ];
    tell(&journal, &parent, &[6]);
    let loaded = load(&journal, NodeId::HOME).unwrap();
    let (first, second) = (AgentId(2), AgentId(4));
    assert_eq!((loaded.fleet.agents().count(), loaded.over), (2, 0));
    assert!(loaded.fleet.is_above(first, second));

    let journal = MemoryJournal::new();
    let both = [&parent[..], &[(Turn::Bury(3), 1), (Turn::Exited(1, 0), 1), (Turn::Due(5), 1)]];
    tell(&journal, &both.concat(), &[8]);
    // The parent had a team when the last set was made: it is loaded, and to be put as over.
    let loaded = load(&journal, NodeId::HOME).unwrap();
    assert_eq!((loaded.fleet.agents().count(), loaded.over), (1, 1));
    assert_eq!(loaded.changed, BTreeSet::from([Entity::Agent(first)]));
    assert!(loaded.fleet.is_over(&Entity::Agent(first)));
}

#[test]
fn a_set_that_was_dropped_hides_nothing() {
    let journal = MemoryJournal::new();
    let fleet = tell(&journal, &STORY, &[3]);
    let loaded = load(&journal, NodeId::HOME).unwrap();
    // As if only the last of what has changed since had been noticed.
    let last = BTreeSet::from([loaded.changed.last().cloned().unwrap()]);
    let set = perennial_store::load::snapshots(&fleet, &loaded.versions, &last);
    journal.put_snapshots(set, Box::new(|is_kept| assert!(!is_kept)));
    let again = load(&journal, NodeId::HOME).unwrap();
    assert_eq!((&again.fleet, &again.changed), (&loaded.fleet, &loaded.changed));
}

/// Enough of a story for every part of a fleet to hold something.
const STORY: [(Turn, u8); 12] = [
    (Turn::Daemon(0), 1),
    (Turn::Spawn(0), 1),
    (Turn::Executed(0), 1),
    (Turn::Spawn(1), 1),
    (Turn::Executed(1), 1),
    (Turn::Sign(1, 0), 1),
    (Turn::Sign(1, 6), 1),
    (Turn::Sign(1, 8), 1),
    (Turn::Exited(1, 1), 20),
    (Turn::Rename(0, 3), 1),
    (Turn::Stop(1), 1),
    (Turn::Spawn(2), 1),
];

#[test]
fn snapshots_survive_in_the_file_and_are_used() {
    let directory = tempfile::tempdir().unwrap();
    let fleet = tell(&open(directory.path()), &STORY, &[9]);
    let journal = open(directory.path());
    let SnapshotSet { covers, snapshots, .. } = journal.snapshots().unwrap();
    assert!(covers > Seq(5) && covers < journal.head().0);
    // The node, two agents, the notice that one of them is to get, and what the operator is told of its window.
    assert_eq!(snapshots.len(), 5);
    assert_eq!(load(&journal, NodeId::HOME).unwrap().fleet, fleet);
    drop(journal);

    // They are used: what they say is believed, since they lie outside of the chain …
    let by_hand = |sql: &str| {
        rusqlite::Connection::open(file(directory.path())).unwrap().execute_batch(sql).unwrap();
    };
    by_hand("DELETE FROM snapshot WHERE stream <> x'6e'");
    assert_ne!(load(&open(directory.path()), NodeId::HOME).unwrap().fleet, fleet);
    // … unless a byte of one was changed, or their place is no longer that record.
    by_hand("UPDATE snapshot SET state = replace(state, '1', '2')");
    assert_eq!(load(&open(directory.path()), NodeId::HOME).unwrap().fleet, fleet);
}

#[test]
fn snapshots_of_another_form_are_not_read() {
    let journal = MemoryJournal::new();
    let fleet = tell(&journal, &STORY, &[11]);
    let mut snapshots = journal.snapshots().unwrap().snapshots;
    for snapshot in &mut snapshots {
        snapshot.form.push('x');
        snapshot.state = Some("null".into());
    }
    journal.put_snapshots(snapshots, Box::new(|is_kept| assert!(is_kept)));
    assert_eq!(load(&journal, NodeId::HOME).unwrap().fleet, fleet);
}

#[test]
fn where_anything_is_unreadable_snapshots_are_not_used() {
    let journal = MemoryJournal::new();
    tell(&journal, &STORY, &[8]);
    // After the cut: found while loading from the snapshots, and folded again without them.
    let last = journal.head().0;
    journal.flip(Seq(last.0 - 4));
    let loaded = load(&journal, NodeId::HOME).unwrap();
    assert_eq!(loaded.unreadable.len(), 1);
    let held = loaded.fleet.agents().filter(|agent| agent.state == State::Unknown).count();
    assert_eq!(held, 1);
    assert_eq!(loaded.head, last);
}

/// Two long sessions without progress, each ended in the middle of a turn.
const CHURN: [(Turn, u8); 10] = [
    (Turn::Daemon(0), 1),
    (Turn::Spawn(1), 1),
    (Turn::Executed(0), 1),
    (Turn::Sign(0, 0), 1),
    (Turn::Sign(0, 3), 1),
    (Turn::Exited(0, 1), 40),
    (Turn::Executed(0), 1),
    (Turn::Sign(0, 0), 1),
    (Turn::Sign(0, 3), 1),
    (Turn::Exited(0, 1), 40),
];

#[test]
fn a_snapshot_keeps_what_was_futile() {
    let journal = MemoryJournal::new();
    let fleet = tell(&journal, &CHURN, &[CHURN.len() - 1]);
    let covers = journal.snapshots().unwrap().covers;
    assert_eq!(covers, journal.head().0, "nothing is folded after the snapshots");
    let futile = |fleet: &Fleet| fleet.agents().next().unwrap().history.futile;
    assert_eq!(futile(&fleet), 2, "the story is one of churn");
    assert_eq!(futile(&load(&journal, NodeId::HOME).unwrap().fleet), 2);
}
