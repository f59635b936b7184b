//! What happens to a task. Past tense, decided, never taken back.

use super::{BlockedOn, Brief, Queue, Verifier};
use crate::id::{AgentId, JobId, MessageId, TaskId};
use crate::job::{JobCommand, JobEnd};
use crate::message::{Mailbox, Sender};
use crate::name::Name;
use crate::text::Text;

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
    },
    /// Somebody is told again that nobody has taken it up.
    Raised {
        to: Mailbox,
        message: MessageId,
    },
}
