//! Why a command of this tool failed. One line for a person, and an exit code.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug)]
pub enum Failure {
    /// The words given are no command.
    Usage(String),
    /// A program could not be run at all.
    NotRun { program: String, source: io::Error },
    /// A program ran and said no; it has told why itself.
    Refused { program: String },
    /// A file could not be read or written.
    File { path: PathBuf, source: io::Error },
    /// A program's answer is not what its version promises.
    Answer { program: &'static str, source: serde_json::Error },
    /// Something the tests need is missing and could not be installed.
    Missing { tools: Vec<String> },
    /// Steps of a test run that failed, each of which has told why.
    Steps { names: Vec<&'static str> },
    /// Processes that the tests did not end, told above.
    LeftBehind { processes: usize },
    /// Tests that passed only at their second try, told above, and too many of them.
    SecondTries { tests: usize },
    /// Rules that were found broken, told above.
    Untidy { findings: usize },
    /// Counted figures that are above their baseline, told above.
    Costlier { figures: usize },
    /// Generated documents that are not what the code says.
    Stale { paths: Vec<&'static str> },
}

impl Failure {
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::NotRun { .. }
            | Failure::Refused { .. }
            | Failure::File { .. }
            | Failure::Answer { .. }
            | Failure::Missing { .. }
            | Failure::Steps { .. }
            | Failure::LeftBehind { .. }
            | Failure::SecondTries { .. }
            | Failure::Untidy { .. }
            | Failure::Costlier { .. }
            | Failure::Stale { .. } => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(words) => write!(f, "no such command: {words}\n\n{}", crate::USAGE),
            Failure::NotRun { program, source } => write!(f, "could not run {program}: {source}"),
            Failure::Refused { program } => write!(f, "failed: {program}"),
            Failure::File { path, source } => write!(f, "{}: {source}", path.display()),
            Failure::Answer { program, source } => {
                write!(f, "{program} gave an answer that can't be read: {source}")
            }
            Failure::Missing { tools } => {
                write!(f, "the tests need what is not here:")?;
                tools.iter().try_for_each(|tool| write!(f, "\n  {tool}"))
            }
            Failure::Steps { names } => write!(f, "failed: {}", names.join(", ")),
            Failure::LeftBehind { processes } => {
                write!(f, "the tests left {processes} processes behind")
            }
            Failure::SecondTries { tests } => {
                write!(f, "{tests} tests passed only at their second try, which is too many")
            }
            Failure::Untidy { findings } => write!(f, "tidy: {findings} to mend"),
            Failure::Costlier { figures } => write!(
                f,
                "guard: {figures} above the baseline; if the cost has a reason, run \
                 `cargo xtask guard --update` and say why in the commit"
            ),
            Failure::Stale { paths } => {
                write!(f, "not current: {}; run `cargo xtask docs`", paths.join(", "))
            }
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Failure::NotRun { source, .. } | Failure::File { source, .. } => Some(source),
            Failure::Answer { source, .. } => Some(source),
            Failure::Usage(_)
            | Failure::Refused { .. }
            | Failure::Missing { .. }
            | Failure::Steps { .. }
            | Failure::LeftBehind { .. }
            | Failure::SecondTries { .. }
            | Failure::Untidy { .. }
            | Failure::Costlier { .. }
            | Failure::Stale { .. } => None,
        }
    }
}
