//! Escalations as they are stored.

use perennial_core::escalation::{
    EscalationCause, EscalationEnd, EscalationEvent, Matter, Severity, Step,
};
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::mail;
use super::part::{self, StoredText};
use super::word::Worded;
use crate::record::Damage;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] =
    &[("escalation-opened", 1), ("escalation-raised", 1), ("escalation-ended", 1)];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored {
    Opened {
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_name: Option<String>,
        cause: Worded<EscalationCause>,
        severity: Worded<Severity>,
        subject: String,
        text: StoredText,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        excerpt: String,
        step: StoredStep,
        until: Option<u64>,
    },
    Raised {
        step: StoredStep,
        until: Option<u64>,
    },
    Ended {
        how: Worded<EscalationEnd>,
    },
}

/// Without a role and an agent: the operator.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredStep {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
}

impl From<&Step> for StoredStep {
    fn from(step: &Step) -> StoredStep {
        let (role, agent) = match step {
            Step::Role { role, holder } => (Some(role.clone()), *holder),
            Step::Agent(id) => (None, Some(*id)),
            Step::Operator => (None, None),
        };
        StoredStep { role, agent: agent.map(|id| id.to_string()) }
    }
}

impl TryFrom<StoredStep> for Step {
    type Error = Damage;

    fn try_from(StoredStep { role, agent }: StoredStep) -> Result<Step, Damage> {
        let agent = agent.as_deref().map(part::agent).transpose()?;
        Ok(match (role, agent) {
            (Some(role), holder) => Step::Role { role, holder },
            (None, Some(id)) => Step::Agent(id),
            (None, None) => Step::Operator,
        })
    }
}

impl From<&EscalationEvent> for Stored {
    fn from(event: &EscalationEvent) -> Stored {
        match event {
            EscalationEvent::Opened { matter, step, until } => Stored::Opened {
                by: mail::written_sender(matter.by),
                by_name: matter.by_name.as_ref().map(ToString::to_string),
                cause: Worded(matter.cause),
                severity: Worded(matter.severity),
                subject: matter.subject.clone(),
                text: (&matter.text).into(),
                excerpt: matter.excerpt.clone(),
                step: step.into(),
                until: until.map(|until| until.0),
            },
            EscalationEvent::Raised { step, until } => {
                Stored::Raised { step: step.into(), until: until.map(|until| until.0) }
            }
            EscalationEvent::Ended { how } => Stored::Ended { how: Worded(*how) },
        }
    }
}

impl TryFrom<Stored> for EscalationEvent {
    type Error = Damage;

    fn try_from(stored: Stored) -> Result<EscalationEvent, Damage> {
        match stored {
            Stored::Opened {
                by,
                by_name,
                cause,
                severity,
                subject,
                text,
                excerpt,
                step,
                until,
            } => {
                let matter = Matter {
                    by: mail::sender(&by)?,
                    by_name: by_name.as_deref().map(part::name).transpose()?,
                    cause: cause.0,
                    severity: severity.0,
                    subject,
                    text: text.try_into()?,
                    excerpt,
                };
                let (step, until) = (step.try_into()?, until.map(Time));
                Ok(EscalationEvent::Opened { matter: Box::new(matter), step, until })
            }
            Stored::Raised { step, until } => {
                Ok(EscalationEvent::Raised { step: step.try_into()?, until: until.map(Time) })
            }
            Stored::Ended { how } => Ok(EscalationEvent::Ended { how: how.0 }),
        }
    }
}
