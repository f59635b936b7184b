//! What a role asks of its holders: declared somewhere, resolved when an agent takes it. Changes nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Cycle, Verify};
use crate::restart::Restart;

/// What a role asks of its holders. A role that nobody declared has the defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoleTerms {
    pub mandate: Mandate,
    pub span: Span,
    /// The role that looks after its holders.
    pub overseer: Option<String>,
    /// The restart policy of agents that are spawned with it, unless they have one of their own.
    pub restart: Option<Restart>,
    /// A second holder is warned about.
    pub is_single: bool,
    /// How often its holders are asked for a round.
    pub every: Option<Duration>,
    /// Somebody declared it: the operator, a project, or Perennial itself.
    pub is_declared: bool,
    /// What verifies the tasks of its holders that have no check.
    pub verify: Verify,
    /// When a holder's session gives way to the next.
    pub cycle: Option<Cycle>,
    /// The share of the usable window at which a holder is handed off, in percent.
    pub handoff_at: Option<u8>,
}

/// What the holder of a role is to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Mandate {
    #[default]
    NotWritten,
    /// A file that says it.
    Path(String),
    Text(String),
}

impl Mandate {
    /// The text, or the path of the file that has it.
    pub fn written(&self) -> Option<&str> {
        match self {
            Mandate::NotWritten => None,
            Mandate::Path(it) | Mandate::Text(it) => Some(it),
        }
    }
}

/// What becomes of a holder whose work is done.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum Span {
    /// It dies with its work.
    Mortal,
    /// It waits for more.
    #[default]
    Persistent,
}

impl Span {
    pub const ALL: [Span; 2] = [Span::Mortal, Span::Persistent];

    pub fn word(self) -> &'static str {
        match self {
            Span::Mortal => "mortal",
            Span::Persistent => "persistent",
        }
    }
}
