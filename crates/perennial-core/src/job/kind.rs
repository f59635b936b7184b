//! What follows from the purpose of a job: what it takes turns with, and whether it may be outdated.

use super::{Job, JobPhase, Purpose};

impl Job {
    pub fn is_over(&self) -> bool {
        matches!(self.phase, JobPhase::Ended(_))
    }

    /// What takes turns: notifications about one agent, checks of one task.
    pub(super) fn turn(&self) -> u128 {
        match self.purpose {
            Purpose::Notify { agent, .. } | Purpose::Mail { agent, .. } => agent.0,
            Purpose::Check { task, .. } => task.0,
        }
    }

    pub fn is_check(&self) -> bool {
        match self.purpose {
            Purpose::Check { .. } => true,
            Purpose::Notify { .. } | Purpose::Mail { .. } => false,
        }
    }

    /// Whether it tells of a state, which may be over before it is run.
    pub(super) fn tells_of_state(&self) -> bool {
        match self.purpose {
            Purpose::Notify { .. } => true,
            Purpose::Mail { .. } | Purpose::Check { .. } => false,
        }
    }
}
