//! The check of a claimed task: a job, whose end verifies the task or gives it back.
//!
//! Pure. The command was resolved and trusted outside, before the claim was decided.

use super::batch::Batch;
use super::{Awaiting, CHECK_RUNS_MAX, OUTPUT_BYTES_MAX, Task, TaskEvent, TaskState, Verifier};
use crate::event::What;
use crate::fleet::Fleet;
use crate::id::{AgentId, JobId, TaskId, derived};
use crate::job::{JobCommand, JobEnd, JobEvent, Purpose};
use crate::message::Sender;
use crate::name::Name;
use crate::text::ending;
use crate::time::Time;

impl JobEnd {
    /// How it ended, in words.
    pub fn words(&self) -> String {
        match self {
            JobEnd::Code(code) => format!("exit {code}"),
            JobEnd::KillSignal(signal) => format!("killed by signal {signal}"),
            JobEnd::Limit => "ended at its time limit".to_owned(),
            JobEnd::NotStarted => "could not be started".to_owned(),
            JobEnd::Unknown => "nobody saw its end".to_owned(),
            JobEnd::Outdated => "not run".to_owned(),
        }
    }
}

impl Batch<'_> {
    /// Wants the check of a claimed task run, in the same batch.
    pub fn want_check(&mut self, id: TaskId, check: Option<Name>, command: JobCommand, runs: u32) {
        let agent: Option<AgentId> = self.task(id).and_then(|task| task.worker);
        let job = JobId(derived(id.0 ^ u128::from(runs) << 40, self.now, 0));
        let wanted =
            TaskEvent::CheckWanted { job, check: check.clone(), command: command.clone(), runs };
        self.record(id, wanted);
        let node = agent.and_then(|id| self.fleet.agent(id)).map(|agent| agent.node);
        let node = node.unwrap_or_else(|| self.fleet.node());
        let purpose = Purpose::Check { task: id, agent, check };
        self.events.push(What::Job(job, JobEvent::Wanted { node, purpose, command }));
    }

    /// What follows from the end of a task's check (TK5).
    pub fn check_over(&mut self, id: TaskId, end: JobEnd, output: &str) {
        let Some(task) = self.task(id) else { return };
        let TaskState::Claimed(Awaiting::Check { job, check, command, runs }) = task.state.clone()
        else {
            return;
        };
        let (agent, output) = (task.worker, ending(output, OUTPUT_BYTES_MAX));
        let ended = TaskEvent::CheckEnded { job, agent, check: check.clone(), end, output };
        self.record(id, ended);
        match end {
            JobEnd::Code(0) => {
                self.record(id, TaskEvent::Verified { by: Verifier::Check(check), agent });
                self.over(id);
            }
            JobEnd::Code(_) | JobEnd::KillSignal(_) | JobEnd::Limit => {
                self.give_back(
                    Sender::Perennial,
                    id,
                    &format!("its check failed: {}", end.words()),
                );
            }
            JobEnd::Unknown | JobEnd::Outdated if runs < CHECK_RUNS_MAX => {
                self.want_check(id, check, *command, runs + 1);
            }
            // Nobody's fault but the check's: somebody looks.
            JobEnd::Unknown | JobEnd::Outdated | JobEnd::NotStarted => {
                self.await_word(id, &format!("; its check says nothing ({})", end.words()));
            }
        }
    }
}

/// What follows for a task from the end of a job.
pub fn ended(fleet: &Fleet, job: JobId, event: &JobEvent, now: Time) -> Vec<What> {
    let JobEvent::Ended { end, output, .. } = event else { return Vec::new() };
    let known = fleet.jobs().get(job).map(|job| &job.purpose);
    let Some(Purpose::Check { task, .. }) = known else { return Vec::new() };
    let is_of = |task: &&Task| matches!(&task.state, TaskState::Claimed(Awaiting::Check { job: of, .. }) if *of == job);
    let Some(task) = fleet.tasks().get(*task).filter(is_of) else { return Vec::new() };
    let mut batch = Batch::new(fleet, now);
    batch.check_over(task.id, *end, output);
    batch.events
}

/// Whether a task waits for a job that will tell nothing any more: its end is lost.
pub(super) fn is_lost(fleet: &Fleet, task: &Task) -> bool {
    match &task.state {
        TaskState::Claimed(Awaiting::Check { job, .. }) => {
            fleet.jobs().get(*job).is_none_or(|job| job.is_over())
        }
        TaskState::Open
        | TaskState::Taken
        | TaskState::Claimed(Awaiting::Word)
        | TaskState::Blocked(_)
        | TaskState::Split
        | TaskState::Verified(_)
        | TaskState::Dropped => false,
    }
}
