//! Where an agent's work stands, in the five words of the model, and what that is known by.
//!
//! Pure. Nothing here moves an agent or ends a session: a phase is shown, kept and told, and that is all.

mod findings;
mod indicator;
mod rules;
mod state;
mod tool_names;

use serde::{Deserialize, Serialize};

use crate::time::Time;

pub use findings::{
    ChangeKind, FileChange, Findings, GitFindings, LINE_BYTES_MAX, LastCall, PATHS_MAX,
    TestOutcome, TestRun, WORDS_BYTES_MAX,
};
pub use indicator::Indicator;
pub use rules::{PhaseRules, RuleBook, RuleChanges, WORDS_MAX};
pub use state::{HISTORY_MAX, PhaseSource, WorkEvent, WorkState, evolve, found, reported};
pub use tool_names::ToolDoes;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WorkPhase {
    Investigation,
    Planning,
    Implementation,
    Testing,
    Completion,
}

impl WorkPhase {
    pub const ALL: [WorkPhase; 5] = [
        WorkPhase::Investigation,
        WorkPhase::Planning,
        WorkPhase::Implementation,
        WorkPhase::Testing,
        WorkPhase::Completion,
    ];

    pub fn word(self) -> &'static str {
        match self {
            WorkPhase::Investigation => "investigation",
            WorkPhase::Planning => "planning",
            WorkPhase::Implementation => "implementation",
            WorkPhase::Testing => "testing",
            WorkPhase::Completion => "completion",
        }
    }
}

/// How long the work was in one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpan {
    pub phase: WorkPhase,
    pub entered_at: Time,
    /// The phase that it is in now has not been left.
    pub left_at: Option<Time>,
}
