//! Reports from the world: facts, not wishes.
//!
//! A report about another session number than the agent's newest says nothing.

use std::time::Duration;

use crate::exit::{Exit, UnknownExit};
use crate::id::{AgentId, BootId, SessionNumber};
use crate::session::Process;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    Session {
        agent: AgentId,
        number: SessionNumber,
        report: Report,
    },
    /// A time that `plan` named has come for this agent.
    Due {
        agent: AgentId,
    },
    /// The daemon began to run.
    Started {
        boot: BootId,
        version: String,
    },
    /// The daemon is about to end in an orderly way.
    Stopping,
    /// The wall clock moved ahead by this much while nobody could see the world (sleep, suspend).
    ClockJumped {
        by: Duration,
    },
}

/// What the host says of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Its program was executed.
    Executed(Process),
    /// It could not be started; it never ran.
    NotStarted(String),
    /// Its main process ended. For a session asked to end: its whole tree is gone.
    Exited(Exit),
}

impl Report {
    pub fn exit(&self) -> Option<Exit> {
        match self {
            Report::Executed(_) => None,
            Report::NotStarted(_) => Some(Exit::Unknown(UnknownExit::NotStarted)),
            Report::Exited(exit) => Some(*exit),
        }
    }
}
