//! The line after a reboot: two at a time, and nobody is left standing in it.

use std::time::Duration;

use perennial_core::command::Command;
use perennial_core::conversation::{Followed, Turn};
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::observation::{Report, Sign, Wait};
use perennial_core::restart::Restart;
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
    assert_eq!(told.starting(), [1, 2]);
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
    assert_eq!(resumed, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
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
