//! The marks of sessions and jobs in the environments of processes.
//!
//! A mark is what a process was executed with; whoever clears its environment has none. So it only lowers rights.

use perennial_core::id::SessionNumber;
pub use perennial_core::owner::Owner;

/// Whose session or job left its mark in the environment that a process was executed with. What can't be
/// read (another user's process, such as a login) shows nothing. A job's mark counts first: it leaves no
/// rights.
pub fn marked(pid: i32) -> Option<Owner> {
    first(&marks_of(pid))
}

/// Every mark in that environment. Without a number it lowers rights as well.
pub fn marks_of(pid: i32) -> Vec<(Owner, Option<SessionNumber>)> {
    marks_in(&std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default())
}

fn first(marks: &[(Owner, Option<SessionNumber>)]) -> Option<Owner> {
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

#[cfg(test)]
mod tests {
    use perennial_core::id::{AgentId, JobId};

    use super::*;

    #[test]
    fn the_mark_of_a_job_counts_before_that_of_a_session() {
        let (agent, job) = (AgentId(7), JobId(7));
        let session = format!("PERENNIAL_SESSION={agent}.1\0");
        let run = format!("PERENNIAL_JOB={job}.1\0");
        let marked = |text: &str| first(&marks_in(text.as_bytes()));
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
