//! The life of a task: a unit of work with ordered steps, on somebody's queue. Work outlives the agents that do it.
//!
//! Pure. `open → taken → claimed → verified`, beside that `blocked`, `split` and `dropped`. That it is done is a claim
//! until a check, its worker's parent, the operator or the role's policy says so; the record says which.
//!
//! Invariants
//! - TK1  An agent is on at most one task: one that it has taken, or claimed and whose check runs. No ending of a session
//!   changes that.
//! - TK2  Verified and dropped are final, and leave memory once they are stored. What is reopened after that is a new task.
//! - TK3  Nobody verifies their own work: a check, a person, the role's policy, or an ancestor of everybody who had the task
//!   does. Who had it: whoever was on it, or was given it by somebody else, also what it was split from or takes up again.
//! - TK4  A command line as a check is a person's word; an agent names a check of trusted configuration.
//! - TK5  A check that fails gives the task back to its worker, at most `rounds_max` times; then the task is blocked, and
//!   somebody is told. A check whose end nobody saw is run anew, at most `CHECK_RUNS_MAX` times in all.
//! - TK6  Every unfinished task of an agent that is buried is an open loop in the same batch: somebody is told, and told
//!   again until it is taken, moved or closed.
//! - TK7  No task is given to an agent whose clock has passed 90 %.
//! - TK8  A task with an unverified dependency may lie on a queue, and is taken by nobody.

mod adding;
mod announced;
mod batch;
mod bounds;
mod check;
mod command;
mod decide;
mod event;
mod fold;
mod letters;
mod loops;
mod measure;
mod reopening;
mod resting;
mod sessions;
mod tasks;
mod word;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, JobId, TaskId};
use crate::job::{JobCommand, JobEnd};
use crate::message::{Mailbox, Sender};
use crate::name::{Name, NameKey};
use crate::text::Text;
use crate::time::Time;

pub use bounds::is_line;
pub use check::ended as check_ended;
pub use command::{
    QueueWanted, Resolution, StepWanted, TaskCommand, TaskDraft, TaskImport, TaskRefusal,
};
pub use decide::{decide, given_at_birth};
pub use event::TaskEvent;
pub use fold::is_begun_by;
pub use letters::is_ours as is_letter;
pub use loops::{buried, due, plan};
pub use measure::{exceeds_estimate, has_dependants, spent, waits_for};
pub use resting::{given_next, next_of_role, told_of_rest, window_began};
pub use sessions::{SESSIONS_KEPT, TaskSession, TaskSessions, continued};
pub use tasks::Tasks;
pub use word::HAD_BY_MAX;

pub const TITLE_BYTES_MAX: usize = 200;
pub const STEPS_MAX: usize = 100;
pub const STEP_BYTES_MAX: usize = 500;
pub const DEPENDENCIES_MAX: usize = 32;
pub const PARTS_MAX: usize = 32;
/// At most this many tasks are added as parts of one: it names them for ever.
pub const ADDED_PARTS_MAX: usize = IMPORT_MAX;
/// A task, its parts and their parts may be split to at most this depth.
pub const LEVELS_MAX: usize = 16;
pub const SCOPE_MAX: usize = 32;
pub const SCOPE_BYTES_MAX: usize = 256;
pub const REASON_BYTES_MAX: usize = 1000;
pub const REFERENCE_BYTES_MAX: usize = 500;
/// One agent may have added at most this many unfinished tasks: they stay in memory.
pub const UNFINISHED_BY_AGENT_MAX: usize = 200;
/// A list that is added as a whole has at most this many tasks: they are one batch.
pub const IMPORT_MAX: usize = 1000;
/// A failed check gives a task back at most this often, unless the task says otherwise.
pub const ROUNDS_MAX: u32 = 3;
/// … and a task may say at most this.
pub const ROUNDS_MOST: u32 = 100;
/// A check whose end nobody sees is run at most this often.
pub const CHECK_RUNS_MAX: u32 = 3;
/// How long a check may run that names no limit.
pub const CHECK_LIMIT: Duration = Duration::from_secs(600);
pub const CHECK_LIMIT_MOST: Duration = Duration::from_secs(86_400);
pub const ESTIMATE_TOKENS_MOST: u64 = 1_000_000_000;
pub const ESTIMATE_STEPS_MOST: u64 = 1_000;
/// An open loop is raised again after this, unless the operator has set another time, then after twice as long …
pub const RAISED_AGAIN_AFTER: Duration = Duration::from_secs(3600);
/// … and at least this often, unless the operator has set a longer time.
pub const RAISED_AT_LEAST_EVERY: Duration = Duration::from_secs(86_400);
/// What is kept of a check's output.
pub const OUTPUT_BYTES_MAX: usize = 2048;

/// What a task is, as it was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    pub title: String,
    pub text: Option<Text>,
    /// The directory of its project.
    pub project: String,
    pub steps: Vec<Step>,
    /// The tasks that have to be verified first.
    pub dependencies: Vec<TaskId>,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    pub estimate: Option<Estimate>,
    /// What it is called elsewhere: a ticket, a link.
    pub reference: Option<String>,
    /// The paths that it is about, relative to its project.
    pub scope: Vec<String>,
    pub check: Option<CheckSpec>,
    pub rounds_max: u32,
    pub queue: Queue,
    /// The finished task that it takes up again …
    pub reopens: Option<TaskId>,
    /// … and the agents that had that one.
    pub had_by: Vec<AgentId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub text: String,
    pub is_done: bool,
}

/// How much work a task was taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimate {
    Tokens(u64),
    Steps(u64),
}

/// What verifies a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckSpec {
    /// A check of trusted configuration; resolved when it is to run.
    Named(Name),
    /// A person's own command (TK4).
    Command { argv: Vec<String>, limit: Duration },
}

/// Where a task waits for somebody to take it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Queue {
    /// Any agent of its project may take it.
    #[default]
    Nobody,
    Agent(AgentId),
    /// Any holder of the role.
    Role(Name),
}

impl Queue {
    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Queue::Agent(id) => Some(*id),
            Queue::Nobody | Queue::Role(_) => None,
        }
    }

    pub fn role(&self) -> Option<NameKey> {
        match self {
            Queue::Role(role) => Some(role.key()),
            Queue::Nobody | Queue::Agent(_) => None,
        }
    }
}

/// A task that is not over, or that was recalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub brief: Brief,
    pub added_by: Sender,
    pub added_at: Time,
    pub state: TaskState,
    /// Who brought it into this state, when, and in which words.
    pub by: Sender,
    pub since: Time,
    pub reason: String,
    /// Where it lies, or lay before it was taken.
    pub queue: Queue,
    /// The agent that has it, or had it last; nobody once it was moved to another queue.
    pub worker: Option<AgentId>,
    /// The agents that had it before (TK3).
    pub had_by: Vec<AgentId>,
    /// The tasks that it was split into.
    pub parts: Vec<TaskId>,
    /// The tasks that were added as parts of it.
    pub added_parts: Vec<TaskId>,
    /// How often it was given back.
    pub rounds: u32,
    pub spent: Spent,
    pub sessions: TaskSessions,
    pub notes: u32,
    /// This and what follows most tasks never have.
    pub last_note: Option<Box<(Sender, Text)>>,
    pub last_check: Option<Box<CheckResult>>,
    pub open_loop: Option<Box<OpenLoop>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    Open,
    Taken,
    /// Its worker, or a person, says that it is done.
    Claimed(Awaiting),
    Blocked(BlockedOn),
    /// Its parts are what is worked on.
    Split,
    Verified(Verifier),
    Dropped,
}

/// What a claim waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Awaiting {
    /// The end of this job.
    Check {
        job: JobId,
        check: Option<Name>,
        command: Box<JobCommand>,
        /// How often it was run without an end that somebody saw, this time included.
        runs: u32,
    },
    /// The word of an ancestor of its worker, or of a person.
    Word,
}

/// What a task is blocked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum BlockedOn {
    /// Something within the fleet.
    Work,
    /// Something that only somebody outside can give.
    Outside,
    /// It was given back too often.
    Rounds,
}

impl BlockedOn {
    pub const ALL: [BlockedOn; 3] = [BlockedOn::Work, BlockedOn::Outside, BlockedOn::Rounds];

    pub fn word(self) -> &'static str {
        match self {
            BlockedOn::Work => "work",
            BlockedOn::Outside => "outside",
            BlockedOn::Rounds => "rounds",
        }
    }
}

/// By whose word a task is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verifier {
    /// A check of configuration by its name, or the task's own command.
    Check(Option<Name>),
    /// An ancestor of its worker.
    Parent(AgentId),
    Operator,
    /// The worker's role is trusted.
    Trust(String),
    /// Every part of it is over, and one at least is verified.
    Parts,
}

impl Verifier {
    pub fn word(&self) -> &'static str {
        match self {
            Verifier::Check(_) => "check",
            Verifier::Parent(_) => "parent",
            Verifier::Operator => "operator",
            Verifier::Trust(_) => "trust",
            Verifier::Parts => "parts",
        }
    }
}

/// Tokens that its workers spent while they were on it, as far as anybody counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    pub tokens: Option<u64>,
    /// What the worker had spent in all when it went to work.
    pub since: Option<u64>,
}

/// How a check of it ended last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    pub check: Option<Name>,
    pub end: JobEnd,
    /// The end of its output.
    pub output: String,
    pub at: Time,
}

/// Work that an agent left when it was buried, and that nobody has taken up since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLoop {
    pub from: AgentId,
    /// The name that it had then.
    pub name: Option<Name>,
    /// Who was told last, how often anybody was, and when.
    pub to: Mailbox,
    pub raised: u32,
    pub at: Time,
    /// When somebody is told again. Events of earlier versions don't say it: then the default times hold.
    pub again_at: Option<Time>,
}

impl Task {
    pub fn is_over(&self) -> bool {
        matches!(self.state, TaskState::Verified(_) | TaskState::Dropped)
    }

    /// The agent that is on it (TK1).
    pub fn on_it(&self) -> Option<AgentId> {
        match &self.state {
            TaskState::Taken | TaskState::Claimed(Awaiting::Check { .. }) => self.worker,
            TaskState::Open
            | TaskState::Claimed(Awaiting::Word)
            | TaskState::Blocked(_)
            | TaskState::Split
            | TaskState::Verified(_)
            | TaskState::Dropped => None,
        }
    }

    /// Whose it is, while it is not over: who has it, or on whose queue it lies.
    pub fn assignee(&self) -> Option<AgentId> {
        match &self.state {
            TaskState::Open => self.queue.agent(),
            TaskState::Taken
            | TaskState::Claimed(_)
            | TaskState::Blocked(_)
            | TaskState::Split
            | TaskState::Verified(_)
            | TaskState::Dropped => self.worker.or(self.queue.agent()),
        }
    }

    /// The first step that is not done, counted from 1.
    pub fn open_step(&self) -> Option<(usize, &Step)> {
        let mut steps = self.brief.steps.iter().enumerate();
        steps.find(|(_, step)| !step.is_done).map(|(at, step)| (at + 1, step))
    }

    pub fn steps_done(&self) -> usize {
        self.brief.steps.iter().filter(|step| step.is_done).count()
    }

    /// When an open loop is raised again.
    pub fn raised_again_at(&self) -> Option<Time> {
        let open_loop = self.open_loop.as_ref().filter(|_| !self.is_over())?;
        let by_default = || open_loop.at + raised_again_after(RAISED_AGAIN_AFTER, open_loop.raised);
        Some(open_loop.again_at.unwrap_or_else(by_default))
    }
}

/// How long after it was told of for the `raised`th time an open loop is raised again, where `first` is the first wait.
fn raised_again_after(first: Duration, raised: u32) -> Duration {
    let doublings = raised.saturating_sub(1).min(16);
    first.saturating_mul(1 << doublings).min(RAISED_AT_LEAST_EVERY.max(first))
}

impl TaskState {
    /// The word for programs: stable, in `--json` and in the store.
    pub fn word(&self) -> &'static str {
        match self {
            TaskState::Open => "open",
            TaskState::Taken => "taken",
            TaskState::Claimed(_) => "claimed",
            TaskState::Blocked(_) => "blocked",
            TaskState::Split => "split",
            TaskState::Verified(_) => "verified",
            TaskState::Dropped => "dropped",
        }
    }

    pub const WORDS: [&str; 7] =
        ["open", "taken", "claimed", "blocked", "split", "verified", "dropped"];
}
