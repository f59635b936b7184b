//! Rows derived from events and observations: snapshots, samples, the roster.
//!
//! None of them is the truth: each can be dropped and made again, and none is read to decide.

use perennial_core::event::Stream;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::time::Time;

use crate::journal::{Seq, Version};

/// The state of one stream's entity after `version` events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub stream: Stream,
    pub version: Version,
    /// Names the form of `state`; another program's form is not read.
    pub form: String,
    /// JSON.
    pub state: String,
}

/// The latest values of one agent that are not worth an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub agent: AgentId,
    /// The last confirmation by kernel, holder or lead.
    pub last_seen: Option<Time>,
    /// The last sign of work.
    pub last_activity: Option<Time>,
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
