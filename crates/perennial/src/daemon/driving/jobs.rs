//! Jobs: translates the core's types into the host's, and back.

use perennial_core::job::{JobCommand, JobEnd, JobReport, Purpose};
use perennial_engine::host::{self, JobExit, JobSpec};

use crate::daemon::showing::sentences;

/// What is kept of a job's output.
const OUTPUT_BYTES: usize = 16 << 10;
/// What is recorded of it.
const TAIL_BYTES: usize = 2 << 10;

/// What a program that speaks to the operator needs of their environment.
const OPERATORS_OWN: [&str; 8] = [
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "USER",
    "LOGNAME",
    "SHELL",
];

/// The job's command, with what its purpose adds to it.
pub fn spec(purpose: &Purpose, command: &JobCommand) -> JobSpec {
    let mut argv = command.argv.clone();
    match purpose {
        Purpose::Notify { name, reason, .. } => {
            let sentence = format!("{name}: {}", sentences::reason(*reason));
            argv.extend([name.clone(), reason.word().to_owned(), sentence]);
        }
    }
    let set = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    JobSpec {
        argv,
        dir: command.dir.clone(),
        env: OPERATORS_OWN.iter().filter_map(set).collect(),
        limit: command.limit,
        output_bytes_max: OUTPUT_BYTES,
    }
}

/// A report as the core's observation; `None` for one that only the registry needs.
pub fn report(report: host::JobReport) -> Option<JobReport> {
    match report {
        host::JobReport::Held { .. } => None,
        host::JobReport::Executed(process) => Some(JobReport::Executed(process)),
        host::JobReport::Ended { exit, output_tail, .. } => {
            let end = match exit {
                JobExit::Code(code) => JobEnd::Code(code),
                JobExit::KillSignal(signal) => JobEnd::KillSignal(signal),
                JobExit::Limit => JobEnd::Limit,
                JobExit::NotStarted(why) => {
                    tracing::warn!(%why, "a job could not be started");
                    JobEnd::NotStarted
                }
                JobExit::Unknown(_) => JobEnd::Unknown,
            };
            let tail = &output_tail[output_tail.len().saturating_sub(TAIL_BYTES)..];
            Some(JobReport::Ended { end, output: String::from_utf8_lossy(tail).into_owned() })
        }
    }
}
