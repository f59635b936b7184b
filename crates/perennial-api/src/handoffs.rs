//! How well work passes from one session of an agent to the next, on the wire.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// `GET /v1/handoffs`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Handoffs {
    /// Summed over the sessions of each role's holders; without a role last.
    pub roles: Vec<RoleHandoffs>,
    /// Each session that took work over from the one before; by agent, oldest first.
    pub sessions: Vec<Handoff>,
    /// Agents whose conversations could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// What a session found out again before its first change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Handoff {
    pub agent: String,
    pub agent_id: String,
    pub role: Option<String>,
    pub session: u32,
    /// After what it began: `crash`, `handoff`, `restart`, …
    pub after: String,
    /// It has a conversation of its own: the one before was not resumed.
    pub is_fresh: bool,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    pub files_read_again: u64,
    pub commands_run_again: u64,
    /// Calls, words and thoughts of the model until its first change.
    pub steps: u64,
    /// Tokens until then, those of a cache aside.
    pub tokens: u64,
    /// It has changed something; without that, all that it did is counted.
    pub has_changed: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RoleHandoffs {
    pub role: Option<String>,
    pub sessions: u64,
    /// Those that have changed something.
    pub changed: u64,
    pub files_read_again: u64,
    pub commands_run_again: u64,
    pub steps: u64,
    pub tokens: u64,
}
