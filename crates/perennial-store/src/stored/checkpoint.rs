//! Checkpoints as they are stored: their heads. The content is a text beside them.

use perennial_core::checkpoint::{CheckpointCause, CheckpointEvent, CheckpointTaken};
use perennial_core::event::AgentEvent;
use perennial_core::id::SessionNumber;
use perennial_core::work::WorkPhase;
use serde::{Deserialize, Serialize};

use super::Encoded;
use super::part::{StoredEvidence, StoredText};
use super::word::Worded;
use crate::record::Damage;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredCheckpoint {
    number: u32,
    why: Worded<CheckpointCause>,
    session: u32,
    phase: Worded<WorkPhase>,
    summary: String,
    text: StoredText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snapshot: Option<u32>,
    evidence: StoredEvidence,
}

pub(super) fn write(event: &CheckpointEvent) -> Encoded {
    match event {
        CheckpointEvent::Taken(taken) => {
            let stored = StoredCheckpoint {
                number: taken.number,
                why: Worded(taken.why),
                session: taken.session.0,
                phase: Worded(taken.phase),
                summary: taken.summary.clone(),
                text: (&taken.text).into(),
                snapshot: taken.snapshot,
                evidence: (&taken.evidence).into(),
            };
            super::encoded("checkpoint-taken", &stored)
        }
    }
}

impl StoredCheckpoint {
    pub fn read(self) -> Result<AgentEvent, Damage> {
        let taken = CheckpointTaken {
            number: self.number,
            why: self.why.0,
            session: SessionNumber(self.session),
            phase: self.phase.0,
            summary: self.summary,
            text: self.text.try_into()?,
            snapshot: self.snapshot,
            evidence: self.evidence.try_into()?,
        };
        Ok(AgentEvent::Checkpoint(Box::new(CheckpointEvent::Taken(taken))))
    }
}
