//! What verifies the tasks of a role's holders.

use serde::{Deserialize, Serialize};

/// By what a holder's task counts as done, if the task has no check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum Verify {
    /// The word of its parent or of the operator.
    #[default]
    Word,
    /// Its own word.
    Trust,
}

impl Verify {
    pub const ALL: [Verify; 2] = [Verify::Word, Verify::Trust];

    pub fn word(self) -> &'static str {
        match self {
            Verify::Word => "word",
            Verify::Trust => "trust",
        }
    }
}
