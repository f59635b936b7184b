//! Whose holder it is: an agent's, whose sessions it holds, or a job's, whose runs it holds.
//!
//! The name of a holder directory says which. A run of a job is held as a session is, and numbered by
//! the same type.

use std::fmt;
use std::str::FromStr;

use perennial_core::id::{AgentId, JobId, NotAnId, SessionNumber};

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

    /// Whose session or job left its mark in the environment that a process was executed with. What can't be
    /// read (another user's process, such as a login) shows nothing. A job's mark counts first: it leaves no
    /// rights.
    pub fn marked(pid: i32) -> Option<Owner> {
        first(Owner::marks_of(pid))
    }

    /// Every mark in that environment. Without a number it lowers rights as well.
    pub fn marks_of(pid: i32) -> Vec<(Owner, Option<SessionNumber>)> {
        marks_in(&std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default())
    }
}

fn first(marks: Vec<(Owner, Option<SessionNumber>)>) -> Option<Owner> {
    let owners = || marks.iter().map(|(owner, _)| *owner);
    owners().find(|owner| matches!(owner, Owner::Job(_))).or_else(|| owners().next())
}

fn marks_in(environment: &[u8]) -> Vec<(Owner, Option<SessionNumber>)> {
    let marks = environment.split(|byte| *byte == 0).filter_map(|entry| {
        let mark = Owner::MARKS
            .iter()
            .find_map(|name| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        let mut words = std::str::from_utf8(mark).ok()?.split('.');
        let owner = words.next()?.parse().ok()?;
        Some((owner, words.next().and_then(|number| number.parse().ok()).map(SessionNumber)))
    });
    marks.collect()
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

    #[test]
    fn the_mark_of_a_job_counts_before_that_of_a_session() {
        let (agent, job) = (AgentId(7), JobId(7));
        let session = format!("PERENNIAL_SESSION={agent}.1\0");
        let run = format!("PERENNIAL_JOB={job}.1\0");
        let marked = |text: &str| first(marks_in(text.as_bytes()));
        assert_eq!(marked(&session), Some(Owner::Agent(agent)));
        assert_eq!(marked(&format!("A=b\0{run}")), Some(Owner::Job(job)));
        assert_eq!(marked(&format!("{session}{run}")), Some(Owner::Job(job)));
        assert_eq!(marked(&format!("{run}{session}")), Some(Owner::Job(job)));
        assert_eq!(marked("PERENNIAL_JOB=me\0PERENNIAL_JOBS=x\0"), None);
        assert_eq!(marked(&format!("PERENNIAL_SESSION={agent}\0")), Some(Owner::Agent(agent)));
        let numbered = marks_in(format!("{session}{run}").as_bytes());
        let one = Some(SessionNumber(1));
        assert_eq!(numbered, [(Owner::Agent(agent), one), (Owner::Job(job), one)]);
    }
}
