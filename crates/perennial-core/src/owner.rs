//! Whose holder it is: an agent's, whose sessions it holds, or a job's, whose runs it holds.
//!
//! The name of a holder directory says which. A run of a job is held as a session is, and numbered by
//! the same type.

use std::fmt;
use std::str::FromStr;

use crate::id::{AgentId, JobId, NotAnId, SessionNumber};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Agent(AgentId),
    Job(JobId),
}

impl Owner {
    /// The variable that marks every process of a session or of a job's run …
    pub const MARKS: [&str; 2] = ["PERENNIAL_SESSION", "PERENNIAL_JOB"];

    /// … by this owner …
    pub fn mark(self) -> &'static str {
        match self {
            Owner::Agent(_) => Owner::MARKS[0],
            Owner::Job(_) => Owner::MARKS[1],
        }
    }

    /// … with this value, which also names the cgroup: `agt_….N` or `job_….N`.
    pub fn numbered(self, number: SessionNumber) -> String {
        format!("{self}.{number}")
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Agent(agent) => agent.fmt(f),
            Owner::Job(job) => job.fmt(f),
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Owner {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Owner, NotAnId> {
        text.parse().map(Owner::Agent).or_else(|_| text.parse().map(Owner::Job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directorys_name_says_whose_it_is() {
        for owner in [Owner::Agent(AgentId(7)), Owner::Job(JobId(7))] {
            assert_eq!(owner.to_string().parse(), Ok(owner));
        }
        assert_eq!("s1".parse::<Owner>(), Err(NotAnId));
    }
}
