//! Exit codes of the command line: a closed set that scripts may rely on.

/// What a command's end means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ExitCode {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Refused = 3,
    NotFound = 4,
    NoDaemon = 5,
    NeedsOperator = 6,
    NotYet = 7,
}

impl ExitCode {
    pub const ALL: [ExitCode; 8] = [
        ExitCode::Done,
        ExitCode::Failed,
        ExitCode::Usage,
        ExitCode::Refused,
        ExitCode::NotFound,
        ExitCode::NoDaemon,
        ExitCode::NeedsOperator,
        ExitCode::NotYet,
    ];

    pub fn number(self) -> u8 {
        self as u8
    }

    /// A number off the wire; one that this version does not know is a failure.
    pub fn from_number(number: u8) -> ExitCode {
        ExitCode::ALL.into_iter().find(|code| code.number() == number).unwrap_or(ExitCode::Failed)
    }

    /// How an HTTP status ends a command when its problem does not say so itself.
    pub fn from_status(status: u16) -> ExitCode {
        match status {
            200..=299 => ExitCode::Done,
            401 | 403 | 409 | 422 | 429 => ExitCode::Refused,
            404 | 410 => ExitCode::NotFound,
            428 => ExitCode::NeedsOperator,
            400..=499 => ExitCode::Usage,
            _ => ExitCode::Failed,
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            ExitCode::Done => "success",
            ExitCode::Failed => "failure",
            ExitCode::Usage => "usage error",
            ExitCode::Refused => "refused",
            ExitCode::NotFound => "not found",
            ExitCode::NoDaemon => "no daemon is running",
            ExitCode::NeedsOperator => "needs the operator",
            ExitCode::NotYet => "timed out",
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> std::process::ExitCode {
        std::process::ExitCode::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_both_ways_and_unknown_ones_fail() {
        for code in ExitCode::ALL {
            assert_eq!(ExitCode::from_number(code.number()), code);
        }
        assert_eq!(ExitCode::from_number(77), ExitCode::Failed);
    }

    #[test]
    fn statuses() {
        for (status, code) in [
            (200, ExitCode::Done),
            (201, ExitCode::Done),
            (400, ExitCode::Usage),
            (403, ExitCode::Refused),
            (404, ExitCode::NotFound),
            (409, ExitCode::Refused),
            (413, ExitCode::Usage),
            (422, ExitCode::Refused),
            (428, ExitCode::NeedsOperator),
            (429, ExitCode::Refused),
            (500, ExitCode::Failed),
            (503, ExitCode::Failed),
            (302, ExitCode::Failed),
        ] {
            assert_eq!(ExitCode::from_status(status), code, "{status}");
        }
    }
}
