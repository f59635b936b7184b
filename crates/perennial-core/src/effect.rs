//! Everything that may leave the machine: one closed list, carried out after the commit.
//!
//! Each effect names its agent and session number: the number is the fence, and (agent, effect)
//! is what the interpreter keeps in flight.

use crate::conversation::Opening;
use crate::id::{AgentId, SessionNumber};
use crate::launch::Launch;
use crate::session::Pace;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Start the session, at most once ever: in the agent's holder if one lives, else in a new one.
    Start(Box<Launch>, Opening),
    /// Stay connected to the holder of a running session and watch its process.
    Hold,
    /// End the session and its whole tree.
    End(Pace),
    /// Let a holder go whose session is over.
    Release,
}

/// What to do so that the world matches the journal, and when to look again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub effects: Vec<Effect>,
    pub wake_at: Option<Time>,
}
