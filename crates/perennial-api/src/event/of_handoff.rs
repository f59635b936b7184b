//! What happened about the handoff of a session, as clients get it: kinds of `What` of their own.

use serde::{Deserialize, Serialize};

use super::part::Evidence;
use crate::agent::Moment;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "data")]
pub enum HandoffWhat {
    /// A rule of the agent's role asks for a handoff at the end of the turn.
    #[serde(rename = "handoff-due")]
    Due {
        number: u32,
        /// `clock`, `cycle`, `interesting` or `symptom`.
        cause: String,
        subject: String,
    },
    /// The operator was told, and nothing was done.
    #[serde(rename = "handoff-operator-told")]
    OperatorTold { number: u32, cause: String, subject: String },
    /// The agent did one unit of what its role counts.
    #[serde(rename = "handoff-unit-done")]
    UnitDone {
        /// `assignment`, `round`, `interaction` or `merge`.
        unit: String,
    },
    /// A session is asked to save its work; a successor follows.
    #[serde(rename = "handoff-asked")]
    Asked {
        number: u32,
        /// `verb`, `agent`, `clock`, `cycle`, `interesting` or `symptom`.
        cause: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
        #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
        deadline: Moment,
        /// The agent that may end the session before the deadline, by its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overseer: Option<String>,
        evidence: Evidence,
    },
    /// The session has read that.
    #[serde(rename = "handoff-told")]
    Told { number: u32 },
    /// Where its turn stands: `idle`, `runs` or `asks`.
    #[serde(rename = "handoff-turned")]
    Turned { stands: String },
    /// The wait for the session is over.
    #[serde(rename = "handoff-answered")]
    Answered {
        /// `checkpoint`, `word`, `turn-ended`, `ordered` or `deaf`.
        how: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
    },
    /// The work of the session is stored.
    #[serde(rename = "handoff-completed")]
    Completed {
        number: u32,
        checkpoint: Option<u32>,
        snapshot: Option<u32>,
        commit: Option<String>,
    },
    /// A symptom of a context window that is running out.
    #[serde(rename = "handoff-symptom")]
    Symptom {
        number: u32,
        /// `words`, `own-word`, `compaction` (announced), `compacted` (unannounced) or `thrash`.
        symptom: String,
        /// `low`, `medium` or `high`.
        urgency: String,
        /// One as urgent was told of in this context window before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_again: bool,
    },
}

impl HandoffWhat {
    pub fn kind(&self) -> &'static str {
        match self {
            HandoffWhat::Due { .. } => "handoff-due",
            HandoffWhat::OperatorTold { .. } => "handoff-operator-told",
            HandoffWhat::UnitDone { .. } => "handoff-unit-done",
            HandoffWhat::Asked { .. } => "handoff-asked",
            HandoffWhat::Told { .. } => "handoff-told",
            HandoffWhat::Turned { .. } => "handoff-turned",
            HandoffWhat::Answered { .. } => "handoff-answered",
            HandoffWhat::Completed { .. } => "handoff-completed",
            HandoffWhat::Symptom { .. } => "handoff-symptom",
        }
    }
}
