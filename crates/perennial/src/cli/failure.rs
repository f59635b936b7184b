//! How a command ends when it does not end well.

use std::io;

use perennial_api::{ClientError, ExitCode, Problem};

/// What every verb gives back.
pub type Ending = Result<ExitCode, Failure>;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{}", .0.title)]
    Problem(Box<Problem>),
    /// Standard output can't be written; when its reader has gone there is nobody to tell.
    #[error("the output can't be written")]
    Output(#[source] io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Problem(Box::new(problem))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        error.problem().into()
    }
}

/// Only writing output gives a bare I/O error to a verb; others become problems where they happen.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// A problem with how the command was called.
pub fn usage(kind: &str, title: impl Into<String>) -> Problem {
    Problem::new(400, kind, title)
}

/// A problem of this process, not of the daemon.
pub fn failed(kind: &str, title: impl Into<String>) -> Problem {
    Problem::new(500, kind, title)
}
