//! What happened about a handoff, as clients get it. Subject and notes are somebody's words to an agent, as texts are.

use perennial_api::event as wire;
use perennial_api::event::HandoffWhat;
use perennial_core::handoff::{HandoffAsked, HandoffEvent};
use perennial_core::visibility::Private;

use super::Writer;
use crate::daemon::time::rfc3339;

impl Writer {
    pub(super) fn handoff(&mut self, event: &HandoffEvent) -> wire::What {
        wire::What::Handoff(match event {
            HandoffEvent::Due { number, cause, subject } => HandoffWhat::Due {
                number: number.0,
                cause: cause.word().to_owned(),
                subject: subject.clone(),
            },
            HandoffEvent::OperatorTold { number, cause, subject } => HandoffWhat::OperatorTold {
                number: number.0,
                cause: cause.word().to_owned(),
                subject: subject.clone(),
            },
            HandoffEvent::UnitDone { unit } => {
                HandoffWhat::UnitDone { unit: unit.word().to_owned() }
            }
            HandoffEvent::Asked(asked) => self.handoff_asked(asked),
            HandoffEvent::Told { number } => HandoffWhat::Told { number: number.0 },
            HandoffEvent::Turned { stands } => {
                HandoffWhat::Turned { stands: stands.word().to_owned() }
            }
            HandoffEvent::Answered { how, subject, notes } => HandoffWhat::Answered {
                how: how.word().to_owned(),
                subject: self.handoff_words("subject", subject.as_ref()),
                notes: self.handoff_words("notes", notes.as_ref()),
            },
            HandoffEvent::Completed { number, stored } => HandoffWhat::Completed {
                number: number.0,
                checkpoint: stored.checkpoint,
                snapshot: stored.snapshot,
                commit: stored.commit.clone(),
            },
            HandoffEvent::Symptom { number, symptom, urgency, is_again } => HandoffWhat::Symptom {
                number: number.0,
                symptom: symptom.word().to_owned(),
                urgency: urgency.word().to_owned(),
                is_again: *is_again,
            },
        })
    }

    fn handoff_asked(&mut self, asked: &HandoffAsked) -> HandoffWhat {
        HandoffWhat::Asked {
            number: asked.number.0,
            cause: asked.cause.word().to_owned(),
            subject: self.handoff_words("subject", Some(&asked.subject)),
            notes: self.handoff_words("notes", asked.notes.as_ref()),
            deadline: rfc3339(asked.deadline),
            overseer: asked.overseer.map(|id| id.to_string()),
            evidence: self.evidence(&asked.evidence),
        }
    }

    fn handoff_words(&mut self, member: &str, words: Option<&String>) -> Option<String> {
        self.private(Private::Texts, member, words?.clone())
    }
}
