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

impl UnknownExit {
    /// Of a session that no holder has, and whose number was never claimed. It was ended before it
    /// began, if that was ordered and nobody saw a process of it; otherwise its holder took the claim
    /// with it.
    pub fn of_unclaimed(was_executed: bool, was_ended: bool) -> UnknownExit {
        match (was_executed, was_ended) {
            (false, true) => UnknownExit::NotStarted,
            (true, _) | (false, false) => UnknownExit::HolderDied,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_was_ended_before_anybody_saw_it_never_started() {
        for (was_executed, was_ended, why) in [
            (false, true, UnknownExit::NotStarted),
            (false, false, UnknownExit::HolderDied),
            (true, true, UnknownExit::HolderDied),
            (true, false, UnknownExit::HolderDied),
        ] {
            assert_eq!(UnknownExit::of_unclaimed(was_executed, was_ended), why);
        }
    }
}
