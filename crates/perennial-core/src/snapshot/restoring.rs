//! A restore: the files of a snapshot are put back, and while that goes on, no session starts in that work tree.
//!
//! Pure. It is recorded before it begins and when it has ended. A daemon that was killed in between is followed by one
//! that begins it again.
//!
//! Invariants
//! - SR1  From its beginning to its end, no session starts in that work tree, of whichever agent, and no other restore
//!   begins there.
//! - SR2  A restore ends, whatever becomes of its files. The number of a restore is a fence: a report about another one
//!   ends nothing.

use serde::{Deserialize, Serialize};

use super::{RestoreBegun, RestoreEnded, RestoreOutcome, RestoreRun, SnapshotCause, SnapshotEvent};
use super::{SnapshotFiles, SnapshotTaken};
use crate::agent::Agent;
use crate::effect::{Effect, Plan, RestoreEffect, SnapshotEffect};
use crate::event::AgentEvent;
use crate::keeping;
use crate::reason::{Evidence, Finding, Verb, Witness};
use crate::time::Time;

/// A restore that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restoring {
    pub restore: u32,
    pub number: u32,
    /// The snapshot of what was there before.
    pub present: u32,
    pub with_index: bool,
    pub work_tree: String,
}

/// Whether a directory is in a work tree, by their paths.
pub fn is_in(dir: &str, work_tree: &str) -> bool {
    let below = dir.strip_prefix(work_tree.strip_suffix('/').unwrap_or(work_tree));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A restore has ended. What was in the tree when it was carried out, if that was not the snapshot of the present any
/// more, is a snapshot of its own.
pub fn observe(
    agent: &Agent,
    restore: u32,
    found: Option<&SnapshotFiles>,
    outcome: &RestoreOutcome,
    now: Time,
) -> Vec<AgentEvent> {
    let running = agent.snapshot_record.restoring.as_ref().filter(|it| it.restore == restore);
    let Some(running) = running else { return Vec::new() };
    let fact = Finding::Asked(Verb::Snapshot);
    let evidence = Evidence { witness: Witness::Daemon, fact, at: now };
    let taken = found.filter(|files| !keeping::is_newest(agent, files)).map(|files| {
        let (number, why, files) =
            (agent.snapshots + 1, SnapshotCause::BeforeRestore, files.clone());
        SnapshotTaken { number, why, wish: None, files, evidence }
    });
    let present = taken.as_ref().map_or(running.present, |taken| taken.number);
    let (number, outcome) = (running.number, outcome.clone());
    let ended = RestoreEnded { restore, number, present, outcome };
    let events = taken.map(SnapshotEvent::Taken).into_iter();
    events.chain([SnapshotEvent::RestoreEnded(ended)]).map(of).collect()
}

/// A restore that goes on comes to nothing.
pub fn given_up(agent: &Agent, why: &str) -> Option<AgentEvent> {
    let running = agent.snapshot_record.restoring.as_ref()?;
    let outcome = RestoreOutcome { failed: Some(why.to_owned()), ..RestoreOutcome::default() };
    let (restore, number, present) = (running.restore, running.number, running.present);
    Some(of(SnapshotEvent::RestoreEnded(RestoreEnded { restore, number, present, outcome })))
}

fn of(event: SnapshotEvent) -> AgentEvent {
    AgentEvent::Snapshot(Box::new(event))
}

/// Adds the restore that is to be carried out. One of a snapshot that is not there ends with that word.
pub fn plan(agent: &Agent, plan: &mut Plan) {
    let record = &agent.snapshot_record;
    let Some(running) = record.restoring.as_ref().filter(|_| !agent.is_damaged()) else { return };
    let effect = RestoreEffect {
        agent: agent.id,
        restore: running.restore,
        snapshot: record.kept.stored(running.number),
        with_index: running.with_index,
        work_tree: running.work_tree.clone(),
    };
    plan.effects.push(Effect::Snapshot(SnapshotEffect::Restore(effect)));
}

/// Folds the beginning. Those of earlier versions had ended when anybody could ask.
pub fn begun(agent: &mut Agent, event: &RestoreBegun) {
    let RestoreBegun { number, present, with_index, run, .. } = event;
    let Some(RestoreRun { restore, work_tree }) = run else { return };
    let record = &mut agent.snapshot_record;
    record.restores = record.restores.max(*restore);
    record.restoring = Some(Box::new(Restoring {
        restore: *restore,
        number: *number,
        present: *present,
        with_index: *with_index,
        work_tree: work_tree.clone(),
    }));
}

/// Folds the end.
pub fn ended(agent: &mut Agent, restore: u32) {
    let running = agent.snapshot_record.restoring.take();
    agent.snapshot_record.restoring = running.filter(|running| running.restore != restore);
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn paths_are_compared_by_their_parts() {
        for (dir, tree, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b/c", "/a/b", true),
            ("/a/bc", "/a/b", false),
            ("/a", "/a/b", false),
            ("/a", "/", true),
        ] {
            assert_eq!(is_in(dir, tree), expected, "{dir} {tree}");
        }
    }
}
