//! The line after a reboot: two at a time, and nobody is left standing in it.

use std::time::Duration;

use perennial_core::agent::{Agent, Confirmation, Outlook, outlook};
use perennial_core::command::Command;
use perennial_core::conversation::{Followed, Turn};
use perennial_core::exit::Exit;
use perennial_core::fleet::{Fleet, Policy};
use perennial_core::hold::HeldFor;
use perennial_core::id::AgentId;
use perennial_core::observation::{Report, Sign, Wait};
use perennial_core::restart::Restart;
use perennial_core::session::Phase;
use perennial_core::state::State;

use crate::signs::resume;
use crate::told::Told;

fn five_working() -> Told {
    let mut told = Told::new();
    for id in 1..=5 {
        told.spawn(id, None, Restart::OnCrash);
        told.executed(id);
    }
    told
}

#[test]
fn after_a_reboot_two_at_a_time_are_resumed_until_all_work() {
    let mut told = five_working();
    told.reboot();
    let mut resumed = Vec::new();
    while resumed.len() < 5 {
        told.all_due();
        let starting = told.starting();
        assert!(!starting.is_empty() && starting.len() <= 2, "{starting:?}");
        told.executed(starting[0]);
        resumed.push(starting[0]);
    }
    assert!(told.fleet.agents().all(|agent| agent.state == State::Working));
}

/// L1: the line counts everybody who starts, and holds up nobody who does not stand in it.
#[test]
fn nobody_leaves_the_line_while_two_are_starting_wherever_they_come_from() {
    let mut told = five_working();
    told.spawn(7, None, Restart::OnCrash);
    told.executed(7);
    told.ask(Command::Stop(AgentId(7).to_string())).unwrap();
    let number = told.number(7);
    told.report(7, number, Report::Exited(Exit::KillSignal(15)));
    told.reboot();
    told.all_due();
    assert_eq!(told.starting(), [1, 2]);
    told.spawn(6, None, Restart::OnCrash);
    told.ask(Command::Wake(AgentId(7).to_string())).unwrap();
    assert_eq!(told.starting(), [1, 2, 6, 7], "a person's starts wait for nobody");
    for announced in [1, 2, 6] {
        told.all_due();
        assert!(!told.starting().contains(&3), "{announced}: {:?}", told.starting());
        told.executed(announced);
    }
    told.all_due();
    assert_eq!(told.starting(), [3, 7], "one place is free");
}

/// Found by chance: the one that had been next was not planned anew when another, with a lower id,
/// came into the line before it.
#[test]
fn who_is_displaced_in_the_line_is_planned_anew() {
    let mut told = Told::new();
    told.spawn(2, None, Restart::OnCrash);
    told.spawn(4, None, Restart::OnCrash);
    told.reboot();
    told.spawn(3, None, Restart::OnCrash);
    let before = told.fleet.clone();
    let mut after = before.clone();
    let events = told.reboot();
    let touched: Vec<_> = events.iter().flat_map(|event| after.evolve(event)).collect();
    for agent in before.agents().filter(|agent| !touched.contains(&agent.id.into())) {
        assert_eq!(
            before.plan(&agent.id.into(), told.now),
            after.plan(&agent.id.into(), told.now),
            "{}",
            agent.id
        );
    }
}

/// Found by seed 23 of the exploration: both that had come out of the line kept their places
/// beside it when a second reboot sent them back, and nobody started any more.
#[test]
fn a_second_reboot_while_two_are_starting_leaves_room_for_two() {
    let mut told = five_working();
    told.reboot();
    told.all_due();
    assert_eq!(told.starting(), [1, 2]);
    told.reboot();
    told.all_due();
    // Those that have waited since the first reboot come first.
    assert_eq!(told.starting(), [3, 4]);
}

/// M2: two that could not be read stood at the head of the line for good, and nobody was resumed.
#[test]
fn those_that_are_held_take_up_no_place_in_the_line() {
    for started in [false, true] {
        let mut told = five_working();
        told.reboot();
        if started {
            told.all_due();
        }
        told.damage(1);
        told.damage(2);
        for resumed in [3, 4, 5] {
            told.all_due();
            assert!(told.starting().contains(&resumed), "{:?}", told.starting());
            told.executed(resumed);
            assert_eq!(told.agent(resumed).state, State::Working);
        }
        // Lifted, the first comes back into the line, and out of it.
        told.ask(Command::Wake(AgentId(1).to_string())).unwrap();
        told.all_due();
        assert!(told.starting().contains(&1));
    }
}

/// M10: crashed agents whose retry came due did not wait for their turn after a reboot.
#[test]
fn retries_after_a_reboot_get_in_line() {
    let mut told = five_working();
    for id in 6..=9 {
        told.spawn(id, None, Restart::OnCrash);
        // Dead at once: its retry waits.
        told.executed(id);
        let number = told.number(id);
        told.report(id, number, Report::Exited(Exit::KillSignal(9)));
        assert_eq!(told.agent(id).state, State::Crashed);
    }
    // The retries of 6 and 7 come due while the machine is down, those of 8 and 9 soon after.
    let soon = told.now + Duration::from_millis(1100);
    let later = told.now + Duration::from_secs(60);
    told.now = told.agent(7).until.expect("a retry").max(soon);
    told.reboot();
    told.now = later;
    let mut resumed = Vec::new();
    while resumed.len() < 9 {
        told.all_due();
        let starting = told.starting();
        assert!(!starting.is_empty() && starting.len() <= 2, "{starting:?}");
        told.executed(starting[0]);
        resumed.push(starting[0]);
    }
    // The retry of 6 came due after the reboot.
    assert_eq!(resumed, [1, 2, 3, 4, 5, 7, 6, 8, 9]);
}

/// Without a line a retry starts by itself, as it always did.
#[test]
fn without_a_line_a_retry_starts_at_its_time() {
    let mut told = Told::new();
    for id in 1..=4 {
        told.spawn(id, None, Restart::OnCrash);
        told.executed(id);
        let number = told.number(id);
        told.report(id, number, Report::Exited(Exit::KillSignal(9)));
    }
    told.pass(Duration::from_secs(2));
    told.all_due();
    assert_eq!(told.starting(), [1, 2, 3, 4]);
}

/// M7, C4: hung or in a dialog, it is in the middle of a turn.
#[test]
fn who_is_in_the_middle_of_a_turn_is_resumed_after_a_reboot() {
    for (sign, resumes) in [
        (Sign::Hangs, true),
        (Sign::Waits(Wait::Permission), true),
        (Sign::Waits(Wait::Answer), true),
        (Sign::BackgroundWork, true),
        (Sign::Waits(Wait::Input), false),
        (Sign::Waits(Wait::Failure), false),
    ] {
        let mut told = Told::new();
        told.spawn_cli(1, true, None).unwrap();
        told.begun(1, "a", Followed::Started);
        told.show(1, sign.clone());
        told.reboot();
        told.all_due();
        let (state, opening) = match resumes {
            true => (State::Waking, resume("a", Turn::Open)),
            false => (State::Sleeping, told.agent(1).session.as_ref().unwrap().opening.clone()),
        };
        assert_eq!(told.agent(1).state, state, "{sign:?}");
        assert_eq!(told.agent(1).session.as_ref().unwrap().opening, opening, "{sign:?}");
    }
}

/// Five working commands, where three may run.
fn at_the_limit() -> Told {
    let mut told = Told::new();
    let policy = Policy { max_running: Some(3), ..Policy::default() };
    told.fleet = std::mem::take::<Fleet>(&mut told.fleet).under(policy);
    for id in 1..=5 {
        told.spawn(id, Some(&format!("a{id}")), Restart::OnCrash);
        if told.starting().contains(&id) {
            told.executed(id);
        }
    }
    told
}

impl Told {
    fn begun_now(&self) -> usize {
        let takes = |agent: &&Agent| {
            let phase = agent.session.as_ref().map(|session| session.phase);
            matches!(phase, Some(Phase::Starting | Phase::Running | Phase::Ending(_)))
        };
        let count = self.fleet.agents().filter(takes).count();
        assert_eq!(count, self.fleet.running(), "counted by the fold");
        count
    }

    fn places(&self) -> Vec<(u128, (usize, usize))> {
        let place = |agent: &Agent| Some((agent.id.0, self.fleet.place_in_line(agent.id)?));
        self.fleet.agents().filter_map(place).collect()
    }

    fn exits(&mut self, id: u128, code: i32) {
        let number = self.number(id);
        self.report(id, number, Report::Exited(Exit::Code(code)));
    }
}

/// L2, L3: also a person's start waits, and an end lets the next one start.
// covers: H-20
#[test]
fn at_the_limit_a_start_waits_in_line_until_a_session_ends() {
    let mut told = at_the_limit();
    assert_eq!((told.begun_now(), told.places()), (3, vec![(4, (1, 2)), (5, (2, 2))]));
    let next = outlook(told.agent(4), Confirmation::Confirmed);
    assert_eq!((told.agent(4).state, next), (State::Hatching, Outlook::InLine));
    told.all_due();
    assert_eq!(told.begun_now(), 3);
    // However long it takes, no start has failed.
    told.pass(Duration::from_secs(3600));
    told.all_due();
    assert_eq!(told.agent(4).state, State::Hatching);
    told.exits(2, 0);
    told.all_due();
    assert_eq!((told.begun_now(), told.places()), (3, vec![(5, (1, 1))]));
    // Its start limit counts from when its turn came.
    assert!(told.agent(4).until.is_some_and(|until| until > told.now));
    told.executed(4);
    assert_eq!(told.agent(4).state, State::Working);
    // What a person wakes waits behind.
    told.ask(Command::Wake(AgentId(2).to_string())).expect("woken");
    assert_eq!(told.places(), [(2, (2, 2)), (5, (1, 2))]);
}

/// L4: what follows at once has its predecessor's place; a retry that waits has not.
#[test]
fn a_restart_and_a_retry_at_once_keep_their_place() {
    let mut told = at_the_limit();
    told.ask(Command::Restart(AgentId(1).to_string())).expect("restarted");
    told.exits(1, 0);
    assert!(told.starting().contains(&1), "{:?}", told.starting());
    told.executed(1);
    told.pass(Duration::from_secs(5));
    told.exits(2, 1);
    assert!(told.starting().contains(&2), "{:?}", told.starting());
    told.executed(2);
    // Dead at once: its retry waits, and somebody else has its place by then.
    told.exits(2, 1);
    told.all_due();
    assert!(told.starting().contains(&4));
    told.executed(4);
    told.pass(Duration::from_secs(60));
    told.all_due();
    assert_eq!((told.agent(2).state, told.begun_now()), (State::Waking, 3));
    assert_eq!(told.places(), [(2, (2, 2)), (5, (1, 2))]);
}

/// L2: a lower limit ends nobody, and nothing starts before there is room.
#[test]
fn a_lower_limit_ends_nobody_and_lets_nobody_start() {
    let mut told = at_the_limit();
    let policy = Policy { max_running: Some(1), ..Policy::default() };
    told.fleet = Fleet::restore(told.fleet.parts()).under(policy);
    told.ask(Command::Restart(AgentId(1).to_string())).expect("restarted");
    told.exits(1, 0);
    assert_eq!((told.agent(1).state, told.begun_now()), (State::Waking, 2));
    told.exits(2, 0);
    told.all_due();
    assert_eq!(told.begun_now(), 1);
    told.exits(3, 0);
    told.all_due();
    assert_eq!((told.starting(), told.begun_now()), (vec![4], 1));
}

/// L5
#[test]
fn whoever_is_stopped_held_or_buried_leaves_the_line() {
    let mut told = at_the_limit();
    told.ask(Command::Stop(AgentId(4).to_string())).expect("stopped");
    assert_eq!(told.places(), [(5, (1, 1))]);
    told.hold(5, HeldFor::Person);
    assert_eq!(told.places(), []);
    let bury = Command::Bury { target: AgentId(5).to_string(), summary: None };
    told.ask(bury).expect("buried");
    told.spawn(6, None, Restart::OnCrash);
    told.exits(1, 0);
    told.all_due();
    assert_eq!(told.starting(), [6]);
}
