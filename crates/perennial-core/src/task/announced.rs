//! What a change of a task says beyond its letters, in the batch of the change: the signals VALIDATION_PASSED and
//! VALIDATION_FAILED, and escalations that follow from a rule (G-08).
//!
//! Pure; decides nothing about the task itself. The words of an escalation by rule are in its events, as those of a letter
//! are.

use std::sync::Arc;

use super::letters::{self, Words};
use super::{BlockedOn, Task, TaskEvent, Verifier, exceeds_estimate, has_dependants};
use crate::escalation::{
    self, EscalateTo, Escalation, EscalationCause, EscalationDraft, EscalationEnd, EscalationEvent,
    Severity,
};
use crate::event::{Event, What};
use crate::fleet::Fleet;
use crate::id::{AgentId, EscalationId, SignalId, TaskId, derived};
use crate::message::{Mailbox, Sender};
use crate::signal::{Payload, SignalEvent, SignalKind, Value};
use crate::text::{Digest, Text, TextBody, beginning, ending};
use crate::time::Time;

/// As long as a reason may be in a signal, and an output.
const REASON_BYTES: usize = 480;
const OUTPUT_BYTES: usize = 2000;

/// What follows from `event`, which made the task `after`.
pub(super) fn announced(
    fleet: &Fleet,
    before: Option<&Task>,
    after: &Task,
    event: &TaskEvent,
    now: Time,
) -> Vec<What> {
    let mut announced: Vec<What> = signal(fleet, after, event, now).into_iter().collect();
    if let Some((cause, severity, words)) = rule(fleet, before, after, event)
        && let Some(worker) = after.worker
    {
        let draft = draft(after, cause, severity, &words, now);
        let events = escalation::automatic(fleet, worker, cause, &draft, now);
        announced.extend(events.into_iter().map(|event: Event| event.what));
    }
    announced.extend(settled(fleet, after, event));
    announced
}

/// Whether a claim was found to be true, for the agent that made it.
fn signal(fleet: &Fleet, task: &Task, event: &TaskEvent, now: Time) -> Option<What> {
    let mut payload = Payload::from([("node_id".to_owned(), Value::Text(task.id.to_string()))]);
    let (kind, by, agent) = match event {
        TaskEvent::Verified { by, agent } => {
            let feedback = Value::Text(beginning(&passed_by(by), REASON_BYTES));
            payload.insert("feedback".to_owned(), feedback);
            let by = match by {
                Verifier::Parent(id) => Sender::Agent(*id),
                Verifier::Operator => Sender::Person,
                Verifier::Check(_) | Verifier::Trust(_) | Verifier::Parts => Sender::Perennial,
            };
            (SignalKind::ValidationPassed, by, (*agent)?)
        }
        TaskEvent::Returned { by, agent, reason, .. } => {
            failed(&mut payload, task, *by, reason);
            (SignalKind::ValidationFailed, *by, *agent)
        }
        TaskEvent::Blocked { by, on: BlockedOn::Rounds, reason } => {
            failed(&mut payload, task, *by, reason);
            (SignalKind::ValidationFailed, *by, task.worker?)
        }
        TaskEvent::Added { .. }
        | TaskEvent::Queued { .. }
        | TaskEvent::Taken { .. }
        | TaskEvent::Continued { .. }
        | TaskEvent::Noted { .. }
        | TaskEvent::Stepped { .. }
        | TaskEvent::Blocked { on: BlockedOn::Work | BlockedOn::Outside, .. }
        | TaskEvent::Counted { .. }
        | TaskEvent::Claimed { .. }
        | TaskEvent::CheckWanted { .. }
        | TaskEvent::CheckEnded { .. }
        | TaskEvent::Reopened { .. }
        | TaskEvent::Split { .. }
        | TaskEvent::PartAdded { .. }
        | TaskEvent::Dropped { .. }
        | TaskEvent::Left { .. }
        | TaskEvent::Raised { .. } => return None,
    };
    let name = |id: AgentId| fleet.agent(id).and_then(|agent| agent.name.clone());
    let sent = SignalEvent::Sent {
        kind,
        by,
        by_name: by.agent().and_then(name),
        to: Mailbox::Agent(agent),
        to_name: name(agent),
        payload,
    };
    Some(What::Signal(SignalId(derived(task.id.0 ^ (1 << 40), now, 0)), sent))
}

fn passed_by(by: &Verifier) -> String {
    match by {
        Verifier::Check(Some(check)) => format!("verified by the check {}", check.as_str()),
        Verifier::Check(None)
        | Verifier::Parent(_)
        | Verifier::Operator
        | Verifier::Trust(_)
        | Verifier::Parts => format!("verified by {}", by.word()),
    }
}

fn failed(payload: &mut Payload, task: &Task, by: Sender, reason: &str) {
    let reason = Value::Text(beginning(reason, REASON_BYTES));
    payload.insert("reason".to_owned(), reason);
    // A check's output belongs to a check's verdict only.
    if let (Sender::Perennial, Some(check)) = (by, &task.last_check) {
        let output = Value::Text(ending(&check.output, OUTPUT_BYTES));
        payload.insert("output".to_owned(), output);
    }
}

/// The rule that asks for an escalation. What a person does to a task needs nobody's attention.
fn rule(
    fleet: &Fleet,
    before: Option<&Task>,
    after: &Task,
    event: &TaskEvent,
) -> Option<(EscalationCause, Severity, Words)> {
    match event {
        TaskEvent::Blocked { on: BlockedOn::Rounds, .. } => {
            Some((EscalationCause::ChecksFailed, Severity::High, letters::gave_up(after)))
        }
        TaskEvent::Blocked { by: Sender::Agent(_), on: BlockedOn::Outside, .. } => {
            let words = letters::blocked_outside(after);
            Some((EscalationCause::BlockedOutside, Severity::High, words))
        }
        TaskEvent::Split { by: Sender::Agent(_), into }
            if has_dependants(fleet.tasks(), after.id) =>
        {
            let words = letters::split_has_dependants(after, into.len());
            Some((EscalationCause::SplitHasDependants, Severity::Medium, words))
        }
        TaskEvent::Counted { .. }
        | TaskEvent::Stepped { by: Sender::Agent(_), .. }
        | TaskEvent::Claimed { by: Sender::Agent(_), .. } => {
            let is_news = exceeds_estimate(after) && !before.is_some_and(exceeds_estimate);
            let words = || letters::scope_grew(after);
            is_news.then(|| (EscalationCause::ScopeGrew, Severity::Medium, words()))
        }
        TaskEvent::Blocked { .. }
        | TaskEvent::Split { .. }
        | TaskEvent::Stepped { .. }
        | TaskEvent::Claimed { .. }
        | TaskEvent::Added { .. }
        | TaskEvent::Queued { .. }
        | TaskEvent::Taken { .. }
        | TaskEvent::Continued { .. }
        | TaskEvent::Noted { .. }
        | TaskEvent::CheckWanted { .. }
        | TaskEvent::CheckEnded { .. }
        | TaskEvent::Verified { .. }
        | TaskEvent::Returned { .. }
        | TaskEvent::Reopened { .. }
        | TaskEvent::PartAdded { .. }
        | TaskEvent::Dropped { .. }
        | TaskEvent::Left { .. }
        | TaskEvent::Raised { .. } => None,
    }
}

/// It follows from the task, the rule and the moment: so what is about a task is found again.
fn escalation_id(task: TaskId, cause: EscalationCause, at: Time) -> EscalationId {
    EscalationId(derived(task.0 ^ (u128::from(cause as u8) + 1) << 36, at, 0))
}

/// The open escalations of a rule that nobody has to see any more: the task is over, or no longer waits for what was outside.
fn settled(fleet: &Fleet, task: &Task, event: &TaskEvent) -> Vec<What> {
    let is_over = match event {
        TaskEvent::Verified { .. } | TaskEvent::Dropped { .. } => true,
        TaskEvent::Taken { .. }
        | TaskEvent::Queued { .. }
        | TaskEvent::Reopened { .. }
        | TaskEvent::Split { .. } => false,
        TaskEvent::Added { .. }
        | TaskEvent::PartAdded { .. }
        | TaskEvent::Continued { .. }
        | TaskEvent::Counted { .. }
        | TaskEvent::Noted { .. }
        | TaskEvent::Stepped { .. }
        | TaskEvent::Blocked { .. }
        | TaskEvent::Claimed { .. }
        | TaskEvent::CheckWanted { .. }
        | TaskEvent::CheckEnded { .. }
        | TaskEvent::Returned { .. }
        | TaskEvent::Left { .. }
        | TaskEvent::Raised { .. } => return Vec::new(),
    };
    let is_settled = |one: &&Escalation| {
        let cause = one.matter.cause;
        let is_its = cause != EscalationCause::Asked
            && one.id == escalation_id(task.id, cause, one.opened_at);
        is_its && (is_over || cause == EscalationCause::BlockedOutside)
    };
    let ended = EscalationEvent::Ended { how: EscalationEnd::Withdrawn };
    let settled = fleet.escalations().iter().filter(is_settled);
    settled.map(|one| What::Escalation(one.id, ended.clone())).collect()
}

fn draft(
    task: &Task,
    cause: EscalationCause,
    severity: Severity,
    words: &Words,
    now: Time,
) -> EscalationDraft {
    let excerpt = beginning(&words.text, letters::LETTER_BYTES_MAX);
    let head = excerpt.lines().next().unwrap_or_default().to_owned();
    let text = Text { digest: Digest::WITH_ITS_EVENT, bytes: excerpt.len() as u64, head };
    EscalationDraft {
        id: escalation_id(task.id, cause, now),
        to: EscalateTo::Parent,
        severity,
        subject: beginning(&words.subject, letters::QUOTED_BYTES_MAX),
        body: TextBody { text, body: Arc::from(excerpt.as_str()) },
        excerpt,
    }
}
