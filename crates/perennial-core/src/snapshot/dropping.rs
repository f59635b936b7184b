//! Which snapshots are dropped, and when: by number and by age.
//!
//! Pure. That snapshots are dropped is recorded first, and from then on they can't be restored; then they are removed,
//! and that is recorded, too. A daemon that was killed in between is followed by one that removes them.
//!
//! Invariants
//! - SD1  The newest snapshot of an agent, the newest of each of its work trees, that of its last checkpoint, and those
//!   that a restore is using are never dropped; nor is any of an agent in the cemetery, by number or by age.
//! - SD2  What a person asked for, also when it was there already, is dropped only because there is too much of it, never for
//!   its age.
//! - SD3  At least as many are kept as the operator set. They go several at a time: to find out what a repository no
//!   longer needs takes as long for one as for many.

use std::time::Duration;

use super::{DropCause, SnapshotCause, SnapshotEvent, SnapshotHead};
use crate::agent::Agent;
use crate::effect::{Effect, Plan, RemoveEffect, SnapshotEffect};
use crate::event::AgentEvent;
use crate::fleet::Fleet;
use crate::state::Roster;
use crate::time::Time;

const DAY: Duration = Duration::from_secs(86_400);

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotTerms {
    /// How many that nobody asked for are kept of each agent; without a limit: all.
    pub automatic: Option<usize>,
    /// Those for so long; without a limit: for ever.
    pub for_time: Option<Duration>,
    /// How many that a person asked for are kept.
    pub asked: Option<usize>,
}

impl Default for SnapshotTerms {
    fn default() -> SnapshotTerms {
        SnapshotTerms { automatic: Some(50), for_time: Some(DAY * 30), asked: Some(200) }
    }
}

impl SnapshotCause {
    /// Whether it was taken by a person's word, or for it.
    pub fn is_asked(self) -> bool {
        match self {
            SnapshotCause::Asked | SnapshotCause::BeforeRestore => true,
            SnapshotCause::PlannedEnd
            | SnapshotCause::Crash
            | SnapshotCause::Reboot
            | SnapshotCause::PhaseChange
            | SnapshotCause::Commit
            | SnapshotCause::Checkpoint => false,
        }
    }
}

/// What is dropped because there is too much of it, if anything is.
pub fn beyond_number(agent: &Agent, terms: SnapshotTerms) -> Option<AgentEvent> {
    let mut numbers = Vec::new();
    for (is_asked, most) in [(false, terms.automatic), (true, terms.asked)] {
        let Some(most) = most else { continue };
        let of_kind = || all(agent).filter(move |head| head.why.is_asked() == is_asked);
        // SD3
        let (count, at_once) = (of_kind().count(), most / 5 + 1);
        if count >= most.saturating_add(at_once) {
            let oldest = of_kind().take(count - most);
            numbers.extend(oldest.filter(|head| may_go(agent, head)).map(|head| head.number));
        }
    }
    dropped(numbers, DropCause::Number)
}

/// What is dropped because it is old, if anything is.
pub fn beyond_age(agent: &Agent, terms: SnapshotTerms, now: Time) -> Option<AgentEvent> {
    let is_old = |head: &&SnapshotHead| terms.for_time.is_some_and(|keep| head.at + keep <= now);
    let old = aging(agent).filter(is_old).map(|head| head.number);
    dropped(old.collect(), DropCause::Age)
}

/// When that is looked at again: a day after the first is old enough, for several at once.
pub fn due_at(agent: &Agent, terms: SnapshotTerms) -> Option<Time> {
    let keep = terms.for_time?;
    aging(agent).map(|head| head.at + keep + DAY).min()
}

fn all(agent: &Agent) -> impl Iterator<Item = &SnapshotHead> {
    agent.snapshot_record.kept.iter()
}

/// SD2
fn aging(agent: &Agent) -> impl Iterator<Item = &SnapshotHead> {
    all(agent).filter(|head| !head.why.is_asked() && may_go(agent, head))
}

/// SD1
fn may_go(agent: &Agent, head: &SnapshotHead) -> bool {
    let is_dead = agent.state.roster() == Roster::Cemetery;
    let in_place = all(agent).filter(|other| other.place == head.place);
    let newest_in_place = in_place.map(|other| other.number).max();
    let of_checkpoint = agent.checkpoint.as_ref().and_then(|last| last.snapshot);
    let restoring = agent.snapshot_record.restoring.as_ref();
    let is_used = restoring.is_some_and(|it| [it.number, it.present].contains(&head.number));
    !is_dead
        && newest_in_place != Some(head.number)
        && of_checkpoint != Some(head.number)
        && !is_used
}

fn dropped(numbers: Vec<u32>, why: DropCause) -> Option<AgentEvent> {
    (!numbers.is_empty())
        .then(|| AgentEvent::Snapshot(Box::new(SnapshotEvent::Dropped { numbers, why })))
}

/// What follows for the others of an agent from one more snapshot.
pub fn follow(fleet: &Fleet, after: &Agent, event: &AgentEvent) -> Option<AgentEvent> {
    let AgentEvent::Snapshot(event) = event else { return None };
    match &**event {
        SnapshotEvent::Taken(_) => beyond_number(after, fleet.policy().snapshots),
        SnapshotEvent::Wanted(_)
        | SnapshotEvent::Unchanged { .. }
        | SnapshotEvent::Missed(_)
        | SnapshotEvent::Dropped { .. }
        | SnapshotEvent::Removed { .. }
        | SnapshotEvent::RestoreBegun(_)
        | SnapshotEvent::RestoreEnded(_) => None,
    }
}

/// These were removed.
pub fn observe(agent: &Agent, numbers: &[u32], bytes: u64) -> Option<AgentEvent> {
    let known = agent.snapshot_record.kept.to_remove();
    let mut numbers = numbers.to_vec();
    numbers.retain(|number| known.iter().any(|(one, _)| one == number));
    (!numbers.is_empty())
        .then(|| AgentEvent::Snapshot(Box::new(SnapshotEvent::Removed { numbers, bytes })))
}

/// Adds what is to be removed.
pub fn plan(agent: &Agent, plan: &mut Plan) {
    let snapshots = agent.snapshot_record.kept.to_remove();
    if !snapshots.is_empty() && !agent.is_damaged() {
        let drop = agent.snapshot_record.kept.drops;
        let remove = RemoveEffect { agent: agent.id, drop, snapshots };
        plan.effects.push(Effect::Snapshot(SnapshotEffect::Remove(remove)));
    }
}
