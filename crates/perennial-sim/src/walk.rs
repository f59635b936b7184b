//! Handoffs, cycles, rest and waking, with the daemon killed after every record of them: right after the commit, before it
//! hears of that, and a little later, when it has acted on it. Each comes to its end, once, and nothing recorded is lost.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::checkpoint::CheckpointEvent;
use perennial_core::command::{Command, RoleWanted, Spawn};
use perennial_core::event::AgentEvent;
use perennial_core::exit::Exit;
use perennial_core::fleet::Policy;
use perennial_core::handoff::{HandoffEvent, HandoffOrder};
use perennial_core::id::{AgentId, SessionNumber, TaskId};
use perennial_core::name::NameKey;
use perennial_core::restart::Restart;
use perennial_core::role::{Cycle, CycleUnit, RoleTerms, Span};
use perennial_core::state::State;
use perennial_core::task::{Resolution, TaskCommand};

use crate::explore::{HARNESS, draft, launch};
use crate::faults::Faults;
use crate::world::{Happening, World};

const MINUTES: Duration = Duration::from_secs(300);
/// After a commit: before the daemon hears of it, and when it has given its orders.
const KILLED_AFTER: [Duration; 2] = [Duration::ZERO, Duration::from_millis(2)];

/// A world with an agent bob that waits, its first turn over, in a role with these terms.
fn world(terms: RoleTerms) -> World {
    let roles = [(NameKey::of("keeper"), RoleTerms { is_declared: true, ..terms })].into();
    let policy = Policy { roles, ..Policy::default() };
    let mut world = World::new(3, Faults::none(), None, false).under(policy);
    world.start_daemon();
    world.run(Duration::from_secs(1));
    let mut launch = launch("program");
    launch.harness = HARNESS.into();
    let name = "keeper".parse().expect("a name");
    let role = RoleWanted { name, declared: None, sets_restart: false };
    let spawn = Spawn {
        id: world.new_agent(),
        name: "bob".parse().ok(),
        role: Some(role),
        parent: None,
        launch,
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    };
    world.ask(Caller::Person, Command::Spawn(Box::new(spawn)));
    world
}

fn bob(world: &World) -> AgentId {
    world.ledger.record.agents().next().map(|agent| agent.id).expect("bob")
}

fn state(world: &World) -> Option<State> {
    world.ledger.record.agents().next().map(|agent| agent.state)
}

fn number(world: &World) -> u64 {
    let session = world.ledger.record.agents().next().and_then(|agent| agent.session.as_ref());
    session.map_or(0, |session| u64::from(session.number.0))
}

/// Lets time pass; a while after this many more records the daemon is killed, and another one starts. Says whether it was.
fn killed_after(world: &mut World, records: usize, later: Duration) -> bool {
    let head = world.journal.events().count() + records;
    world.run_until(MINUTES, |world| world.journal.events().count() >= head);
    let is_reached = world.journal.events().count() >= head;
    world.run(later);
    if let Some(life) = world.daemons.first().map(|daemon| daemon.life).filter(|_| is_reached) {
        world.crash_daemon(life);
        world.hop(Happening::DaemonStarts);
    }
    world.run(MINUTES);
    if let Some(broken) = world.broken_property() {
        panic!("killed {later:?} after {records}: {broken:?}");
    }
    is_reached
}

/// From the record alone: no session ran twice, each handoff was completed once, and no checkpoint has gone.
#[track_caller]
fn judge(world: &World, when: &str) {
    let (mut ran, mut asked, mut done, mut taken) = (vec![], vec![], vec![], vec![]);
    for (_, event) in world.journal.events().filter_map(|event| event.of_agent()) {
        if let AgentEvent::SessionRunning { number, .. } = event {
            ran.push(number.0);
        }
        if let AgentEvent::Checkpoint(event) = event {
            let CheckpointEvent::Taken(checkpoint) = &**event;
            taken.push(checkpoint.number);
        }
        if let AgentEvent::Handoff(event) = event {
            if let HandoffEvent::Asked(it) = &**event {
                asked.push(it.number.0);
            }
            if let HandoffEvent::Completed { number, .. } = &**event {
                done.push(number.0);
            }
        }
    }
    assert!(ran.windows(2).all(|two| two[1] == two[0] + 1), "{when}: sessions {ran:?}");
    assert_eq!(done, asked, "{when}: complete");
    assert_eq!(taken, (1..).take(taken.len()).collect::<Vec<_>>(), "{when}: checkpoints");
    let head = world.ledger.record.agents().next().and_then(|agent| agent.checkpoint.as_ref());
    assert_eq!(head.map(|head| head.number), taken.last().copied(), "{when}: the newest one");
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Verb,
    /// Nothing is heard of it by its deadline.
    Deaf,
    Agent,
    /// It crashes before it has answered.
    Crash,
    /// Its role counts rounds.
    Cycle,
}

fn handed_off(by: By) -> World {
    let cycle = Cycle { after: Some(1), unit: CycleUnit::Round, interesting: Vec::new() };
    let terms = match by {
        By::Cycle => RoleTerms {
            every: Some(Duration::from_secs(120)),
            cycle: Some(cycle),
            ..RoleTerms::default()
        },
        By::Verb | By::Deaf | By::Agent | By::Crash => RoleTerms::default(),
    };
    let mut world = world(terms);
    let own = Caller::Agent(bob_to_be(&mut world));
    let deadline = (by == By::Deaf).then_some(Duration::from_secs(1));
    let order = HandoffOrder {
        target: "bob".to_owned(),
        subject: Some("half".to_owned()),
        notes: Some("as it stands".to_owned()),
        deadline,
        finish: false,
        session: None,
    };
    let order = Command::Handoff(Box::new(order));
    match by {
        By::Verb | By::Deaf => drop(world.ask(Caller::Person, order)),
        By::Agent => drop(world.ask(own, order)),
        By::Crash => {
            world.ask(Caller::Person, order);
            let (agent, number) = (bob(&world), SessionNumber::FIRST);
            let ends = Happening::ProgramEnds { agent, number, exit: Exit::KillSignal(9) };
            world.after(Duration::from_millis(5), ends);
        }
        By::Cycle => {}
    }
    world
}

/// Bob's first turn is over.
fn bob_to_be(world: &mut World) -> AgentId {
    world.run_until(MINUTES, |world| state(world) == Some(State::Waiting));
    world.run(Duration::from_secs(1));
    bob(world)
}

#[test]
fn handoffs_and_cycles_go_on_after_a_kill_at_any_record() {
    for by in [By::Verb, By::Deaf, By::Agent, By::Crash, By::Cycle] {
        let mut kills = 0;
        for records in 1.. {
            let mut is_reached = false;
            for later in KILLED_AFTER {
                let mut world = handed_off(by);
                is_reached = killed_after(&mut world, records, later);
                let when = format!("{by:?}, killed {later:?} after {records} records");
                // What was asked for meanwhile comes to its end.
                world.ask(Caller::Person, Command::Drop("bob".to_owned()));
                world.run(MINUTES);
                judge(&world, &when);
                if by == By::Cycle {
                    assert!(number(&world) > 1, "{when}");
                } else {
                    assert_eq!(
                        (number(&world), state(&world)),
                        (2, Some(State::Waiting)),
                        "{when}"
                    );
                }
                kills += usize::from(is_reached);
            }
            // A role that cycles goes on for ever: one of its rounds is enough.
            if !is_reached || (by == By::Cycle && records > 30) {
                break;
            }
        }
        assert!(kills > 20, "{by:?}: {kills} kills");
    }
}

fn add(world: &mut World) -> TaskId {
    let id = world.tasks.new_task();
    let draft = draft(id, bob(world));
    let add = TaskCommand::Add(Box::new(draft));
    world.ask(Caller::Person, Command::Task(Box::new(add)));
    id
}

fn done(world: &mut World, task: TaskId) {
    let (reason, check) = ("done".to_owned(), Resolution::None);
    let done = TaskCommand::Done { task, reason, check };
    world.ask(Caller::Person, Command::Task(Box::new(done)));
}

/// Wherever in rest and in waking the daemon is killed, both come to their end, once.
#[test]
fn rest_and_waking_go_on_after_a_kill_at_any_record() {
    for (span, later) in Span::ALL.into_iter().flat_map(|span| KILLED_AFTER.map(|it| (span, it))) {
        let rested = match span {
            Span::Mortal => State::Dead,
            Span::Persistent => State::Hibernating,
        };
        let mut kills = 0;
        for records in 1.. {
            let mut world = world(RoleTerms { span, ..RoleTerms::default() });
            world.run(MINUTES);
            let task = add(&mut world);
            world.run(MINUTES);
            done(&mut world, task);
            let was_killed = killed_after(&mut world, records, later);
            assert_eq!(state(&world), Some(rested), "killed after {records} records of rest");
            assert_eq!(world.rest.rests, 1, "after {records}");
            if span == Span::Persistent {
                add(&mut world);
                killed_after(&mut world, records, later);
                assert_eq!(world.rest.woken, 1, "after {records}");
                assert_eq!(state(&world), Some(State::Waiting), "after {records}");
            }
            judge(&world, &format!("rest, killed {later:?} after {records} records"));
            if !was_killed {
                break;
            }
            kills += 1;
        }
        assert!(kills > 4, "{kills} records of rest");
    }
}
