//! What happens to a task. Past tense, decided, never taken back.

use super::{BlockedOn, Brief, Queue, Verifier};
use crate::id::{AgentId, JobId, MessageId, SessionNumber, TaskId};
use crate::job::{JobCommand, JobEnd};
use crate::message::{Mailbox, Sender};
use crate::name::Name;
use crate::succession::Beginning;
use crate::text::Text;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEvent {
    Added {
        by: Sender,
        brief: Box<Brief>,
    },
    /// It lies on this queue from here on.
    Queued {
        by: Sender,
        queue: Queue,
    },
    /// An agent is on it from here on.
    Taken {
        by: Sender,
        agent: AgentId,
        /// What the agent had spent by then, where that is known.
        spent: Option<u64>,
        /// The session of the agent that ran then.
        session: Option<SessionNumber>,
    },
    /// Another session of the agent that is on it runs; in records of earlier versions: was asked for.
    Continued {
        agent: AgentId,
        session: SessionNumber,
        /// After what it begins.
        beginning: Beginning,
    },
    Noted {
        by: Sender,
        text: Text,
    },
    /// A step is done, or is not; the next one is added where it has a text.
    Stepped {
        by: Sender,
        step: u32,
        text: Option<String>,
        is_done: bool,
    },
    Blocked {
        by: Sender,
        on: BlockedOn,
        reason: String,
    },
    /// What its worker has spent was counted: as it leaves the task or goes back to it, and where the estimate is outgrown.
    Counted {
        agent: AgentId,
        /// In all, by then.
        spent: u64,
        /// Of that on this task, since it was counted last.
        added: u64,
    },
    Claimed {
        by: Sender,
        reason: String,
        spent: Option<u64>,
    },
    CheckWanted {
        job: JobId,
        check: Option<Name>,
        command: JobCommand,
        runs: u32,
    },
    CheckEnded {
        job: JobId,
        agent: Option<AgentId>,
        check: Option<Name>,
        end: JobEnd,
        output: String,
    },
    Verified {
        by: Verifier,
        agent: Option<AgentId>,
    },
    /// It was found not to be done, and goes back to whoever did it.
    Returned {
        by: Sender,
        agent: AgentId,
        /// Whether the agent is on it again; else it lies on the agent's queue.
        is_taken: bool,
        reason: String,
    },
    /// It lies on its queue again, as if nobody had taken it.
    Reopened {
        by: Sender,
        queue: Queue,
        reason: String,
    },
    Split {
        by: Sender,
        into: Vec<TaskId>,
    },
    /// A task was added as a part of it.
    PartAdded {
        part: TaskId,
    },
    Dropped {
        by: Sender,
        reason: String,
    },
    /// Its worker was buried: somebody is told.
    Left {
        agent: AgentId,
        name: Option<Name>,
        queue: Queue,
        to: Mailbox,
        message: MessageId,
        /// When somebody is told again, unless it is taken up.
        again_at: Option<Time>,
    },
    /// Somebody is told again that nobody has taken it up.
    Raised {
        to: Mailbox,
        message: MessageId,
        again_at: Option<Time>,
    },
}
