//! Signals and escalations as the surface shows them.

use perennial_api::event as wire;
use perennial_core::escalation::{EscalationEvent, Step};
use perennial_core::signal::SignalEvent;
use perennial_core::visibility::Private;

use super::Writer;
use super::parts::text;
use crate::daemon::showing::{sentences, signal};
use crate::daemon::time::rfc3339;

impl Writer {
    pub(super) fn signal(&mut self, event: &SignalEvent) -> wire::What {
        let SignalEvent::Sent { kind, by, to, payload, .. } = event;
        wire::What::SignalSent {
            signal: kind.word().to_owned(),
            by: by.agent().map_or_else(|| sentences::sender(*by).to_owned(), |id| id.to_string()),
            to: to.to_string(),
            payload: self.private(Private::Texts, "payload", signal::json(payload)),
        }
    }

    pub(super) fn escalation(&mut self, event: &EscalationEvent) -> wire::What {
        match event {
            EscalationEvent::Opened { matter, step, until } => {
                let by = matter.by.agent().map(|id| id.to_string());
                let by = by.unwrap_or_else(|| sentences::sender(matter.by).to_owned());
                wire::What::EscalationOpened {
                    by,
                    cause: matter.cause.word().to_owned(),
                    severity: matter.severity.word().to_owned(),
                    subject: self.private(Private::Texts, "subject", matter.subject.clone()),
                    text: self.private(Private::Texts, "text", text(&matter.text)),
                    to: of_step(step),
                    until: until.map(rfc3339),
                }
            }
            EscalationEvent::Raised { step, until } => {
                wire::What::EscalationRaised { to: of_step(step), until: until.map(rfc3339) }
            }
            EscalationEvent::Ended { how } => {
                wire::What::EscalationEnded { how: how.word().to_owned() }
            }
        }
    }
}

fn of_step(step: &Step) -> String {
    step.mailbox().to_string()
}
