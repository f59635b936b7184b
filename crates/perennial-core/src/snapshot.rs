//! Snapshots of an agent's work tree, as the journal knows them: which there are, and which were restored.
//!
//! Pure. The files themselves are in stores of the shell; an event names them by commit. A snapshot is recorded once
//! it is durable, a restore before it begins.
//!
//! Invariants
//! - SH1  The snapshots of an agent are numbered from 1, without gaps, in the order of their events. A number is
//!   never given twice, whatever becomes of the files.
//! - SH2  No restore begins while a session is alive in that work tree, of whichever agent.

use crate::agent::Agent;
use crate::authority::Caller;
use crate::entity::Entity;
use crate::event::{AgentEvent, Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::AgentId;
use crate::reason::{Evidence, Finding, Verb, Witness};
use crate::refusal::Refusal;
use crate::state::Roster;
use crate::time::Time;

/// Paths that were left out are recorded up to this many; all of them are counted.
pub const MOST_LISTED: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotEvent {
    Taken(SnapshotTaken),
    /// Files of a snapshot are about to be put back.
    RestoreBegun {
        number: u32,
        /// The snapshot of what was there before.
        present: u32,
        with_index: bool,
        evidence: Evidence,
    },
}

/// A snapshot that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotTaken {
    pub number: u32,
    pub why: SnapshotCause,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotCause {
    /// By a verb.
    Asked,
    /// A restore replaces what is in it.
    BeforeRestore,
}

impl SnapshotCause {
    pub fn word(self) -> &'static str {
        match self {
            SnapshotCause::Asked => "asked",
            SnapshotCause::BeforeRestore => "before-restore",
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
    /// A snapshot is durable.
    Taken(SnapshotCause, SnapshotFiles),
    /// Files of a snapshot are to be put back.
    Restore {
        number: u32,
        present: u32,
        with_index: bool,
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
    let (event, read) = match &order.what {
        SnapshotAsked::Taken(why, files) => {
            (taken(agent, *why, files.clone(), evidence), Vec::new())
        }
        SnapshotAsked::Restore { number, present, with_index, in_tree } => {
            session_in_tree(fleet, in_tree)?;
            let (number, present, with_index) = (*number, *present, *with_index);
            let begun = SnapshotEvent::RestoreBegun { number, present, with_index, evidence };
            let read = in_tree.iter().copied().map(Entity::Agent).collect();
            (AgentEvent::Snapshot(Box::new(begun)), read)
        }
    };
    let events = vec![Event { at: now, what: What::Agent(agent.id, event) }];
    let about = vec![Entity::Agent(agent.id)];
    Ok(Decision { about, events, read, ..Decision::default() })
}

/// SH2
pub fn session_in_tree(fleet: &Fleet, in_tree: &[AgentId]) -> Result<(), Refusal> {
    let mut agents = in_tree.iter().filter_map(|id| fleet.agent(*id));
    match agents.find(|other| other.live_session().is_some()) {
        Some(other) => Err(Refusal::SessionInTree { agent: other.id }),
        None => Ok(()),
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

/// Folds an event: how many snapshots there were so far.
pub fn evolve(agent: &mut Agent, event: &SnapshotEvent) {
    match event {
        SnapshotEvent::Taken(taken) => agent.snapshots = taken.number,
        SnapshotEvent::RestoreBegun { .. } => {}
    }
}
