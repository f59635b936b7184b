//! Escalations as clients see them: matters that somebody has to look at.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// `POST /v1/escalations`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Escalate {
    /// `role:NAME`, `parent` or `operator`.
    pub to: String,
    pub severity: Severity,
    /// One line of at most 150 bytes.
    pub subject: String,
    /// At most 64 KiB.
    pub text: String,
}

/// Our own words stand before the subject in the mail's.
pub const SUBJECT_LIMIT: usize = 150;

// How long it may stay unseen follows from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Low,
    #[default]
    Medium,
    High,
    Critical,
}

/// `GET /v1/escalations` lists these, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Escalation {
    pub id: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// An agent's name, or `operator`.
    pub from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_id: Option<String>,
    pub severity: String,
    /// `asked`, or the rule that it follows from.
    pub cause: String,
    pub subject: String,
    /// The beginning of the text, on one line.
    pub head: String,
    /// `open`, `seen` or `withdrawn`.
    pub state: String,
    /// Who was told, from the first to the last: an agent's name, `role:NAME` or `operator`.
    pub steps: Vec<String>,
    /// When it is raised unless somebody sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised_at: Option<Moment>,
    /// The mail of its last step.
    pub mail: String,
}
