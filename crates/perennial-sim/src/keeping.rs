//! The simulated executor of snapshots and checkpoints: takes some time, more than it has now and then, or never answers.
//!
//! Rules
//! - X10  A start is ordered, and a running session is asked to end, only when no wish of the agent that holds it back
//!   stands, unless a record of the agent can't be read.
//! - X11  At most one wish stands, its number grows, and every wish ends.

use std::ops::Range;

use perennial_core::checkpoint::{self, CheckpointDraft, Material};
use perennial_core::effect::{Action, CheckpointEffect, KeepEffect, SessionEffect, SnapshotEffect};
use perennial_core::id::AgentId;
use perennial_core::keeping::{self, KeepOutcome, MissCause};
use perennial_core::observation::Observation;
use perennial_core::snapshot::{
    RestoreOutcome, SnapshotCause, SnapshotEvent, SnapshotFiles, SnapshotReport,
};
use perennial_engine::supervisor::Input;

use crate::daemon::Life;
use crate::judge::{Verdict, broken};
use crate::world::{Happening, World};

const SNAPSHOT_MICROS: Range<u64> = 500..300_000;
/// Longer than anybody waits for it.
const LATE_MICROS: Range<u64> = 1_500_000..9_000_000;

impl World {
    /// Carries out an order to take a snapshot.
    pub fn order_snapshot(&mut self, life: Life, effect: &KeepEffect) {
        let KeepEffect { agent, wish, why, .. } = *effect;
        let (never, late) = (self.faults.snapshot_lost_odds, self.faults.snapshot_late_odds);
        if self.random.per_mille(never) {
            return;
        }
        let micros = if self.random.per_mille(late) { LATE_MICROS } else { SNAPSHOT_MICROS };
        let outcome = match self.random.below(4) {
            0 => KeepOutcome::Missed(MissCause::Failed, "a file can't be read".to_owned()),
            _ => KeepOutcome::Taken(Box::new(self.some_files())),
        };
        let kept = Observation::Kept { agent, wish, why, outcome, checkpoint: None };
        self.soon(&micros, Happening::Reaches { life, input: Input::Observed(kept) });
    }

    /// Composes a checkpoint from the record alone.
    pub fn order_checkpoint(&mut self, life: Life, effect: CheckpointEffect) {
        let CheckpointEffect { agent, after, session, why } = effect;
        let now = self.now;
        let Some(daemon) = self.daemon_mut(life) else { return };
        let fleet = daemon.supervisor.fleet();
        let Some(known) = fleet.agent(agent) else { return };
        let material = Material { session: Some(session), ..Material::default() };
        let content = checkpoint::compose(known, fleet, material, now);
        let body = perennial_store::checkpoint::body(&content);
        let draft = Box::new(CheckpointDraft { after, content, body, files: None });
        let composed = Observation::Composed { agent, why, draft };
        self.hop(Happening::Reaches { life, input: Input::Observed(composed) });
    }

    /// Restores and removes snapshots; now and then the daemon is gone before it is told.
    pub fn care_for_snapshots(&mut self, life: Life, effect: SnapshotEffect) {
        let (agent, report) = match effect {
            SnapshotEffect::Look { .. } => return,
            SnapshotEffect::Remove(effect) => {
                let numbers = effect.snapshots.iter().map(|(number, _)| *number).collect();
                (effect.agent, SnapshotReport::Removed { numbers, bytes: 1 })
            }
            SnapshotEffect::Restore(effect) => {
                let failed = (self.random.below(4) == 0).then(|| "the disk is full".to_owned());
                let outcome = RestoreOutcome { failed, ..RestoreOutcome::default() };
                let found = (self.random.below(4) == 0).then(|| Box::new(self.some_files()));
                let restore = effect.restore;
                (effect.agent, SnapshotReport::Restored { restore, found, outcome })
            }
        };
        let told = Observation::Snapshots { agent, report };
        self.soon(&SNAPSHOT_MICROS, Happening::Reaches { life, input: Input::Observed(told) });
    }

    /// One of a few contents, so that sometimes nothing has changed.
    fn some_files(&mut self) -> SnapshotFiles {
        SnapshotFiles {
            store: "web.git".to_owned(),
            work_tree: "/".to_owned(),
            commit: format!("{:040}", self.random.below(3)),
            base: None,
            files: 1,
            bytes: 1,
            nested: 0,
            left_out: 0,
            listed: Vec::new(),
            torn: 0,
        }
    }

    /// A daemon composes the checkpoint that goes with a snapshot when it hears of that, as the real one does.
    pub fn with_checkpoint(&self, life: Life, input: Input) -> Input {
        match input {
            Input::Observed(Observation::Kept { agent, wish, why, outcome, checkpoint: None }) => {
                let checkpoint = self.draft(life, agent, (why, &outcome));
                Input::Observed(Observation::Kept { agent, wish, why, outcome, checkpoint })
            }
            other => other,
        }
    }

    fn draft(
        &self,
        life: Life,
        agent: AgentId,
        (why, outcome): (SnapshotCause, &KeepOutcome),
    ) -> Option<Box<CheckpointDraft>> {
        let fleet = self.daemon(life)?.supervisor.fleet();
        let known = fleet.agent(agent)?;
        checkpoint::cause(known, why)?;
        let snapshot = match outcome {
            KeepOutcome::Taken(files) => Some(keeping::number(known, files)),
            KeepOutcome::Missed(..) => None,
        };
        let session = Some(checkpoint::session(known));
        let material = Material { session, snapshot, ..Material::default() };
        let content = checkpoint::compose(known, fleet, material, self.now);
        let (after, body) =
            (checkpoint::number(known), perennial_store::checkpoint::body(&content));
        Some(Box::new(CheckpointDraft { after, content, body, files: None }))
    }

    /// X10: a daemon gives this order to a holder.
    pub fn check_waits(&mut self, effect: &SessionEffect) {
        let is_held_back = match effect.action {
            Action::Start(..) | Action::End(_) => true,
            Action::Hold | Action::Release => false,
        };
        if is_held_back && let Err(found) = self.judge.waits_for_no_snapshot(effect.agent) {
            self.broken(found.property, || found.what);
        }
    }
}

/// What the judge knows of an agent's wishes, from the fields of its events alone.
#[derive(Debug, Default)]
pub struct Wishes {
    last: u32,
    standing: Option<(u32, SnapshotCause)>,
}

impl Wishes {
    pub fn happened(&mut self, id: AgentId, event: &SnapshotEvent) -> Verdict {
        let ended = match event {
            SnapshotEvent::Wanted(wanted) => {
                let is_again = self.standing.is_some_and(|(wish, _)| wish == wanted.wish);
                let replaces = self.standing.is_none_or(|(_, why)| !holds_back(why));
                let is_next = wanted.wish == self.last + 1 && replaces;
                (self.last, self.standing) = (wanted.wish, Some((wanted.wish, wanted.why)));
                return match is_again || is_next {
                    true => Ok(()),
                    false => broken("X11: one wish at a time", format!("{} {wanted:?}", id.0)),
                };
            }
            SnapshotEvent::Taken(taken) => taken.wish,
            SnapshotEvent::Unchanged { wish, .. } => Some(*wish),
            SnapshotEvent::Missed(missed) => Some(missed.wish),
            SnapshotEvent::Dropped { .. }
            | SnapshotEvent::Removed { .. }
            | SnapshotEvent::RestoreBegun(_)
            | SnapshotEvent::RestoreEnded(_) => None,
        };
        self.standing = self.standing.filter(|(wish, _)| ended != Some(*wish));
        Ok(())
    }

    pub fn holds_back(&self) -> bool {
        self.standing.is_some_and(|(_, why)| holds_back(why))
    }

    pub fn is_standing(&self) -> bool {
        self.standing.is_some()
    }
}

/// By the model: before a planned end, and after an end that nobody planned.
fn holds_back(why: SnapshotCause) -> bool {
    use SnapshotCause::{Crash, PlannedEnd, Reboot};
    matches!(why, PlannedEnd | Crash | Reboot)
}
