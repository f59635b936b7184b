//! What the daemon knows of one holder, of an agent or a job: its shim, the connection to it, and the newest session
//! that was ordered.
//!
//! Data and small questions only; what happens next is in `drive`.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::SessionNumber;
use perennial_core::observation::Report;
use perennial_core::session::{Pace, Process};

use super::super::connection::Connection;
use super::super::directory::HolderDirectory;
use super::super::jobs::JobSpec;
use super::super::monotonic::Moment;
use super::super::owner::Owner;
use super::super::protocol::ExitRecord;
use super::{Answer, Outcome, Program, Ticket};

/// Of a job that this daemon was never told to run.
const OUTPUT_BYTES_DEFAULT: usize = 4096;
/// Between tries to reach a shim that lives and does not answer.
pub const RETRY_FIRST: Duration = Duration::from_millis(100);
pub const RETRY_MAX: Duration = Duration::from_secs(30);

pub struct Holder {
    pub owner: Owner,
    /// Its place in the numbering of epoll's events.
    pub slot: u64,
    pub directory: HolderDirectory,
    pub link: Link,
    pub shim: Option<Shim>,
    pub current: Option<Current>,
    pub retry_at: Option<Moment>,
    pub retry_wait: Duration,
    /// When the thread will look at it next.
    pub scheduled_at: Option<Moment>,
    pub is_told_lost: bool,
    pub tickets: Vec<WaitingTicket>,
    pub deliveries: Vec<WaitingDelivery>,
    /// It takes orders to deliver: an older one does not.
    pub delivers: bool,
    /// Shims that went before they claimed the session, one after the other, and why the last did.
    pub failures: u8,
    pub last_refusal: Option<String>,
}

/// The connection to a shim.
pub enum Link {
    Down,
    /// Its hello has not come yet.
    Greeting {
        connection: Connection,
        by: Moment,
    },
    Up(Connection),
}

/// A living shim, as far as its pidfd says.
pub struct Shim {
    pub handle: OwnedFd,
    pub process: Process,
}

/// Who waits for the shim to take a ticket.
pub struct WaitingTicket {
    pub request: u64,
    pub ticket: Ticket,
    pub answer: Answer<Ticket>,
}

/// Who waits for the outcome of a delivery.
pub struct WaitingDelivery {
    pub number: SessionNumber,
    pub message: String,
    pub attempt: u32,
    pub answer: Answer<Outcome>,
}

/// The newest session that was ordered for the owner.
pub struct Current {
    pub number: SessionNumber,
    /// Until it runs: what to start.
    pub work: Option<Work>,
    pub is_start_sent: bool,
    pub process: Option<Process>,
    /// Its program, as the journal has it.
    pub recorded: Option<Process>,
    /// The second witness of its end.
    pub handle: Option<OwnedFd>,
    pub cgroup: Option<u64>,
    pub end: Option<EndOrder>,
    /// The kernel showed the end; by then the shim must have told it.
    pub witness_by: Option<Moment>,
    /// How it ended, once that was reported.
    pub ending: Option<Conclusion>,
    pub is_released: bool,
    /// The living shim does not have it: a dead one had.
    pub is_disowned: bool,
    /// No process of it is left, though its shim died.
    pub is_swept: bool,
    /// Of a job: how much of its output is told …
    pub output_bytes_max: usize,
    /// … and how long its shim may take to tell its end.
    pub patience: Duration,
}

/// What a shim is to start.
pub enum Work {
    Session(Program),
    Job(JobSpec),
}

impl Work {
    /// Where the pane listens in which the shim is to be started.
    pub fn pane(&self) -> Option<&Path> {
        match self {
            Work::Session(program) => program.pane.as_deref(),
            Work::Job(_) => None,
        }
    }
}

/// How a session or a run of a job ended.
#[derive(Debug, Clone)]
pub enum Conclusion {
    /// As its shim told it, or left it on disk.
    Told(ExitRecord),
    Unknown(UnknownExit),
}

impl From<&Conclusion> for Report {
    fn from(ending: &Conclusion) -> Report {
        match ending {
            Conclusion::Told(ExitRecord::NotStarted(why)) => Report::NotStarted(why.clone()),
            Conclusion::Told(exit) => Report::Exited(exit.into()),
            Conclusion::Unknown(why) => Report::Exited(Exit::Unknown(*why)),
        }
    }
}

#[derive(Clone, Copy)]
pub struct EndOrder {
    pub pace: Pace,
    /// From the interrupt to TERM; none: it begins with TERM.
    pub interrupt: Duration,
    /// Whoever ignores TERM is hung up on: a bare command may be a shell.
    pub hangs_up: bool,
    pub is_sent: bool,
    pub force_at: Moment,
}

impl Holder {
    pub fn new(owner: Owner, slot: u64, directory: HolderDirectory) -> Holder {
        Holder {
            owner,
            slot,
            directory,
            link: Link::Down,
            shim: None,
            current: None,
            retry_at: None,
            retry_wait: RETRY_FIRST,
            scheduled_at: None,
            is_told_lost: false,
            tickets: Vec::new(),
            deliveries: Vec::new(),
            delivers: false,
            failures: 0,
            last_refusal: None,
        }
    }

    pub fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.link {
            Link::Down => None,
            Link::Greeting { connection, .. } | Link::Up(connection) => Some(connection),
        }
    }

    /// The session of this number, if it is the newest.
    pub fn session(&mut self, number: SessionNumber) -> Option<&mut Current> {
        self.current.as_mut().filter(|current| current.number == number)
    }

    pub fn next_deadline(&self) -> Option<Moment> {
        let greeting = match &self.link {
            Link::Greeting { by, .. } => Some(*by),
            Link::Down | Link::Up(_) => None,
        };
        let open = self.current.as_ref().filter(|current| current.ending.is_none());
        let force = open.and_then(|current| current.end).map(|end| end.force_at);
        let witness = open.and_then(|current| current.witness_by);
        [greeting, self.retry_at, force, witness].into_iter().flatten().min()
    }
}

impl Current {
    /// Its program, as far as anybody told of one.
    pub fn program(&self) -> Option<Process> {
        self.process.or(self.recorded)
    }

    pub fn new(number: SessionNumber) -> Current {
        Current {
            number,
            work: None,
            is_start_sent: false,
            process: None,
            recorded: None,
            handle: None,
            cgroup: None,
            end: None,
            witness_by: None,
            ending: None,
            is_released: false,
            is_disowned: false,
            is_swept: false,
            output_bytes_max: OUTPUT_BYTES_DEFAULT,
            patience: Duration::MAX,
        }
    }
}
