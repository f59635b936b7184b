//! Where an agent's work stands, and what was found of it, on the wire.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// The phase of an agent's work; in `show`, `why` and for the agent itself also what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Work {
    /// `investigation`, `planning`, `implementation`, `testing` or `completion`.
    pub phase: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub since: Moment,
    /// `begun`, `reported` by the agent, or `found`.
    pub source: String,
    /// What a phase that was found was found by, such as `file-edited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indicator: Option<String>,
    /// The same as a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indicator_text: Option<String>,
    /// The phases so far, oldest first, the present one last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseSpan>,
    /// What the steps of the newest session show, for those who may read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Findings>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PhaseSpan {
    pub phase: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub entered_at: Moment,
    /// The present phase has not been left.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub left_at: Option<Moment>,
}

/// What the steps of a session show of its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Findings {
    pub session: u32,
    /// Files that its tools have edited, the last one last; the last hundred.
    pub edited: Vec<String>,
    pub tests: Option<TestRun>,
    /// When it last made a commit.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub committed_at: Option<Moment>,
    pub last_words: Option<String>,
    pub last_call: Option<LastCall>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TestRun {
    pub command: String,
    /// `passing`, `failing`, `unfinished` or `unclear`.
    pub outcome: String,
    /// The first test that failed, where the output names it.
    pub failing: Option<String>,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LastCall {
    pub tool: String,
    /// A path or a command.
    pub about: String,
    /// It has not answered.
    pub is_open: bool,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
}
