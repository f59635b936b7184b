//! Rows derived from events and observations: snapshots, samples, the roster.
//!
//! None of them is the truth: each can be dropped and made again, and none is read to decide.

use perennial_core::context;
use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::time::Time;

use crate::journal::{Seq, Version};

/// The state of one stream's entity after `version` events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub stream: Entity,
    pub version: Version,
    /// Names the form of `state`; another program's form is not read.
    pub form: String,
    /// JSON.
    pub state: String,
}

/// The latest values of one agent that are not worth an event. A row replaces the one before whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub agent: AgentId,
    /// The last confirmation by kernel, holder or lead.
    pub last_seen: Option<Time>,
    /// The last sign of work.
    pub last_activity: Option<Time>,
    pub context: Option<Context>,
    pub usage: Option<Usage>,
    /// In millionths of a dollar; nothing where a price is not known.
    pub cost_microusd: Option<u64>,
}

impl Sample {
    /// Of an agent of which nothing was measured.
    pub fn of(agent: AgentId) -> Sample {
        Sample {
            agent,
            last_seen: None,
            last_activity: None,
            context: None,
            usage: None,
            cost_microusd: None,
        }
    }
}

/// How full a context window was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    pub sample: context::Sample,
    /// When that was measured.
    pub at: Time,
}

/// The tokens that all sessions of an agent used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_creation: u64,
    /// Something could not be read: the figures are a lower bound.
    pub is_partial: bool,
}

/// One agent in the roster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterRow {
    pub agent: AgentId,
    pub name: Option<String>,
    pub role: Option<String>,
    pub parent: Option<AgentId>,
    pub project: String,
    /// Its roster follows from it.
    pub state: State,
    pub reason: Reason,
    pub since: Time,
    pub session: Option<SessionNumber>,
    /// The record that this row follows from.
    pub updated_seq: Seq,
}
