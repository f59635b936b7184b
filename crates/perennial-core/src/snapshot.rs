//! Snapshots of an agent's work tree, as the journal knows them: which there are, and which were restored.
//!
//! Pure. The files themselves are in stores of the shell; an event names them by commit. A snapshot is recorded once
//! it is durable, a restore before it begins.
//!
//! Invariants
//! - SH1  The snapshots of an agent are numbered from 1, without gaps, in the order of their events. A number is
//!   never given twice, whatever becomes of the files.
//! - SH2  No restore begins while a session is alive in that work tree, of whichever agent.

mod dropping;
mod kept;
mod restoring;
mod unrecorded;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::authority::Caller;
use crate::effect::Plan;
use crate::entity::Entity;
use crate::event::{AgentEvent, Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::AgentId;
use crate::keeping::{self, MissCause};
use crate::reason::{Evidence, Finding, Verb, Witness};
use crate::refusal::Refusal;
use crate::state::Roster;
use crate::time::Time;

pub use dropping::{SnapshotTerms, due_at, follow};
pub use kept::{CommitId, KeptSnapshots, SnapshotHead, SnapshotPlace, StoredSnapshot};
pub use restoring::{Restoring, given_up, is_in};
pub use unrecorded::{DaemonBefore, left_by, left_since};

/// Paths that were left out are recorded up to this many; all of them are counted.
pub const MOST_LISTED: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotEvent {
    /// One is to be taken; told again by a daemon that takes a wish over.
    Wanted(SnapshotWanted),
    Taken(SnapshotTaken),
    /// Nothing has changed since this one, which serves: a wish, or, with the number 0, whoever asked. From then on it counts
    /// as asked for (SD2).
    Unchanged {
        wish: u32,
        why: SnapshotCause,
        number: u32,
    },
    /// A wish came to nothing; what waited for it goes on.
    Missed(SnapshotMissed),
    /// These are not kept any longer, and are about to be removed.
    Dropped {
        numbers: Vec<u32>,
        why: DropCause,
    },
    /// The files of dropped ones are gone.
    Removed {
        numbers: Vec<u32>,
        /// What their repositories shrank by.
        bytes: u64,
    },
    RestoreBegun(RestoreBegun),
    RestoreEnded(RestoreEnded),
}

/// Files of a snapshot are about to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreBegun {
    pub number: u32,
    /// The snapshot of what was there before.
    pub present: u32,
    pub with_index: bool,
    /// Nothing in records of earlier versions: their end is not recorded.
    pub run: Option<RestoreRun>,
    pub evidence: Evidence,
}

/// Which restore of the agent it is, counted from 1, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRun {
    pub restore: u32,
    pub work_tree: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreEnded {
    pub restore: u32,
    pub number: u32,
    /// The snapshot of what was there before.
    pub present: u32,
    pub outcome: RestoreOutcome,
}

/// What a restore did, and what it did not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreOutcome {
    pub written: u64,
    pub removed: u64,
    /// Work trees whose index was put back.
    pub indexes: u32,
    /// Why it stopped before its end.
    pub failed: Option<String>,
    /// How many files were neither written nor removed that should have been: what it had not come to, and what the
    /// snapshot has lost …
    pub left: u64,
    /// … and the first of them.
    pub listed: Vec<String>,
    /// How many files were left because somebody changed them while it went on …
    pub changed: u64,
    /// … and the first of them.
    pub changed_listed: Vec<String>,
}

/// Why snapshots are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DropCause {
    /// There were more than are kept.
    Number,
    Age,
}

impl DropCause {
    pub fn word(self) -> &'static str {
        match self {
            DropCause::Number => "number",
            DropCause::Age => "age",
        }
    }
}

/// A wish that a snapshot is taken (`keeping`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotWanted {
    pub wish: u32,
    pub why: SnapshotCause,
    /// A directory in the work tree.
    pub dir: String,
    pub until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotMissed {
    pub wish: u32,
    pub why: SnapshotCause,
    pub cause: MissCause,
    /// What could not be read or written, in words; may be empty.
    pub told: String,
}

/// A snapshot that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotTaken {
    pub number: u32,
    pub why: SnapshotCause,
    /// The wish that it answers.
    pub wish: Option<u32>,
    pub files: SnapshotFiles,
    pub evidence: Evidence,
}

/// Where a snapshot is, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFiles {
    /// The repository that holds it, by its name in the state directory.
    pub store: String,
    pub work_tree: String,
    pub commit: String,
    /// The owner's commit that it builds on; without one, all of it was copied.
    pub base: Option<String>,
    pub files: u64,
    /// What the store grew by.
    pub bytes: u64,
    /// Repositories in the work tree.
    pub nested: u32,
    pub left_out: u32,
    /// The first of them: path and why.
    pub listed: Vec<(String, String)>,
    /// Files that changed while they were read.
    pub torn: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SnapshotCause {
    /// By a verb.
    Asked,
    /// A restore replaces what is in it.
    BeforeRestore,
    /// A session is about to be ended.
    PlannedEnd,
    /// A session ended unasked, and the next one may change what it left.
    Crash,
    /// The machine restarted under a session.
    Reboot,
    PhaseChange,
    /// The agent committed.
    Commit,
    Checkpoint,
}

impl SnapshotCause {
    pub fn word(self) -> &'static str {
        match self {
            SnapshotCause::Asked => "asked",
            SnapshotCause::BeforeRestore => "before-restore",
            SnapshotCause::PlannedEnd => "planned-end",
            SnapshotCause::Crash => "crash",
            SnapshotCause::Reboot => "reboot",
            SnapshotCause::PhaseChange => "phase-change",
            SnapshotCause::Commit => "commit",
            SnapshotCause::Checkpoint => "checkpoint",
        }
    }
}

/// The event of a snapshot that was taken, whoever had it taken.
pub fn taken(
    agent: &Agent,
    why: SnapshotCause,
    files: SnapshotFiles,
    evidence: Evidence,
) -> AgentEvent {
    let number = agent.snapshots + 1;
    AgentEvent::Snapshot(Box::new(SnapshotEvent::Taken(SnapshotTaken {
        number,
        why,
        wish: None,
        files,
        evidence,
    })))
}

/// What a caller wants recorded of the snapshots of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOrder {
    pub target: String,
    pub what: SnapshotAsked,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotAsked {
    /// A snapshot is durable. It may be one that is recorded.
    Taken(SnapshotCause, SnapshotFiles),
    /// Files of a snapshot are to be put back.
    Restore {
        number: u32,
        present: u32,
        with_index: bool,
        work_tree: String,
        /// The agents whose directory is in that work tree.
        in_tree: Vec<AgentId>,
    },
}

pub fn decide(
    fleet: &Fleet,
    caller: Caller,
    order: &SnapshotOrder,
    now: Time,
) -> Result<Decision, Refusal> {
    let agent = in_use(fleet, caller, &order.target)?;
    let evidence = asked(caller.witness(Verb::Snapshot)?, now);
    let about = vec![Entity::Agent(agent.id)];
    let (event, read) = match &order.what {
        SnapshotAsked::Taken(why, files) => {
            let event = match agent.snapshot_record.kept.find(&files.store, &files.commit) {
                Some(known) if known.why.is_asked() => {
                    return Ok(Decision { about, ..Decision::default() });
                }
                Some(known) => {
                    let (wish, why, number) = (0, *why, known.number);
                    let unchanged = SnapshotEvent::Unchanged { wish, why, number };
                    AgentEvent::Snapshot(Box::new(unchanged))
                }
                None => taken(agent, *why, files.clone(), evidence),
            };
            (event, Vec::new())
        }
        SnapshotAsked::Restore { number, present, with_index, work_tree, in_tree } => {
            tree_is_free(fleet, work_tree, in_tree)?;
            is_kept(agent, *number)?;
            let (number, present, with_index) = (*number, *present, *with_index);
            let (restore, work_tree) = (agent.snapshot_record.restores + 1, work_tree.clone());
            let run = Some(RestoreRun { restore, work_tree });
            let begun = RestoreBegun { number, present, with_index, run, evidence };
            let begun = SnapshotEvent::RestoreBegun(begun);
            let read = in_tree.iter().copied().map(Entity::Agent).collect();
            (AgentEvent::Snapshot(Box::new(begun)), read)
        }
    };
    let events = vec![Event { at: now, what: What::Agent(agent.id, event) }];
    Ok(Decision { about, events, read, ..Decision::default() })
}

/// SH2, SR1
pub fn tree_is_free(fleet: &Fleet, work_tree: &str, in_tree: &[AgentId]) -> Result<(), Refusal> {
    if let Some(agent) = fleet.restore_in(work_tree) {
        return Err(Refusal::RestoreInTree { agent });
    }
    let mut agents = in_tree.iter().filter_map(|id| fleet.agent(*id));
    match agents.find(|other| other.live_session().is_some()) {
        Some(other) => Err(Refusal::SessionInTree { agent: other.id }),
        None => Ok(()),
    }
}

/// One that was dropped can't be restored, even while its files are there.
fn is_kept(agent: &Agent, number: u32) -> Result<(), Refusal> {
    match agent.snapshot_record.kept.get(number) {
        Some(_) => Ok(()),
        None => Err(Refusal::SnapshotDropped { agent: agent.id, number }),
    }
}

/// An agent whose work tree a caller may have kept or restored. The dead have none any more.
pub fn in_use<'a>(fleet: &'a Fleet, caller: Caller, target: &str) -> Result<&'a Agent, Refusal> {
    let agent = fleet.find(target)?;
    fleet.authorise(caller, Verb::Snapshot, Some(agent.id))?;
    match agent.state.roster() == Roster::Cemetery {
        true => {
            let (agent, state) = (agent.id, agent.state);
            Err(Refusal::WrongState { agent, verb: Verb::Snapshot, state })
        }
        false => Ok(agent),
    }
}

fn asked(witness: Witness, at: Time) -> Evidence {
    Evidence { witness, fact: Finding::Asked(Verb::Snapshot), at }
}

/// What is dropped because it is old.
pub fn due(agent: &Agent, terms: SnapshotTerms, now: Time) -> Option<AgentEvent> {
    dropping::beyond_age(agent, terms, now)
}

/// What was done for the snapshots of an agent, of what was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotReport {
    /// These were removed, and their repositories shrank by so much.
    Removed { numbers: Vec<u32>, bytes: u64 },
    /// A restore has ended; `found` is what was in the tree when it was carried out.
    Restored { restore: u32, found: Option<Box<SnapshotFiles>>, outcome: RestoreOutcome },
}

pub fn observe(agent: &Agent, report: &SnapshotReport, now: Time) -> Vec<AgentEvent> {
    match report {
        SnapshotReport::Removed { numbers, bytes } => {
            dropping::observe(agent, numbers, *bytes).into_iter().collect()
        }
        SnapshotReport::Restored { restore, found, outcome } => {
            restoring::observe(agent, *restore, found.as_deref(), outcome, now)
        }
    }
}

/// Adds what is to be done for the snapshots of an agent that there are.
pub fn plan(agent: &Agent, plan: &mut Plan) {
    dropping::plan(agent, plan);
    restoring::plan(agent, plan);
}

/// Folds an event: which snapshots there are, whether one is wanted, and whether one is restored.
pub fn evolve(agent: &mut Agent, event: &SnapshotEvent, at: Time) {
    match event {
        SnapshotEvent::Wanted(wanted) => keeping::wanted(agent, wanted),
        SnapshotEvent::Taken(taken) => {
            keeping::was_taken(agent, taken);
            agent.snapshot_record.kept.taken(taken, at);
        }
        SnapshotEvent::Unchanged { wish, why, number } => {
            keeping::was_unchanged(agent, *wish);
            agent.snapshot_record.kept.served(*number, *why);
        }
        SnapshotEvent::Missed(missed) => keeping::was_missed(agent, missed),
        SnapshotEvent::Dropped { numbers, .. } => agent.snapshot_record.kept.dropped(numbers),
        SnapshotEvent::Removed { numbers, .. } => agent.snapshot_record.kept.removed(numbers),
        SnapshotEvent::RestoreBegun(begun) => restoring::begun(agent, begun),
        SnapshotEvent::RestoreEnded(ended) => restoring::ended(agent, ended.restore),
    }
}
