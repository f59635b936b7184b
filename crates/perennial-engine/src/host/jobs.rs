//! Jobs: commands that Perennial runs itself, each held by a shim without a terminal.
//!
//! A handle on the holders' thread; the shim, the claim of a number, the adoption by a later daemon and
//! the end of a tree are those of sessions. It decides nothing: what to run, when, and what follows
//! from an end is the core's.
//!
//! Promises
//! - J1  A number of a job is executed at most once until it is released, whoever is killed: running it
//!   again adopts it. Whoever releases it has its end on record, and runs it no more.
//! - J2  Each `run` and each `end` is answered by one `Ended`; `run` told again is answered again.
//! - J3  `Ended` comes when no process of the run is left.
//! - J4  The limit is kept by the shim, with or without a daemon; what is kept of the output is bounded.

use std::sync::Arc;
use std::time::Duration;

use perennial_core::exit::UnknownExit;
use perennial_core::id::JobId;
use perennial_core::session::Process;

use super::holders::{Request, Shared};

/// What a job runs, and within which bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    /// A list of arguments, never a shell's line; the first is looked up in PATH.
    pub argv: Vec<String>,
    pub dir: String,
    /// On top of `base_environment`, which is all that a job has otherwise.
    pub env: Vec<(String, String)>,
    /// From its execution; at the limit the whole tree is ended.
    pub limit: Duration,
    /// How much of the end of its output is told, up to `OUTPUT_BYTES_MAX`; twice as much is on disk.
    pub output_bytes_max: usize,
}

/// More of a job's output is never told.
pub const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// What is told of one run of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobReport {
    /// This shim holds it: whoever is below that process, or in that cgroup, is the job. Told before
    /// anything runs, and again once the cgroup is known.
    Held { shim: Process, cgroup: Option<u64> },
    /// Its program was executed.
    Executed(Process),
    /// It is over, and no process of it is left.
    Ended {
        exit: JobExit,
        /// The last bytes of what it printed on either stream …
        output_tail: Vec<u8>,
        /// … and how many came before them.
        dropped_bytes: u64,
    },
}

/// How a run of a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobExit {
    Code(i32),
    KillSignal(i32),
    /// It was ended because its time was up.
    Limit,
    /// It never ran, and never will under this number.
    NotStarted(String),
    /// It may have run, and nobody knows how it ended.
    Unknown(UnknownExit),
}

/// What the thread is asked for.
pub(super) enum JobOrder {
    Run(JobSpec),
    Hold(JobSpec),
    End,
    Release,
}

/// A handle on the thread that keeps all holders, for jobs.
#[derive(Clone)]
pub struct Jobs {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}

impl Jobs {
    pub(super) fn new(shared: Arc<Shared>) -> Jobs {
        Jobs { shared }
    }

    /// Runs this number of the job, or adopts it if it was begun before; never waits.
    pub fn run(&self, job: JobId, number: u32, spec: JobSpec) {
        self.order(job, number, JobOrder::Run(spec));
    }

    /// Adopts this number of the job, which was begun before. Where nothing shows that any more, its end is
    /// unknown; it is never run.
    pub fn hold(&self, job: JobId, number: u32, spec: JobSpec) {
        self.order(job, number, JobOrder::Hold(spec));
    }

    /// Ends its tree: TERM, then KILL. One that was never begun never will be.
    pub fn end(&self, job: JobId, number: u32) {
        self.order(job, number, JobOrder::End);
    }

    /// Its end is on record: lets the holder go and removes its directory.
    pub fn release(&self, job: JobId, number: u32) {
        self.order(job, number, JobOrder::Release);
    }

    fn order(&self, job: JobId, number: u32, order: JobOrder) {
        self.shared.push(Request::Job { job, number, order });
    }
}

/// What a job inherits from the daemon: where programs and the home are, and no more.
pub(super) fn base_environment() -> Vec<(String, String)> {
    let kept = ["PATH", "HOME", "LANG", "TMPDIR"].map(|name| (name, std::env::var(name).ok()));
    let mut base: Vec<(String, String)> =
        kept.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    base.push(("TERM".to_owned(), "dumb".to_owned()));
    base
}
