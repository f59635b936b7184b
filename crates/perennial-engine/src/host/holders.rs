//! The daemon's side of all shims, of agents and of jobs: one thread, one epoll, nothing polled.
//!
//! Orders go in without waiting; reports come out through the sink, on the thread. It decides nothing
//! about sessions: it makes the world answer truly to what was ordered.
//!
//! Promises
//! - P1  Each `Start` is answered by executed, not started, or exited.
//! - P2  Each `Hold` leads to connected or exited; until then disconnected, with retries of its own.
//! - P3  Each `End` ends in exited, also when the shim hangs: then tree and shim are killed from here.
//! - P4  An exit is reported only when no process of the session is left for a shim that died.
//! - P5  One bad shim delays nobody.

mod deliver;
mod drive;
mod holder;
mod jobs;
mod reports;
mod run;
mod spawn;
mod sweep;
mod tell;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use perennial_core::effect::SessionEffect;
use perennial_core::id::{AgentId, Epoch, JobId, SessionNumber};
use perennial_core::launch::Launch;
use perennial_core::observation::Report;
use perennial_core::session::Process;
use rustix::event::{EventfdFlags, eventfd};

use super::announcement::{Announced, AnnouncementRule};
use super::delivery::TEXT_BYTES_MAX;
pub use super::delivery::{HeldRecord, InputRules, LineReport, Outcome};
use super::jobs::{JobOrder, JobReport, Jobs};
pub use super::protocol::{Focus, Mode, Size};

/// What the holders are run with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Holder directories of agents are made here …
    pub holders_dir: PathBuf,
    /// … and those of jobs here.
    pub jobs_dir: PathBuf,
    /// Handed to shims and sessions as PERENNIAL_HOME.
    pub home: Option<PathBuf>,
    /// The program to run as `perennial shim …`.
    pub program: PathBuf,
    /// Which run of the daemon this is; shims obey the newest.
    pub epoch: Epoch,
    pub ladder: Ladder,
    /// How much of a session's output is kept.
    pub record_limit_bytes: u64,
    /// The soft limit on open files that sessions get, if the daemon raised its own.
    pub nofile: Option<u64>,
    /// Where sessions get their cgroups: `cgroup::available()`.
    pub cgroup: Option<PathBuf>,
}

/// How long a session asked to end has, step by step.
#[derive(Debug, Clone, Copy)]
pub struct Ladder {
    /// From the interrupt to TERM.
    pub interrupt: Duration,
    /// From TERM to KILL.
    pub term: Duration,
    /// From KILL until the shim itself is taken to be hung; also how long a shim may keep silent about
    /// an end that the kernel has shown. Generous: killing a shim that is only slow loses a true code.
    pub grace: Duration,
}

impl Default for Ladder {
    fn default() -> Ladder {
        Ladder {
            interrupt: Duration::from_secs(2),
            term: Duration::from_secs(5),
            grace: Duration::from_secs(3),
        }
    }
}

/// 8 MiB per session.
pub const RECORD_LIMIT_BYTES: u64 = 8 << 20;

/// What the host tells the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostReport {
    Session {
        agent: AgentId,
        number: SessionNumber,
        report: Report,
    },
    /// This shim was started for the agent; nothing runs below it yet.
    Began {
        agent: AgentId,
        shim: Process,
    },
    /// The shim of a running session answers; `cgroup` is the kernel's id of the session's cgroup.
    Connected {
        agent: AgentId,
        number: SessionNumber,
        shim: Process,
        cgroup: Option<u64>,
    },
    /// What persons have left in a session's input line: when it changes, and after each connection.
    Line {
        agent: AgentId,
        number: SessionNumber,
        line: LineReport,
    },
    /// What a session's program announces: when that changes, and after each connection.
    Announced {
        agent: AgentId,
        number: SessionNumber,
        state: Announced,
    },
    /// It does not answer, though it may live; it is tried again.
    Disconnected {
        agent: AgentId,
        number: SessionNumber,
        why: String,
    },
    Job {
        job: JobId,
        number: u32,
        report: JobReport,
    },
    /// A shim refuses this daemon: it obeyed one of this epoch, which the journal does not know.
    Outranked {
        by: Epoch,
    },
}

/// What a session runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    pub argv: Vec<String>,
    pub dir: String,
    /// On top of the agent's environment …
    pub env_set: Vec<(String, String)>,
    /// … and not from it.
    pub env_remove: Vec<String>,
    /// What its input line is like; absent for a bare command.
    pub input: Option<InputRules>,
    /// Whether it is a bare command: that may be a shell, which ignores TERM and ends at a hang-up.
    pub is_bare: bool,
    /// What it may announce, and what that means.
    pub announcements: Vec<AnnouncementRule>,
    /// Where the pane listens in which its shim is to be started, for the host `tmux`.
    pub pane: Option<PathBuf>,
}

/// One try to type one text. Ordered again, the same try is not made again: it has its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub message: String,
    pub attempt: u32,
    pub text: String,
    /// How many columns each line of the text takes.
    pub columns: Vec<u32>,
}

impl Program {
    /// The launch as it stands.
    pub fn bare(launch: &Launch) -> Program {
        let (argv, dir) = (launch.argv.clone(), launch.dir.clone());
        Program { argv, dir, is_bare: true, ..Program::default() }
    }
}

/// A way into a session's terminal, good for one connection.
#[derive(Clone)]
pub struct Ticket {
    pub token: String,
    pub socket: PathBuf,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Why a text was not taken for delivery, or a ticket not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostRefusal {
    #[error("that session is not running")]
    NotRunning,
    #[error("more than {TEXT_BYTES_MAX} bytes")]
    TooLong,
    #[error("the session's holder can't be reached")]
    Unreachable,
}

type Answer<T> = Box<dyn FnOnce(Result<T, HostRefusal>) + Send>;

/// What an order leaves open.
pub(super) enum Manner {
    Plain,
    Program(Box<Program>),
    ByTerm,
    HangUp,
}

/// What the thread is asked for.
pub(super) enum Request {
    Order(SessionEffect, Manner),
    Job { job: JobId, number: u32, order: JobOrder },
    Ticket { agent: AgentId, number: SessionNumber, mode: Mode, answer: Answer<Ticket> },
    Resize { agent: AgentId, number: SessionNumber, size: Size },
    Focus { agent: AgentId, number: SessionNumber, focus: Focus },
    Deliver { agent: AgentId, number: SessionNumber, delivery: Delivery, answer: Answer<Outcome> },
    Heard { agent: AgentId, number: SessionNumber },
    Continue { agent: AgentId, number: SessionNumber },
    Epoch(Epoch),
    Stop,
}

pub(super) struct Shared {
    requests: Mutex<Vec<Request>>,
    wake: OwnedFd,
}

impl Shared {
    pub(super) fn push(&self, request: Request) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let _counted_already = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    fn take(&self) -> Vec<Request> {
        let _drained = rustix::io::read(&self.wake, &mut [0; 8]);
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A handle on the thread that keeps all holders.
#[derive(Clone)]
pub struct Holders {
    shared: Arc<Shared>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl fmt::Debug for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holders").finish_non_exhaustive()
    }
}

impl Holders {
    /// Starts the thread. This process becomes a subreaper: it inherits the orphans of a killed shim.
    pub fn start(
        settings: Settings,
        sink: impl Fn(HostReport) + Send + 'static,
    ) -> io::Result<Holders> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let shared =
            Arc::new(Shared { requests: Mutex::new(Vec::new()), wake: eventfd(0, flags)? });
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let run = run::Run::new(settings, Box::new(sink), Arc::clone(&shared))?;
        let thread =
            std::thread::Builder::new().name("holders".to_owned()).spawn(move || run.run())?;
        Ok(Holders { shared, thread: Arc::new(Mutex::new(Some(thread))) })
    }

    /// The same thread, for jobs.
    pub fn jobs(&self) -> Jobs {
        Jobs::new(Arc::clone(&self.shared))
    }

    /// Carries out an effect; never waits.
    pub fn order(&self, effect: SessionEffect) {
        self.shared.push(Request::Order(effect, Manner::Plain));
    }

    /// Orders a start with another program than the launch names: what a harness makes of it.
    pub fn order_start(&self, effect: SessionEffect, program: Program) {
        self.shared.push(Request::Order(effect, Manner::Program(Box::new(program))));
    }

    /// Orders an orderly end that begins with TERM: an interrupt means something else there.
    pub fn order_end_by_term(&self, effect: SessionEffect) {
        self.shared.push(Request::Order(effect, Manner::ByTerm));
    }

    /// Orders an orderly end in which whoever ignores TERM is hung up on: a bare command may be a shell.
    pub fn order_end_with_hang_up(&self, effect: SessionEffect) {
        self.shared.push(Request::Order(effect, Manner::HangUp));
    }

    /// Asks for a way into a session's terminal; the answer comes on the holders' thread.
    pub fn ticket(
        &self,
        agent: AgentId,
        number: SessionNumber,
        mode: Mode,
        answer: impl FnOnce(Result<Ticket, HostRefusal>) + Send + 'static,
    ) {
        self.shared.push(Request::Ticket { agent, number, mode, answer: Box::new(answer) });
    }

    pub fn resize(&self, agent: AgentId, number: SessionNumber, size: Size) {
        self.shared.push(Request::Resize { agent, number, size });
    }

    /// Tells a session's holder what keys reach, so that no text is typed where it does harm.
    pub fn focus(&self, agent: AgentId, number: SessionNumber, focus: Focus) {
        self.shared.push(Request::Focus { agent, number, focus });
    }

    /// Types a text into a session's input line where that is proven free. The answer comes on the
    /// holders' thread, within a few seconds. After `Unreachable` the outcome is not known: the same
    /// try, ordered again, tells it.
    pub fn deliver(
        &self,
        agent: AgentId,
        number: SessionNumber,
        delivery: Delivery,
        answer: impl FnOnce(Result<Outcome, HostRefusal>) + Send + 'static,
    ) {
        let answer = Box::new(answer);
        self.shared.push(Request::Deliver { agent, number, delivery, answer });
    }

    /// Tells a session's holder that the program took a prompt: keys reach its input line.
    pub fn heard(&self, agent: AgentId, number: SessionNumber) {
        self.shared.push(Request::Heard { agent, number });
    }

    /// Continues a session's program that was suspended.
    pub fn continue_session(&self, agent: AgentId, number: SessionNumber) {
        self.shared.push(Request::Continue { agent, number });
    }

    /// The daemon counts as this run from here on; shims that refused it are asked again.
    pub fn set_epoch(&self, epoch: Epoch) {
        self.shared.push(Request::Epoch(epoch));
    }

    /// Ends the thread; sessions and shims go on. No report comes after this returns.
    pub fn stop(self) {
        self.shared.push(Request::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _panicked = thread.join();
        }
    }
}
