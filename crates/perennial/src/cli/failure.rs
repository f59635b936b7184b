//! How a command fails.

use std::io;

use perennial_api::{ClientError, ExitCode, Problem};

/// What every verb gives back.
pub type VerbResult = Result<ExitCode, Failure>;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{}", .0.title)]
    Problem(Box<Problem>),
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
        error.problem().into()
    }
}

/// Only writing output gives a bare I/O error to a verb; others become problems where they happen.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}
