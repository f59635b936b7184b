//! Where an agent's work stands, as it is stored: by its own word, and by what was found.

use perennial_core::event::AgentEvent;
use perennial_core::id::SessionNumber;
use perennial_core::time::Time;
use perennial_core::work::{Indicator, WorkEvent, WorkPhase};
use serde::{Deserialize, Serialize};

use super::Encoded;
use super::word::Worded;

#[derive(Serialize, Deserialize)]
pub(super) struct PhaseReported {
    pub phase: Worded<WorkPhase>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PhaseFound {
    number: u32,
    phase: Worded<WorkPhase>,
    indicator: Worded<Indicator>,
    seen_at: u64,
}

pub(super) fn write(event: &WorkEvent) -> Encoded {
    match event {
        WorkEvent::PhaseFound { number, phase, indicator, seen_at } => {
            let (phase, indicator) = (Worded(*phase), Worded(*indicator));
            let found = PhaseFound { number: number.0, phase, indicator, seen_at: seen_at.0 };
            super::encoded("phase-found", &found)
        }
    }
}

impl PhaseFound {
    pub fn read(self) -> AgentEvent {
        AgentEvent::Work(Box::new(WorkEvent::PhaseFound {
            number: SessionNumber(self.number),
            phase: self.phase.0,
            indicator: self.indicator.0,
            seen_at: Time(self.seen_at),
        }))
    }
}
