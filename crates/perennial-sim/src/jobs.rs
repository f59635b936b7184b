//! The simulated executor of jobs: a holder of its own for each, which outlives daemons.
//!
//! Rules
//! - X6  A job is executed at most once per number, and an end that was recorded is final.
//! - X9  The operator is told of each dialog once, in the append that has it, and of nothing else.

use std::collections::BTreeMap;
use std::ops::Range;

use perennial_core::effect::{JobAction, JobEffect};
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::id::{AgentId, JobId};
use perennial_core::job::{JobEnd, JobEvent, JobReport, Purpose};
use perennial_core::observation::Observation;
use perennial_core::reason::Reason;
use perennial_core::session::Process;
use perennial_core::state::State;
use perennial_engine::supervisor::Input;

use crate::daemon::Life;
use crate::judge::asks;
use crate::mutation::Mutation;
use crate::world::{Happening, World};

const JOB_MICROS: Range<u64> = 1_000..12_000_000;

/// What is true of one job, by its number.
#[derive(Debug, Default)]
pub struct JobRun {
    pub process: Option<Process>,
    executions: u64,
    pub ended: Option<JobEnd>,
    /// The daemon that asked for it last.
    life: Option<Life>,
    is_released: bool,
    /// The end that the journal has.
    recorded: Option<JobEnd>,
}

impl World {
    /// Carries out what is ordered for a job; to run what was claimed already takes it up.
    pub fn order_job(&mut self, life: Life, effect: &JobEffect) {
        let (job, number) = (effect.job, effect.number);
        let is_twice = self.mutation == Some(Mutation::JobRunsAgain);
        let run = self.machine.jobs.entry((job, number)).or_default();
        run.life = Some(life);
        let is_fresh = run.executions == 0 && matches!(effect.action, JobAction::Run(_));
        match &effect.action {
            JobAction::Release => run.is_released = true,
            JobAction::Run(_) | JobAction::Hold(_)
                if is_fresh || (is_twice && run.ended.is_none()) =>
            {
                run.executions += 1;
                let again = run.executions > 1;
                let process = self.machine.new_process();
                if let Some(run) = self.machine.jobs.get_mut(&(job, number)) {
                    run.process = Some(process);
                }
                if again {
                    self.broken("X6: a job runs once", || format!("{job} {number}"));
                }
                self.tell(|| format!("{job} runs"));
                self.report_job(job, number, &JobReport::Executed(process));
                self.soon(&JOB_MICROS, Happening::JobEnds { job, number });
            }
            JobAction::Run(_) | JobAction::Hold(_) => self.say_of_job(job, number),
        }
    }

    /// What a daemon is told that takes a job up: one that the machine took with it has no known end.
    fn say_of_job(&mut self, job: JobId, number: u32) {
        let Some(run) = self.machine.jobs.get(&(job, number)) else { return };
        let report = match (run.ended, run.process) {
            (Some(end), _) => JobReport::Ended { end, output: String::new() },
            (None, Some(process)) => JobReport::Executed(process),
            (None, None) => JobReport::Ended { end: JobEnd::Unknown, output: String::new() },
        };
        self.report_job(job, number, &report);
    }

    pub fn job_ends(&mut self, job: JobId, number: u32) {
        let end = match self.random.below(3) {
            0 => JobEnd::Limit,
            1 => JobEnd::Code(1),
            _ => JobEnd::Code(0),
        };
        let run = self.machine.jobs.get_mut(&(job, number)).filter(|run| run.ended.is_none());
        if let Some(run) = run.filter(|run| run.process.is_some()) {
            run.ended = Some(end);
            self.say_of_job(job, number);
        }
    }

    fn report_job(&mut self, job: JobId, number: u32, report: &JobReport) {
        let life = self.machine.jobs.get(&(job, number)).and_then(|run| run.life);
        let Some(life) = life else { return };
        let times = 1 + u64::from(self.random.per_mille(self.faults.duplicate_odds));
        for _ in 0..times {
            let told = Observation::Job { job, number, report: report.clone() };
            self.hop(Happening::Reaches { life, input: Input::Observed(told) });
        }
    }

    /// X9: holds an append against what the journal had before it.
    pub fn check_notified(&mut self, events: &[Event]) {
        let mut reasons: BTreeMap<AgentId, Reason> = BTreeMap::new();
        let (mut dialogs, mut told) = (Vec::new(), Vec::new());
        for event in events {
            if let What::Agent(id, AgentEvent::Moved(moved)) = &event.what {
                let account = self.judge.account(*id).map(|account| account.reason);
                let before = reasons.insert(*id, moved.reason).or(account);
                let asks = moved.to == State::Waiting && asks(moved.reason);
                if asks && before != Some(moved.reason) {
                    dialogs.push((*id, moved.reason));
                }
            }
            if let What::Job(_, JobEvent::Wanted { purpose, .. }) = &event.what {
                match purpose {
                    Purpose::Notify { agent, reason, .. } => told.push((*agent, *reason)),
                    Purpose::Mail { .. } | Purpose::Check { .. } => {}
                }
            }
        }
        if self.policy.notify.is_empty() {
            dialogs.clear();
        }
        let has_gap = |(id, _): &(AgentId, Reason)| self.judge.has_gap(*id);
        dialogs.retain(|one| !has_gap(one));
        told.retain(|one| !has_gap(one));
        // An append has its events by stream.
        dialogs.sort_unstable();
        told.sort_unstable();
        if dialogs != told {
            self.broken("X9: each dialog is told once", || format!("{told:?}, not {dialogs:?}"));
        }
    }

    /// X6: what is recorded of a job is so, and its end is final.
    pub fn check_job(&mut self, job: JobId, event: &JobEvent) {
        match event {
            JobEvent::Wanted { .. } => {}
            JobEvent::Running { number, process } => {
                let run = self.machine.jobs.entry((job, *number)).or_default();
                if run.executions == 0 || run.recorded.is_some() {
                    self.broken("X6: what runs was begun", || format!("{job} {process:?}"));
                }
            }
            JobEvent::Ended { number, end, .. } => {
                let run = self.machine.jobs.entry((job, *number)).or_default();
                let is_again = run.recorded.replace(*end).is_some();
                let is_true = match end {
                    JobEnd::Unknown => true,
                    JobEnd::Outdated => run.executions == 0,
                    JobEnd::Code(_)
                    | JobEnd::KillSignal(_)
                    | JobEnd::Limit
                    | JobEnd::NotStarted => run.ended == Some(*end),
                };
                if is_again || !is_true || run.is_released {
                    self.broken("X6: the end of a job is final", || format!("{job} {end:?}"));
                }
            }
        }
    }

    /// At rest the end of every job is recorded. A holder whose job is over ends without an order too.
    pub fn check_jobs(&mut self) {
        let left = self.machine.jobs.iter().find(|(_, run)| run.recorded.is_none());
        if let Some(((job, _), run)) = left {
            let what = format!("{job}: {run:?}");
            self.broken("X6: no job is left", || what);
        }
    }
}
