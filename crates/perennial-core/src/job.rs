//! The life of one job: a command that Perennial runs itself, for the operator or for a task.
//!
//! Pure. Held by a shim like a session, without a terminal; who calls from within it has no rights.
//!
//! Invariants
//! - O1  A job is run at most once per number: its number is its fence.
//! - O2  An end that nobody saw is `Unknown`; a notification is never run again after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::effect::{Effect, JobAction, JobEffect, Plan};
use crate::entity::Entity;
use crate::id::{AgentId, JobId};
use crate::reason::Reason;
use crate::session::Process;
use crate::time::Time;

/// A notification may take this long.
pub const NOTIFY_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    pub purpose: Purpose,
    pub command: JobCommand,
    pub number: u32,
    pub phase: JobPhase,
    pub wanted_at: Time,
}

/// What a job is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// An agent needs the operator.
    Notify { agent: AgentId, name: String, reason: Reason },
}

/// What is run. The argv is the operator's own; what the purpose adds to it is put behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCommand {
    pub argv: Vec<String>,
    /// Where, absolute.
    pub dir: String,
    /// Its whole tree is ended after this.
    pub limit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobPhase {
    Wanted,
    Running(Process),
    Ended(JobEnd),
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobEnd {
    Code(i32),
    KillSignal(i32),
    /// It took too long, and its tree was ended.
    Limit,
    /// It could not be executed.
    NotStarted,
    /// Nobody saw its end: it may have run.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEvent {
    Wanted {
        purpose: Purpose,
        command: JobCommand,
    },
    Running {
        number: u32,
        process: Process,
    },
    /// With the end of its output.
    Ended {
        number: u32,
        end: JobEnd,
        output: String,
    },
}

/// What the executor says of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobReport {
    Executed(Process),
    Ended { end: JobEnd, output: String },
}

/// The jobs that are not over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Jobs {
    all: BTreeMap<JobId, Arc<Job>>,
}

impl Jobs {
    /// These are all jobs that are not over.
    pub fn restore(jobs: impl IntoIterator<Item = Job>) -> Jobs {
        Jobs { all: jobs.into_iter().map(|job| (job.id, Arc::new(job))).collect() }
    }

    pub fn get(&self, id: JobId) -> Option<&Job> {
        self.all.get(&id).map(|job| &**job)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Job> {
        self.all.values().map(|job| &**job)
    }

    /// Takes over another fleet's copy of a job that is equal to this one's.
    pub fn share(&mut self, other: &Jobs, id: JobId) {
        if let Some(job) = other.all.get(&id) {
            self.all.insert(id, Arc::clone(job));
        }
    }

    /// Lets a job go that is over and was released.
    pub fn retire(&mut self, id: JobId) {
        self.all.remove(&id);
    }

    /// Folds one event; returns what to plan anew.
    pub fn evolve(&mut self, id: JobId, event: &JobEvent, at: Time) -> Vec<Entity> {
        match event {
            JobEvent::Wanted { purpose, command } => {
                let (purpose, command) = (purpose.clone(), command.clone());
                let (number, phase) = (1, JobPhase::Wanted);
                let job = Job { id, purpose, command, number, phase, wanted_at: at };
                self.all.insert(id, Arc::new(job));
            }
            JobEvent::Running { process, .. } => self.enter(id, JobPhase::Running(*process)),
            JobEvent::Ended { end, .. } => self.enter(id, JobPhase::Ended(*end)),
        }
        vec![Entity::Job(id)]
    }

    fn enter(&mut self, id: JobId, phase: JobPhase) {
        if let Some(job) = self.all.get_mut(&id) {
            Arc::make_mut(job).phase = phase;
        }
    }
}

impl Job {
    pub fn is_over(&self) -> bool {
        matches!(self.phase, JobPhase::Ended(_))
    }
}

/// Takes note of what the executor says; one about another number says nothing (O1).
pub fn observe(job: &Job, number: u32, report: &JobReport) -> Option<JobEvent> {
    if job.number != number || job.is_over() {
        return None;
    }
    match (report, job.phase) {
        (JobReport::Executed(process), JobPhase::Wanted) => {
            Some(JobEvent::Running { number, process: *process })
        }
        (JobReport::Executed(_), JobPhase::Running(_) | JobPhase::Ended(_)) => None,
        (JobReport::Ended { end, output }, _) => {
            Some(JobEvent::Ended { number, end: *end, output: output.clone() })
        }
    }
}

/// What to do for a job: running it again finds the one that runs.
pub fn plan(job: &Job) -> Plan {
    let action = match job.phase {
        JobPhase::Wanted | JobPhase::Running(_) => {
            JobAction::Run(Box::new((job.purpose.clone(), job.command.clone())))
        }
        JobPhase::Ended(_) => JobAction::Release,
    };
    let effect = Effect::Job(JobEffect { job: job.id, number: job.number, action });
    Plan { effects: vec![effect], timers: Vec::new() }
}

/// The operator is told that an agent needs them. The id follows from whom and when, so that a
/// replay agrees.
pub fn notify(
    argv: &[String],
    agent: AgentId,
    name: String,
    reason: Reason,
    now: Time,
) -> (JobId, JobEvent) {
    let spread = u128::from(now.0).wrapping_mul(0xda94_2042_e4dd_58b5_2545_f491_4f6c_dd1d);
    let command = JobCommand { argv: argv.to_vec(), dir: "/".to_owned(), limit: NOTIFY_LIMIT };
    let wanted = JobEvent::Wanted { purpose: Purpose::Notify { agent, name, reason }, command };
    (JobId(agent.0 ^ spread), wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(7);

    fn fold(events: &[JobEvent]) -> Jobs {
        let mut jobs = Jobs::default();
        for event in events {
            jobs.evolve(JobId(1), event, NOW);
        }
        jobs
    }

    #[test]
    fn a_job_runs_once_and_its_end_is_final() {
        let (_, wanted) = notify(&["say".into()], AgentId(3), "bob".into(), Reason::Idle, NOW);
        let process = Process { pid: 4, start_ticks: 5 };
        let running = JobEvent::Running { number: 1, process };
        let ended = JobReport::Ended { end: JobEnd::Code(0), output: String::new() };
        let jobs = fold(std::slice::from_ref(&wanted));
        let job = jobs.get(JobId(1)).expect("wanted");
        assert_eq!(observe(job, 2, &ended), None, "O1");
        assert_eq!(observe(job, 1, &JobReport::Executed(process)), Some(running.clone()));
        let end = observe(job, 1, &ended).expect("its end, whoever missed its beginning");
        let jobs = fold(&[wanted, running, end]);
        let job = jobs.get(JobId(1)).expect("until it is released");
        assert_eq!(observe(job, 1, &ended), None);
        assert!(matches!(
            &plan(job).effects[..],
            [Effect::Job(JobEffect { action: JobAction::Release, .. })]
        ));
    }
}
