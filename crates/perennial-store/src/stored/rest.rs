//! Rest as it is stored.

use perennial_core::event::AgentEvent;
use perennial_core::rest::RestEvent;
use serde::{Deserialize, Serialize};

use super::{Encoded, task};
use crate::record::Damage;

/// A task of the agent's was verified.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredEarned {
    task: String,
    title: String,
}

/// Somebody has something else for the agent.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTakenBack {}

pub(super) fn write(event: &RestEvent) -> Encoded {
    match event {
        RestEvent::Earned { task, title } => {
            let stored = StoredEarned { task: task.to_string(), title: title.clone() };
            super::encoded("rest-earned", &stored)
        }
        RestEvent::TakenBack => super::encoded("rest-taken-back", &StoredTakenBack {}),
    }
}

impl StoredEarned {
    pub fn read(self) -> Result<AgentEvent, Damage> {
        let event = RestEvent::Earned { task: task::task(&self.task)?, title: self.title };
        Ok(AgentEvent::Rest(Box::new(event)))
    }
}

impl StoredTakenBack {
    pub fn read(self) -> AgentEvent {
        AgentEvent::Rest(Box::new(RestEvent::TakenBack))
    }
}
