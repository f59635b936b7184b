//! The sessions that a task took (G-12): how many, and why each began. Follows from the task's own events.
//!
//! Pure. A compaction is no session: the same one goes on. A session counts from when its program runs: one that was wanted
//! and never ran did nothing.

use serde::{Deserialize, Serialize};

use super::TaskEvent;
use crate::agent::Agent;
use crate::event::What;
use crate::fleet::Fleet;
use crate::id::{SessionId, SessionNumber};
use crate::succession::Beginning;
use crate::time::Time;

/// At most this many of the last ones are kept with the task.
pub const SESSIONS_KEPT: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskSessions {
    /// All that worked on it.
    pub count: u32,
    /// Those that began because the one before ended otherwise than anybody wanted.
    pub unplanned: u32,
    /// The last ones, in order.
    pub last: Vec<TaskSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSession {
    pub session: SessionId,
    /// After what it began; nothing where the task was taken while it ran.
    pub beginning: Option<Beginning>,
    pub at: Time,
}

impl TaskSession {
    /// The word for why it came to work on the task.
    pub fn why(&self) -> &'static str {
        match self.beginning {
            // It was born for the task.
            None | Some(Beginning::Birth) => "taken",
            Some(beginning) => beginning.word(),
        }
    }

    pub fn is_planned(&self) -> bool {
        self.beginning.is_none_or(Beginning::is_planned)
    }
}

impl TaskSessions {
    /// A session works on the task; one that did last is the same.
    pub(super) fn count(&mut self, session: SessionId, beginning: Option<Beginning>, at: Time) {
        if self.last.last().is_some_and(|last| last.session == session) {
            return;
        }
        self.count += 1;
        let session = TaskSession { session, beginning, at };
        self.unplanned += u32::from(!session.is_planned());
        self.last.push(session);
        if self.last.len() > SESSIONS_KEPT {
            self.last.remove(0);
        }
    }
}

/// What follows for the task that an agent is on when a session of its runs that the task does not know yet.
pub fn continued(fleet: &Fleet, agent: &Agent, session: SessionNumber) -> Option<What> {
    let task = fleet.tasks().current(agent.id)?;
    let own = SessionId { agent: agent.id, number: session };
    if task.sessions.last.last().is_some_and(|last| last.session == own) {
        return None;
    }
    let beginning = agent.succession.beginning;
    let event = TaskEvent::Continued { agent: agent.id, session, beginning };
    Some(What::Task(task.id, event))
}
