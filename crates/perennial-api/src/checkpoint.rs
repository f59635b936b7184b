//! Checkpoints as clients see them: where an agent's work stood at a moment.
//!
//! What the agent said (`said`) and what Perennial found (`found`, `git`) are told apart.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;
use crate::work::{Findings, PhaseSpan};

/// One of `GET /v1/agents/{target}/checkpoints`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Checkpoint {
    /// From 1, for each agent.
    pub number: u32,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// `agent`, `operator`, `phase`, `commit`, `planned-end`, `crash`, `finished`, `handoff` or
    /// `before-compaction`.
    pub why: String,
    pub session: u32,
    pub phase: String,
    /// Where the work stood, on one line; nothing for those who may not see it.
    pub summary: Option<String>,
    /// The snapshot of its work tree that belongs to it.
    pub snapshot: Option<u32>,
}

/// `GET /v1/agents/{target}/checkpoint`, and what `POST /v1/agents/{target}/checkpoints` answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CheckpointCard {
    pub checkpoint: Checkpoint,
    /// The phases so far, oldest first.
    pub phases: Vec<PhaseSpan>,
    pub said: Said,
    /// What the operator wrote beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the steps of its session show.
    pub found: Findings,
    /// Nothing where its directory is in no git work tree.
    pub git: Option<GitState>,
    pub situation: Option<String>,
    pub task: Option<TaskMark>,
    pub conversation: Option<ConversationMark>,
    /// How to go on, in Perennial's words.
    pub resumption_instructions: String,
    /// The content can't be read: only `checkpoint` is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unreadable: bool,
}

/// The agent's own words, kept until it says something else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Said {
    pub summary: Option<String>,
    pub decisions: Vec<KeyDecision>,
    pub knowledge: Vec<String>,
    pub questions: Vec<String>,
    pub instructions: Option<String>,
    /// When it said so last.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Option<Moment>,
}

/// What was decided, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KeyDecision {
    pub what: String,
    pub why: Option<String>,
}

/// A decision as it is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub what: String,
    #[serde(default)]
    pub why: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GitState {
    pub branch: Option<String>,
    pub head: Option<String>,
    /// Files that differ from HEAD, untracked ones too; the first hundred.
    pub changed: Vec<crate::snapshot::FileChange>,
    pub changed_count: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskMark {
    pub id: String,
    pub title: String,
    /// The first step that was not done, counted from 1.
    pub open_step: Option<u64>,
    pub open_step_text: Option<String>,
    pub steps: u64,
}

/// How far the conversation had been read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ConversationMark {
    pub id: String,
    pub bytes: u64,
    pub steps: u64,
}

/// `POST /v1/agents/{target}/checkpoints`, and the arguments of the tool `checkpoint`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "CheckpointRequest"))]
#[serde(default, deny_unknown_fields)]
pub struct TakeCheckpoint {
    pub phase: Option<crate::request::WorkPhase>,
    /// Where the work stands; at most 2000 bytes. Of a person: a note.
    pub summary: Option<String>,
    /// With reasons. Lists have at most 10 entries of 300 bytes each, and replace your last ones.
    pub decisions: Option<Vec<Decision>>,
    /// What whoever goes on has to know.
    pub knowledge: Option<Vec<String>>,
    /// What is open.
    pub questions: Option<Vec<String>>,
    /// How to go on; at most 2000 bytes.
    pub instructions: Option<String>,
}
