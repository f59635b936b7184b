//! What `clean` asks and answers: what a dead agent left, and what becomes of it.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;
use crate::answer::PrunedRecording;

/// `POST /v1/agents/{target}/clean`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "CleanRequest"))]
pub struct Clean {
    /// Remove nothing, and answer what would be removed.
    pub dry_run: bool,
}

/// What was removed of an agent, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cleaned {
    /// Nothing was removed.
    pub is_dry_run: bool,
    /// The agent's id.
    pub id: String,
    /// The word that means it: its name, or `NAME~1` if another one has that by now.
    pub target: String,
    /// By the numbers of their sessions.
    pub recordings: Vec<PrunedRecording>,
    pub conversations: Vec<ConversationCopy>,
    /// Our copies of conversations that stay.
    pub kept: Vec<KeptCopy>,
    /// Of what goes, all together.
    pub bytes: u64,
}

/// Our copy of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ConversationCopy {
    pub conversation: String,
    pub bytes: u64,
    /// It could not be removed; the daemon's log says why.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_left: bool,
}

/// A copy that stays, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KeptCopy {
    pub conversation: String,
    pub bytes: u64,
    /// `resumption`: an agent outside the cemetery may resume it; `record`: it is part of the record of another agent
    /// that was not cleaned; `uncertainty`: the record of an agent can't be read, so nobody knows what it may resume;
    /// `damage`: records of the journal can't be read that may say who needs it.
    pub why: String,
    /// The agent that it is kept for: its name, or its id if it has no name.
    pub agent: Option<String>,
}

/// When an agent was cleaned, and what went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CleanedAgent {
    /// The last time.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// Sessions whose recordings were removed by `clean` or `prune` since its death.
    pub recordings: u64,
    /// Conversations of which our copies were removed.
    pub conversations: u64,
    pub bytes: u64,
}
