//! How a session ended, and how that end is read.
//!
//! An end that was not seen is `Unknown` with the reason; it is never guessed.

use serde::{Deserialize, Serialize};

use crate::restart::Restart;

/// How a session's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    Code(i32),
    /// Ended by this kill signal.
    KillSignal(i32),
    Unknown(UnknownExit),
}

/// Why it is not known how a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnknownExit {
    /// Its holder was killed, and the tree was ended after it.
    HolderDied,
    MachineRestarted,
    /// Its program was never executed.
    NotStarted,
    /// The home was copied while it ran: it is the original's.
    HomeCopied,
}

/// What follows from a session's end that no verb had asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Over, as it should be.
    Finished,
    /// Should not have ended, and restarting is off.
    RestartOff,
    /// Should not have ended; a retry follows.
    Crashed,
    /// Over as it should be, and the next session follows at once.
    Again,
}

/// The exit table of the model, for an end that no verb had asked for.
pub fn read(clean: bool, restart: Restart) -> Fate {
    match (clean, restart) {
        (true, Restart::Never | Restart::OnCrash) => Fate::Finished,
        (true, Restart::Always) => Fate::Again,
        (false, Restart::Never) => Fate::RestartOff,
        (false, Restart::OnCrash | Restart::Always) => Fate::Crashed,
    }
}

impl Exit {
    /// Clean for a bare command: code 0. A harness's preset may say otherwise.
    pub fn is_clean(self) -> bool {
        match self {
            Exit::Code(code) => code == 0,
            Exit::KillSignal(_) | Exit::Unknown(_) => false,
        }
    }
}
