//! Folding: the journal read again gives the same fleet, however the events came about.

use std::time::Duration;

use perennial_core::command::Command;
use perennial_core::conversation::Followed;
use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::{Observation, Report, Sign, Wait};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use proptest::prelude::*;

use crate::signs::measured;
use crate::told::{Told, due};

/// One happening: its kind, its agent (1 to 4), a detail, and the milliseconds before it.
type Happening = (u8, u128, i32, u32);

fn happen(told: &mut Told, (kind, id, detail, millis): Happening) -> Vec<Event> {
    told.pass(Duration::from_millis(u64::from(millis)));
    let agent = AgentId(id);
    if told.fleet.agent(agent).is_none() {
        let restart = match detail.rem_euclid(3) {
            0 => Restart::Never,
            1 => Restart::OnCrash,
            _ => Restart::Always,
        };
        return match id {
            // Two of the four are agent CLIs.
            1 | 2 => spawned(told, id, restart),
            _ => told.spawn_cli(id, detail % 2 == 0, None).unwrap_or_default(),
        };
    }
    let target = agent.to_string();
    let number = told.number(id);
    // Now and then about a session that is long over, or not there yet.
    let number = match detail.rem_euclid(5) {
        0 => SessionNumber(number.0 + 1),
        1 => number.previous().unwrap_or(number),
        _ => number,
    };
    match kind % 12 {
        0 => told.ask(Command::Stop(target)).unwrap_or_default(),
        1 if detail % 4 == 0 => told.ask(Command::Restart(target)).unwrap_or_default(),
        1 => told.ask(Command::Wake(target)).unwrap_or_default(),
        2 if detail % 4 == 0 => {
            told.ask(Command::Bury { target, summary: Some("over".into()) }).unwrap_or_default()
        }
        2 | 3 => {
            let name = format!("n{}", detail.rem_euclid(3)).parse().expect("a good name");
            told.ask(Command::Rename { target, name }).unwrap_or_default()
        }
        4 => told.report(id, number, Report::Executed(Process { pid: 1, start_ticks: 1 })),
        5 => told.report(id, number, Report::Exited(exit(detail))),
        6 => told.observe(&due(agent)),
        7 if detail % 3 == 0 => told.reboot(),
        10 if detail % 2 == 0 => {
            told.observe(&Observation::ClockJumped { by: Duration::from_secs(99) })
        }
        8 | 9 => told.observe(&Observation::Harness { agent, number, sign: sign(detail) }),
        _ => told.restart(),
    }
}

fn sign(detail: i32) -> Sign {
    match detail.rem_euclid(13) {
        0 | 1 => {
            let how = Followed::ALL[usize::try_from(detail.rem_euclid(5)).unwrap_or(0)];
            let conversation = format!("talk-{}", detail.rem_euclid(3));
            Sign::Began { conversation: conversation.parse().expect("a good id"), how }
        }
        2 => Sign::TurnBegan,
        3 => Sign::Waits(Wait::Input),
        4 => Sign::Progressed,
        5 => measured(u64::from(detail.unsigned_abs()) % 100),
        6 => Sign::WindowBegan,
        7 => Sign::Progressed,
        8 => Sign::Waits(Wait::Permission),
        9 => Sign::Waits(Wait::LimitReached(None)),
        10 => Sign::BackgroundWork,
        11 => Sign::StillIdle,
        _ => Sign::Hangs,
    }
}

fn spawned(told: &mut Told, id: u128, restart: Restart) -> Vec<Event> {
    let before = told.fleet.clone();
    told.spawn(id, None, restart);
    // `spawn` folds its own events; they are decided again for the record.
    let spawn = perennial_core::command::Spawn {
        id: AgentId(id),
        name: None,
        role: None,
        parent: None,
        launch: crate::told::launch(),
        restart,
        conversation: None,
        situations: Vec::new(),
    };
    let request = perennial_core::command::Request {
        caller: perennial_core::authority::Caller::Person,
        command: Command::Spawn(Box::new(spawn)),
    };
    before.decide(&request, told.now).map(|decision| decision.events).unwrap_or_default()
}

fn exit(detail: i32) -> Exit {
    match detail.rem_euclid(4) {
        0 => Exit::Code(0),
        1 => Exit::Code(detail),
        2 => Exit::KillSignal(9),
        _ => Exit::Unknown(UnknownExit::HolderDied),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// I9, and that a fleet can be restored from its agents at any moment.
    #[test]
    fn folding_the_events_again_gives_the_same_fleet(
        happenings in prop::collection::vec((any::<u8>(), 1u128..=4, any::<i32>(), 0u32..400_000), 0..60)
    ) {
        let mut told = Told::new();
        let mut journal = Vec::new();
        let beginning = told.fleet.clone();
        for happening in happenings {
            journal.extend(happen(&mut told, happening));
            let restored = Fleet::restore(told.fleet.parts());
            prop_assert_eq!(&restored, &told.fleet);
        }
        let mut again = beginning;
        for event in &journal {
            again.evolve(event);
        }
        prop_assert_eq!(again, told.fleet);
    }

    /// Whoever an event did not touch is planned as before.
    #[test]
    fn planning_the_touched_is_planning_all(
        happenings in prop::collection::vec((any::<u8>(), 1u128..=4, any::<i32>(), 0u32..4_000), 0..60)
    ) {
        let mut told = Told::new();
        for happening in happenings {
            let before = told.fleet.clone();
            let events = happen(&mut told, happening);
            let mut after = before.clone();
            let touched: Vec<Entity> =
                events.iter().flat_map(|event| after.evolve(event)).collect();
            for agent in before.agents().filter(|agent| !touched.contains(&agent.id.into())) {
                let (old, new) = (before.plan(&agent.id.into(), told.now), after.plan(&agent.id.into(), told.now));
                prop_assert_eq!(old, new);
            }
        }
    }
}
