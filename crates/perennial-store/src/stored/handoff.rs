//! Handoffs and the symptoms that may bring one about, as they are stored.

use perennial_core::event::AgentEvent;
use perennial_core::handoff::{
    Answer, HandoffAsked, HandoffCause, HandoffEvent, Stored as WhatIsStored, TurnStands,
};
use perennial_core::id::SessionNumber;
use perennial_core::role::CycleUnit;
use perennial_core::symptom::{Symptom, Urgency};
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::part::{self, StoredEvidence};
use super::word::Worded;
use super::{Encoded, life};
use crate::record::Damage;

/// What all kinds of this life begin with.
pub const LIFE: &str = "handoff";

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] = &[
    ("handoff-due", 1),
    ("handoff-operator-told", 1),
    ("handoff-unit-done", 1),
    ("handoff-asked", 1),
    ("handoff-told", 1),
    ("handoff-turned", 1),
    ("handoff-answered", 1),
    ("handoff-completed", 1),
    ("handoff-symptom", 1),
];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredHandoff {
    Due {
        number: u32,
        cause: Worded<HandoffCause>,
        subject: String,
    },
    OperatorTold {
        number: u32,
        cause: Worded<HandoffCause>,
        subject: String,
    },
    UnitDone {
        unit: Worded<CycleUnit>,
    },
    Asked {
        number: u32,
        cause: Worded<HandoffCause>,
        subject: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
        deadline: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overseer: Option<String>,
        evidence: StoredEvidence,
    },
    Told {
        number: u32,
    },
    Turned {
        stands: Worded<TurnStands>,
    },
    Answered {
        how: Worded<Answer>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
    },
    Completed {
        number: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    Symptom {
        number: u32,
        symptom: Worded<Symptom>,
        urgency: Worded<Urgency>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
}

pub(super) fn write(event: &HandoffEvent) -> Encoded {
    life::encode(LIFE, &StoredHandoff::from(event))
}

pub(super) fn read(kind: &str, payload: &[u8]) -> Result<AgentEvent, Damage> {
    let stored: StoredHandoff = life::decode(LIFE, kind, payload)?;
    Ok(AgentEvent::Handoff(Box::new(stored.try_into()?)))
}

impl From<&HandoffEvent> for StoredHandoff {
    fn from(event: &HandoffEvent) -> StoredHandoff {
        match event.clone() {
            HandoffEvent::Due { number, cause, subject } => {
                StoredHandoff::Due { number: number.0, cause: Worded(cause), subject }
            }
            HandoffEvent::OperatorTold { number, cause, subject } => {
                StoredHandoff::OperatorTold { number: number.0, cause: Worded(cause), subject }
            }
            HandoffEvent::UnitDone { unit } => StoredHandoff::UnitDone { unit: Worded(unit) },
            HandoffEvent::Asked(asked) => StoredHandoff::Asked {
                number: asked.number.0,
                cause: Worded(asked.cause),
                subject: asked.subject,
                notes: asked.notes,
                deadline: asked.deadline.0,
                overseer: asked.overseer.map(|id| id.to_string()),
                evidence: (&asked.evidence).into(),
            },
            HandoffEvent::Told { number } => StoredHandoff::Told { number: number.0 },
            HandoffEvent::Turned { stands } => StoredHandoff::Turned { stands: Worded(stands) },
            HandoffEvent::Answered { how, subject, notes } => {
                StoredHandoff::Answered { how: Worded(how), subject, notes }
            }
            HandoffEvent::Completed { number, stored } => {
                let WhatIsStored { checkpoint, snapshot, commit } = stored;
                StoredHandoff::Completed { number: number.0, checkpoint, snapshot, commit }
            }
            HandoffEvent::Symptom { number, symptom, urgency, is_again: again } => {
                let (symptom, urgency) = (Worded(symptom), Worded(urgency));
                StoredHandoff::Symptom { number: number.0, symptom, urgency, again }
            }
        }
    }
}

impl TryFrom<StoredHandoff> for HandoffEvent {
    type Error = Damage;

    fn try_from(stored: StoredHandoff) -> Result<HandoffEvent, Damage> {
        Ok(match stored {
            StoredHandoff::Due { number, cause, subject } => {
                HandoffEvent::Due { number: SessionNumber(number), cause: cause.0, subject }
            }
            StoredHandoff::OperatorTold { number, cause, subject } => HandoffEvent::OperatorTold {
                number: SessionNumber(number),
                cause: cause.0,
                subject,
            },
            StoredHandoff::UnitDone { unit } => HandoffEvent::UnitDone { unit: unit.0 },
            StoredHandoff::Asked {
                number,
                cause,
                subject,
                notes,
                deadline,
                overseer,
                evidence,
            } => HandoffEvent::Asked(HandoffAsked {
                number: SessionNumber(number),
                cause: cause.0,
                subject,
                notes,
                deadline: Time(deadline),
                overseer: overseer.as_deref().map(part::agent).transpose()?,
                evidence: evidence.try_into()?,
            }),
            StoredHandoff::Told { number } => HandoffEvent::Told { number: SessionNumber(number) },
            StoredHandoff::Turned { stands } => HandoffEvent::Turned { stands: stands.0 },
            StoredHandoff::Answered { how, subject, notes } => {
                HandoffEvent::Answered { how: how.0, subject, notes }
            }
            StoredHandoff::Completed { number, checkpoint, snapshot, commit } => {
                let stored = WhatIsStored { checkpoint, snapshot, commit };
                HandoffEvent::Completed { number: SessionNumber(number), stored }
            }
            StoredHandoff::Symptom { number, symptom, urgency, again: is_again } => {
                let (number, symptom, urgency) = (SessionNumber(number), symptom.0, urgency.0);
                HandoffEvent::Symptom { number, symptom, urgency, is_again }
            }
        })
    }
}
