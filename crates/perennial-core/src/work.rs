//! Where an agent's work stands, in the five words of the model.

use serde::{Deserialize, Serialize};

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
