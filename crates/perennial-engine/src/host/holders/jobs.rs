//! Jobs on the holders' thread: their orders, and the end of what they printed.

use std::io;
use std::time::Duration;

use perennial_core::exit::UnknownExit;
use perennial_core::id::{JobId, SessionNumber};
use perennial_core::session::Pace;

use super::super::jobs::{
    JobExit, JobOrder, JobReport, JobSpec, OUTPUT_BYTES_MAX, base_environment,
};
use super::super::monotonic::now;
use super::super::owner::Owner;
use super::super::protocol::{ExitRecord, JobTerms};
use super::super::recording::Recording;
use super::holder::{Conclusion, EndOrder, Holder, Link, Work};
use super::run::Run;
use super::{Program, Settings};

impl Run {
    pub fn on_job(&mut self, job: JobId, number: u32, order: JobOrder) {
        let (owner, number) = (Owner::Job(job), SessionNumber(number));
        let ladder = self.settings.ladder;
        let runs = matches!(order, JobOrder::Run(_));
        let Some(current) = self.newest(owner, number) else { return };
        match order {
            JobOrder::Run(spec) | JobOrder::Hold(spec) => {
                current.output_bytes_max = spec.output_bytes_max.min(OUTPUT_BYTES_MAX);
                // The shim keeps the limit; this is for one that hangs.
                current.patience = spec.limit.saturating_add(ladder.term + ladder.grace);
                if runs && current.process.is_none() && current.ending.is_none() {
                    current.work = Some(Work::Job(spec));
                }
                self.tell_again(owner, number);
            }
            JobOrder::End => {
                let force_at = now() + ladder.term + ladder.grace;
                let (pace, interrupt) = (Pace::Graceful, Duration::ZERO);
                current.end.get_or_insert(EndOrder {
                    pace,
                    interrupt,
                    hangs_up: false,
                    is_sent: false,
                    force_at,
                });
                self.tell_again(owner, number);
            }
            JobOrder::Release => current.is_released = true,
        }
        self.drive(owner);
        self.settle(owner);
    }

    /// A holder that was let go and whose shim is gone is forgotten, and a job's directory is removed:
    /// there are many of the past, and whoever lets one go has its end on record.
    pub fn forget_if_done(&mut self, owner: Owner) {
        let is_done = |holder: &Holder| {
            let is_gone = holder.shim.is_none() && matches!(holder.link, Link::Down);
            is_gone && holder.current.is_none() && holder.tickets.is_empty()
        };
        if let Some(holder) = self.holders.get(&owner).filter(|holder| is_done(holder)) {
            if let (Owner::Job(job), Err(error)) = (owner, remove_directory(holder)) {
                tracing::warn!(%job, %error, "the directory of a job that is over stays");
            }
            self.slots.remove(&holder.slot);
            self.holders.remove(&owner);
        }
    }
}

/// What is started for a job: its own variables over the base, and the program as it stands.
pub fn program(spec: &JobSpec) -> Program {
    let mut env_set = base_environment();
    env_set.extend(spec.env.iter().cloned());
    let dir = spec.dir.clone();
    Program { argv: spec.argv.clone(), dir, env_set, ..Program::default() }
}

pub fn terms(settings: &Settings, spec: &JobSpec) -> JobTerms {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    JobTerms { limit_ms: millis(spec.limit), term_ms: millis(settings.ladder.term) }
}

/// The recorder keeps at least half of its limit.
pub fn record_limit(spec: &JobSpec) -> u64 {
    2 * spec.output_bytes_max.min(OUTPUT_BYTES_MAX) as u64
}

/// The report of an end, with the last of what the run printed.
pub fn ended(holder: &Holder, number: SessionNumber, ending: &Conclusion) -> JobReport {
    let length = holder.current.as_ref().map_or(0, |current| current.output_bytes_max);
    let tail = Recording::open(&holder.directory.session(number))
        .and_then(|recording| recording.tail(length));
    let (dropped_bytes, output_tail) = tail.unwrap_or_else(|error| {
        tracing::error!(owner = %holder.owner, %number, %error, "a job's output can't be read");
        (0, Vec::new())
    });
    JobReport::Ended { exit: exit(ending), output_tail, dropped_bytes }
}

fn exit(ending: &Conclusion) -> JobExit {
    match ending {
        Conclusion::Told(ExitRecord::Code(code)) => JobExit::Code(*code),
        Conclusion::Told(ExitRecord::Signal(signal)) => JobExit::KillSignal(*signal),
        Conclusion::Told(ExitRecord::Limit) => JobExit::Limit,
        Conclusion::Told(ExitRecord::NotStarted(why)) => JobExit::NotStarted(why.clone()),
        Conclusion::Unknown(UnknownExit::NotStarted) => {
            JobExit::NotStarted("ended before it began".to_owned())
        }
        Conclusion::Unknown(
            why @ (UnknownExit::HolderDied
            | UnknownExit::MachineRestarted
            | UnknownExit::HomeCopied),
        ) => JobExit::Unknown(*why),
    }
}

/// Of an agent's holder nothing is removed.
fn remove_directory(holder: &Holder) -> io::Result<()> {
    match holder.owner {
        Owner::Agent(_) => Ok(()),
        Owner::Job(_) => match std::fs::remove_dir_all(holder.directory.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        },
    }
}
