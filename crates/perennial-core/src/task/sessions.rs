//! The sessions that a task took (G-12): how many, and why each began. Follows from the task's own events.
//!
//! Pure. A compaction is no session: the same one goes on.

use serde::{Deserialize, Serialize};

use super::TaskEvent;
use crate::agent::Agent;
use crate::event::What;
use crate::fleet::Fleet;
use crate::id::{SessionId, SessionNumber};
use crate::state::Cause;
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
    /// Nothing where the task was taken in it, or the agent was born with it.
    pub cause: Option<Cause>,
    pub at: Time,
}

/// Why a session came to work on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyBegan {
    /// The task was taken in it.
    Taken,
    Handoff,
    /// A task woke the agent, or somebody did.
    Woken,
    Restarted,
    Crash,
    Reboot,
    /// The session before ended by itself.
    Ended,
}

impl WhyBegan {
    pub const ALL: [WhyBegan; 7] = [
        WhyBegan::Taken,
        WhyBegan::Handoff,
        WhyBegan::Woken,
        WhyBegan::Restarted,
        WhyBegan::Crash,
        WhyBegan::Reboot,
        WhyBegan::Ended,
    ];

    pub fn word(self) -> &'static str {
        match self {
            WhyBegan::Taken => "taken",
            WhyBegan::Handoff => "handoff",
            WhyBegan::Woken => "woken",
            WhyBegan::Restarted => "restarted",
            WhyBegan::Crash => "crash",
            WhyBegan::Reboot => "reboot",
            WhyBegan::Ended => "ended",
        }
    }

    pub fn is_planned(self) -> bool {
        match self {
            WhyBegan::Taken | WhyBegan::Handoff | WhyBegan::Woken | WhyBegan::Restarted => true,
            WhyBegan::Crash | WhyBegan::Reboot | WhyBegan::Ended => false,
        }
    }
}

impl TaskSession {
    pub fn why(&self) -> WhyBegan {
        why(self.cause)
    }
}

fn why(cause: Option<Cause>) -> WhyBegan {
    let Some(cause) = cause else { return WhyBegan::Taken };
    match cause {
        Cause::HandoffAsked | Cause::HandedOff => WhyBegan::Handoff,
        Cause::Wake | Cause::TaskQueued | Cause::Approved => WhyBegan::Woken,
        Cause::Restarted => WhyBegan::Restarted,
        Cause::RebootedBusy | Cause::RebootedIdle => WhyBegan::Reboot,
        Cause::EndedAgain | Cause::EndedFinished => WhyBegan::Ended,
        Cause::Retry
        | Cause::EndedCrashed
        | Cause::EndedRestartOff
        | Cause::StartLimit
        | Cause::GaveUp
        | Cause::ConfirmationLost
        | Cause::NeverNamed => WhyBegan::Crash,
        Cause::Announced
        | Cause::DialogSeen
        | Cause::TurnBegan
        | Cause::BackgroundWork
        | Cause::TurnEnded
        | Cause::SeenWorking
        | Cause::SeenWaiting
        | Cause::Stop
        | Cause::Unlisted
        | Cause::Listed
        | Cause::Unreported
        | Cause::Rested
        | Cause::Completed
        | Cause::Frozen
        | Cause::Reaped
        | Cause::Buried => WhyBegan::Taken,
    }
}

impl TaskSessions {
    /// A session works on the task; one that did last is the same.
    pub(super) fn count(&mut self, session: SessionId, cause: Option<Cause>, at: Time) {
        if self.last.last().is_some_and(|last| last.session == session) {
            return;
        }
        self.count += 1;
        self.unplanned += u32::from(!why(cause).is_planned());
        self.last.push(TaskSession { session, cause, at });
        if self.last.len() > SESSIONS_KEPT {
            self.last.remove(0);
        }
    }
}

/// What follows for the task that an agent is on when its next session is asked for.
pub fn continued(fleet: &Fleet, agent: &Agent, session: SessionNumber) -> Option<What> {
    let task = fleet.tasks().current(agent.id)?;
    let event = TaskEvent::Continued { agent: agent.id, session, cause: agent.woken_by };
    Some(What::Task(task.id, event))
}
