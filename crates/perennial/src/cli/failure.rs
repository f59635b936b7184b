//! How a command fails.

use std::io;

use perennial_api::{ClientError, ExitCode, Problem};

use super::commands::daemon;
use super::problems;

/// What every verb gives back.
pub type VerbResult = Result<ExitCode, Failure>;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{}", .0.title)]
    Problem(Box<Problem>),
    /// A program that was run ended with this code, which is passed on; nothing else is to be told.
    #[error("the program ended with code {0}")]
    Program(u8),
    /// Standard output can't be written. If its reader is gone, that is not an error.
    #[error("can't write the output")]
    Output(#[source] io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Problem(Box::new(problem))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        problem(&error).into()
    }
}

/// Only writing output gives a bare I/O error to a verb; others become problems where they happen.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// Why there is no answer. Agents are not told to start a daemon.
pub fn problem(error: &ClientError) -> Problem {
    match error {
        ClientError::NoDaemon(_) if !daemon::may_start() => {
            error.problem().next(problems::ASK_TO_START)
        }
        ClientError::NoDaemon(_)
        | ClientError::Unreachable(_)
        | ClientError::Untrusted(_)
        | ClientError::NoAnswer(_)
        | ClientError::Stopped(_)
        | ClientError::Broken(_)
        | ClientError::Garbled(_)
        | ClientError::Unexpected(_)
        | ClientError::Unspeakable(_)
        | ClientError::Problem(_) => error.problem(),
    }
}
