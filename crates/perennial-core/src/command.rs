//! A command with its caller. It may be refused; a report never is.

use crate::authority::Caller;
use crate::conversation::ConversationId;
use crate::id::{AgentId, MessageId, PostId};
use crate::launch::Launch;
use crate::name::Name;
use crate::restart::Restart;
use crate::retention::{Recordings, Terms};
use crate::settings::Settings;
use crate::text::{Fingerprint, TextBody};
use crate::work::WorkPhase;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub caller: Caller,
    pub command: Command,
}

/// An agent as a person writes it: a name, `NAME~1`, or an id.
pub type Target = String;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Spawn(Box<Spawn>),
    Stop(Target),
    StopAll,
    Wake(Target),
    /// Its session ends, and the next one follows.
    Restart(Target),
    Set(Box<Set>),
    Rename {
        target: Target,
        name: Name,
    },
    Bury {
        target: Target,
        /// What it leaves behind; without one, what it reported last.
        summary: Option<String>,
    },
    /// A text for the agent, typed into its terminal.
    Send {
        id: MessageId,
        target: Target,
        body: TextBody,
        fingerprint: Fingerprint,
        /// Not before the end of a turn.
        after_turn: bool,
    },
    /// Takes a text back that waits.
    Unsend {
        id: MessageId,
    },
    /// Removes recordings, of those that were found on this machine.
    Prune {
        found: Vec<Recordings>,
        terms: Terms,
    },
    /// A text for everybody, put on the board.
    Post {
        id: PostId,
        title: Option<String>,
        body: TextBody,
    },
    /// An agent says where its own work stands.
    Report {
        phase: Option<WorkPhase>,
        summary: Option<String>,
    },
}

impl Command {
    /// Whom it names, if anybody.
    pub fn target_mut(&mut self) -> Option<&mut Target> {
        match self {
            Command::Spawn(spawn) => spawn.parent.as_mut(),
            Command::Set(set) => Some(&mut set.target),
            Command::Stop(target)
            | Command::Wake(target)
            | Command::Restart(target)
            | Command::Rename { target, .. }
            | Command::Bury { target, .. }
            | Command::Send { target, .. } => Some(target),
            Command::StopAll
            | Command::Prune { .. }
            | Command::Unsend { .. }
            | Command::Report { .. }
            | Command::Post { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// The new agent's id, made by the shell.
    pub id: AgentId,
    /// Without one the agent gets a free name made from its program's.
    pub name: Option<Name>,
    pub role: Option<String>,
    pub parent: Option<Target>,
    pub launch: Launch,
    pub restart: Restart,
    /// A conversation that its owner has already, to go on with.
    pub conversation: Option<ConversationId>,
}

/// Changes an agent's settings, and may give it a session that has them, by one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub target: Target,
    pub settings: Settings<Target>,
    pub then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The next session has them, whenever it comes.
    Nothing,
    Wake,
    Restart,
}
