//! A recorded session, heard again with restarts between any two facts and with doubled facts: the
//! same states, each notice and each reminder once. `cargo xtask prove replay` tries it by volume.

use perennial_core::event::AgentEvent;
use perennial_core::hearing::Tell;
use perennial_core::reason::Reason;

use crate::recording::{CLAUDE, Disturbance, Story, facts, replay};

const RESTART: Disturbance = Disturbance { restart: true, doubled: false };
const DOUBLED: Disturbance = Disturbance { restart: false, doubled: true };

fn undisturbed() -> Story {
    replay(CLAUDE, |_| Disturbance::default())
}

#[test]
fn the_recording_holds_what_it_is_kept_for() {
    let story = undisturbed();
    let has = |reason: Reason| story.states.iter().any(|(_, had)| *had == reason);
    assert!(has(Reason::InTurn) && has(Reason::Idle) && has(Reason::NeedsPermission), "{story:#?}");
    let reminders = story.tells.iter().filter(|tell| matches!(tell, Tell::Reminder { .. }));
    assert_eq!(reminders.count(), 1, "{story:#?}");
    assert!(story.notices.len() >= 3, "{story:#?}");
    assert!(story.clock.iter().any(|one| matches!(one, AgentEvent::WindowBegan { .. })));
    for what in ["background=1", "how=compacted", "listed as=idle", "listed as=busy"] {
        assert!(CLAUDE.contains(what), "{what}");
    }
}

/// H12.
#[test]
fn a_restart_between_any_two_facts_changes_nothing() {
    let story = undisturbed();
    for position in 0..facts(CLAUDE).count() {
        let there = |at| Disturbance { restart: at == position, doubled: false };
        assert_eq!(replay(CLAUDE, there), story, "restart before fact {position}");
    }
    assert_eq!(replay(CLAUDE, |_| RESTART), story, "a restart before every fact");
}

/// H2: the whole recording, each fact twice.
#[test]
fn every_fact_twice_changes_nothing() {
    assert_eq!(replay(CLAUDE, |_| DOUBLED), undisturbed());
}
