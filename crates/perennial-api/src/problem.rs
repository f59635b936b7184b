//! What a person reads when something did not work: what, why, what to do next. RFC 9457 on the
//! wire.
//!
//! `next` never suggests anything destructive: agents follow error texts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::exit_code::ExitCode;

/// The kind of the problem that a daemon answers with while it ends.
pub const ENDING: &str = "ending";
pub const CONTENT_TYPE: &str = "application/problem+json";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Problem {
    /// `urn:perennial:problem:<kind>`
    #[serde(rename = "type")]
    pub uri: String,
    /// What did not work.
    pub title: String,
    pub status: u16,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What to do now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next: String,
    /// The word for programs.
    pub kind: String,
    pub exit_code: Option<u8>,
    /// It may work after this time; also told as the header `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

impl Problem {
    /// The exit code follows from the status; `exiting` says otherwise.
    pub fn new(status: u16, kind: &str, title: impl Into<String>) -> Problem {
        Problem {
            uri: format!("urn:perennial:problem:{kind}"),
            title: title.into(),
            status,
            detail: String::new(),
            next: String::new(),
            kind: kind.to_owned(),
            exit_code: Some(ExitCode::from_status(status).number()),
            retry_after_seconds: None,
        }
    }

    #[must_use]
    pub fn because(mut self, detail: impl Into<String>) -> Problem {
        self.detail = detail.into();
        self
    }

    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Problem {
        self.next = next.into();
        self
    }

    #[must_use]
    pub fn exiting(mut self, code: ExitCode) -> Problem {
        self.exit_code = Some(code.number());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Problem {
        self.retry_after_seconds = Some(Problem::whole_seconds(wait));
        self
    }

    /// As people and headers are told a wait: never shorter than it is.
    pub fn whole_seconds(wait: Duration) -> u64 {
        wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
    }

    pub fn exit(&self) -> ExitCode {
        match self.exit_code {
            // A problem never ends a command with success, whatever it claims.
            Some(0) | None => match ExitCode::from_status(self.status) {
                ExitCode::Done => ExitCode::Failed,
                code => code,
            },
            Some(number) => ExitCode::from_number(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_problems_own_exit_code_wins() {
        let problem = Problem::new(409, "name-taken", "the name is taken");
        assert_eq!(problem.exit(), ExitCode::Refused);
        assert_eq!(problem.exiting(ExitCode::NeedsOperator).exit(), ExitCode::NeedsOperator);
    }

    #[test]
    fn a_problem_is_never_a_success() {
        let read: Problem = serde_json::from_str(r#"{"status":200,"exit_code":0}"#).unwrap();
        assert_eq!(read.exit(), ExitCode::Failed);
        assert_eq!(Problem::default().exit(), ExitCode::Failed);
    }

    #[test]
    fn it_reads_as_rfc_9457() {
        let problem = Problem::new(404, "no-such-agent", "there is no agent bob")
            .because("nobody has that name")
            .next("perennial ls");
        let text = serde_json::to_string(&problem).unwrap();
        assert_eq!(
            text,
            r#"{"type":"urn:perennial:problem:no-such-agent","title":"there is no agent bob","status":404,"detail":"nobody has that name","next":"perennial ls","kind":"no-such-agent","exit_code":4}"#
        );
        assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    }
}
