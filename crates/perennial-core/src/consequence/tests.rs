//! What follows from an event is in its batch, once.

use super::*;
use crate::event::Move;
use crate::fleet::Policy;
use crate::reason::Reason;
use crate::state::{Cause, State};

/// A dialog that is recorded again, with another time for instance, is the same dialog.
#[test]
fn the_operator_is_told_of_a_dialog_that_was_not_there_before() {
    let fleet =
        Fleet::default().under(Policy { notify: vec!["say".to_owned()], ..Policy::default() });
    let at = Time(7);
    let mut before = Agent::unborn(AgentId(1), at);
    before.state = State::Waiting;
    for (known, told) in [(Reason::NeedsAnswer, 1), (Reason::NeedsPermission, 0)] {
        before.reason = known;
        let moved = Move {
            cause: Cause::TurnEnded,
            to: State::Waiting,
            reason: Reason::NeedsPermission,
            evidence: before.evidence.clone(),
            until: None,
        };
        let event = Event { at, what: What::Agent(before.id, AgentEvent::Moved(moved)) };
        let follows = of(&fleet, Some(&before), &before, &event, &[]);
        let jobs = follows.iter().filter(|what| matches!(what, What::Job(..))).count();
        assert_eq!(jobs, told, "{known:?}");
    }
}

/// However fast an agent asks and goes on: one notification about it runs, and at most one waits.
#[test]
fn a_notification_that_waits_ends_when_the_agent_goes_on() {
    let id = AgentId(1);
    let mut fleet =
        Fleet::default().under(Policy { notify: vec!["say".to_owned()], ..Policy::default() });
    let mut agent = Agent::unborn(id, Time(0));
    for round in 1..100 {
        let reason = match round % 2 {
            0 => Reason::InTurn,
            _ => Reason::NeedsPermission,
        };
        let moved = Move {
            cause: Cause::TurnEnded,
            to: State::Waiting,
            reason,
            evidence: agent.evidence.clone(),
            until: None,
        };
        let event = Event { at: Time(round), what: What::Agent(id, AgentEvent::Moved(moved)) };
        assert!(reason.is_dialog() || round == 2 || has_any(&fleet, &event), "{round}");
        for what in of(&fleet, Some(&agent), &agent, &event, &[]) {
            fleet.evolve(&Event { at: event.at, what });
        }
        agent.reason = reason;
        let open = fleet.jobs().iter().filter(|job| !job.is_over()).count();
        assert!(open <= 2, "{open} in round {round}");
    }
    assert!(fleet.jobs().iter().any(|job| !job.is_over()));
}
