//! How an agent's sessions are started: argv as a list, a directory, the names of its variables.
//!
//! Values of variables are never here: they are kept apart by the shell, readable by the owner only.

use serde::{Deserialize, Serialize};

use crate::name::Name;

/// What every session of an agent is started from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The agent CLI that runs, by its preset's name; `command` for a bare command.
    pub harness: String,
    /// What holds the session's process.
    pub host: Host,
    /// Program and arguments; the program is an absolute path or found in the agent's PATH.
    pub argv: Vec<String>,
    /// Where it runs, absolute.
    pub dir: String,
    /// Names of the variables its owner set for it, sorted.
    pub env_names: Vec<String>,
    /// The git common directory of `dir`, else `dir` itself.
    pub project: String,
    pub options: Options,
}

/// What an agent CLI is started with, beside its own argv; nothing of it for a bare command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Options {
    pub model: Option<String>,
    /// What the first session is told.
    pub prompt: Option<String>,
    /// In the harness's own word, checked against its preset.
    pub permission_mode: Option<String>,
    /// The operator consents to the first-run dialogs for this directory.
    pub trust: bool,
}

/// The harness name of a bare command, which shows no signs but its process.
pub const BARE_COMMAND: &str = "command";

/// What holds a session's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// The built-in holder.
    Shim,
    /// The same holder, inside a pane of the owner's tmux.
    Tmux(TmuxPlace),
}

/// A host without its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    Shim,
    Tmux,
}

/// Where in the owner's tmux an agent's pane is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TmuxPlace {
    /// The tmux session's name.
    pub session: String,
    /// The socket of the tmux server, absolute.
    pub socket: String,
}

impl TmuxPlace {
    /// The place for an agent of this name. A name has no character that tmux reads as part of a target, and
    /// the prefix keeps it apart from the owner's own sessions.
    pub fn of(name: &Name, socket: String) -> TmuxPlace {
        TmuxPlace { session: format!("perennial-{name}"), socket }
    }
}

impl Host {
    pub fn kind(&self) -> HostKind {
        match self {
            Host::Shim => HostKind::Shim,
            Host::Tmux(_) => HostKind::Tmux,
        }
    }

    pub fn tmux(&self) -> Option<&TmuxPlace> {
        match self {
            Host::Shim => None,
            Host::Tmux(place) => Some(place),
        }
    }
}

impl Launch {
    /// Of an agent of which nothing is known: it has no program.
    pub fn unknown() -> Launch {
        Launch {
            harness: BARE_COMMAND.to_owned(),
            host: Host::Shim,
            argv: Vec::new(),
            dir: "/".to_owned(),
            env_names: Vec::new(),
            project: "/".to_owned(),
            options: Options::default(),
        }
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.is_bare() && self.argv.is_empty()
    }

    /// Whether sessions of this launch are alive as soon as their program runs, having no other sign to give.
    pub fn is_bare(&self) -> bool {
        self.harness == BARE_COMMAND
    }
}
