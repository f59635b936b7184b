//! What is held against the record of escalations. Made from the fields of events alone; the ladder and the waits are
//! read again from the model's page, not from the core.
//!
//! Rules
//! - JU16 An escalation is told to one mailbox at a time, by a mail of the same append: to the nearest ancestor outside
//!   the cemetery who was not told, at last to the operator. It is raised when its time has come and not before, ends when
//!   one of its mails is seen, read or taken back, and only then. Whom nobody can reach any more is left at once.

use std::collections::BTreeMap;
use std::time::Duration;

use perennial_core::escalation::{
    EscalationCause, EscalationEnd, EscalationEvent, Matter, Severity, Step,
};
use perennial_core::event::{Event, What};
use perennial_core::id::{AgentId, EscalationId, MessageId};
use perennial_core::message::{Mailbox, MessageEvent, Sender, Withdrawer};
use perennial_core::time::Time;

use super::{Judge, Verdict, broken};

const RULE: &str = "JU16: escalations";
/// What the model says where the operator says nothing: a quarter of an hour, for high severity.
const UNSEEN: Duration = Duration::from_secs(900);

#[derive(Debug, Default)]
pub struct Escalations {
    open: BTreeMap<EscalationId, Open>,
    /// What the operator has set.
    pub unseen_after: Option<Duration>,
}

/// One that nobody has seen.
#[derive(Debug)]
struct Open {
    by: Sender,
    severity: Severity,
    told: Vec<Mailbox>,
    until: Option<Time>,
}

impl Open {
    fn mail(&self, id: EscalationId, step: usize) -> MessageId {
        debug_assert!(step <= self.told.len());
        MessageId(id.0 + step as u128)
    }

    /// Which of its mails this is, counted from 0.
    fn place(&self, id: EscalationId, mail: MessageId) -> Option<usize> {
        (0..self.told.len()).find(|step| self.mail(id, *step) == mail)
    }
}

fn mailbox(step: &Step) -> Mailbox {
    match step {
        Step::Agent(id) | Step::Role { holder: Some(id), .. } => Mailbox::Agent(*id),
        Step::Role { role, holder: None } => Mailbox::Role(perennial_core::name::NameKey::of(role)),
        Step::Operator => Mailbox::Operator,
    }
}

/// By how much the wait of this severity differs from that of a high one.
fn waits(severity: Severity, high: Duration) -> Duration {
    match severity {
        Severity::Low => 16 * high,
        Severity::Medium => 4 * high,
        Severity::High => high,
        Severity::Critical => high / 4,
    }
}

impl Judge {
    /// JU16, of one append: an append has its events by stream, so that their order says nothing.
    pub(super) fn escalations_follow(&mut self, events: &[Event]) -> Verdict {
        self.mails_were_returned(events);
        for event in events {
            let What::Escalation(id, what) = &event.what else { continue };
            match what {
                EscalationEvent::Opened { matter, step, until } => {
                    self.opened(*id, matter, (step, *until), event.at, events)?;
                }
                EscalationEvent::Raised { step, until } => {
                    self.raised(*id, (step, *until), event.at, events)?;
                }
                EscalationEvent::Ended { how } => self.ended(*id, *how, events)?,
            }
        }
        self.seen_has_ended(events)
    }

    /// Nobody sees what has come back: its time has come.
    fn mails_were_returned(&mut self, events: &[Event]) {
        for event in events {
            let What::Message(mail, MessageEvent::Returned) = &event.what else { continue };
            for (id, open) in &mut self.escalations.open {
                if open.place(*id, *mail).is_some_and(|place| place + 1 == open.told.len()) {
                    open.until = Some(event.at);
                }
            }
        }
    }

    fn opened(
        &mut self,
        id: EscalationId,
        matter: &Matter,
        (step, until): (&Step, Option<Time>),
        at: Time,
        events: &[Event],
    ) -> Verdict {
        let (by, severity, to) = (matter.by, matter.severity, mailbox(step));
        let is_free = match (&to, matter.cause) {
            (Mailbox::Operator | Mailbox::Role(_), EscalationCause::Asked) => true,
            (Mailbox::Agent(_), EscalationCause::Asked) => false,
            (
                Mailbox::Operator | Mailbox::Role(_) | Mailbox::Agent(_),
                EscalationCause::ScopeGrew
                | EscalationCause::SplitHasDependants
                | EscalationCause::BlockedOutside
                | EscalationCause::ChecksFailed,
            ) => false,
        };
        if !is_free {
            self.is_above(by, &[], &to)?;
        }
        let open = Open { by, severity, told: vec![to], until };
        self.keeps_its_time(&open, at)?;
        is_told(id, &open, events)?;
        match self.escalations.open.insert(id, open) {
            Some(_) => broken(RULE, format!("{id} is opened again")),
            None => Ok(()),
        }
    }

    fn raised(
        &mut self,
        id: EscalationId,
        (step, until): (&Step, Option<Time>),
        at: Time,
        events: &[Event],
    ) -> Verdict {
        let Some(mut open) = self.escalations.open.remove(&id) else {
            return broken(RULE, format!("{id} is raised and not open"));
        };
        if open.until.is_none_or(|until| at < until) {
            return broken(RULE, format!("{id} is raised at {at:?}, its time is {:?}", open.until));
        }
        self.is_above(open.by, &open.told, &mailbox(step))?;
        open.told.push(mailbox(step));
        open.until = until;
        self.keeps_its_time(&open, at)?;
        is_told(id, &open, events)?;
        self.escalations.open.insert(id, open);
        Ok(())
    }

    /// Whether the last one to be told stands above those who were told before.
    fn is_above(&self, by: Sender, told: &[Mailbox], to: &Mailbox) -> Verdict {
        let expected = match by.agent() {
            Some(id) if !self.knows_ancestors(id) => return Ok(()),
            Some(id) => {
                let is_told = |one: &AgentId| told.contains(&Mailbox::Agent(*one));
                let mut above = self.upwards(id).skip(1);
                let next = above.find(|one| self.is_living(*one) && !is_told(one));
                next.map_or(Mailbox::Operator, Mailbox::Agent)
            }
            None => Mailbox::Operator,
        };
        match *to == expected {
            true => Ok(()),
            false => broken(RULE, format!("told {to:?} after {told:?}, not {expected:?}")),
        }
    }

    fn keeps_its_time(&self, open: &Open, at: Time) -> Verdict {
        let high = self.escalations.unseen_after.unwrap_or(UNSEEN);
        let expected = match open.told.last() {
            Some(Mailbox::Operator) | None => None,
            Some(Mailbox::Agent(_) | Mailbox::Role(_)) => Some(at + waits(open.severity, high)),
        };
        match open.until == expected {
            true => Ok(()),
            false => broken(RULE, format!("waits until {:?}, not {expected:?}", open.until)),
        }
    }

    fn ended(&mut self, id: EscalationId, how: EscalationEnd, events: &[Event]) -> Verdict {
        let Some(open) = self.escalations.open.remove(&id) else {
            return broken(RULE, format!("{id} ends and is not open"));
        };
        let is_cause = |event: &Event| {
            let What::Message(mail, what) = &event.what else { return false };
            open.place(id, *mail).is_some_and(|place| ends(&open, place, what) == Some(how))
        };
        match events.iter().any(is_cause) {
            true => Ok(()),
            false => broken(RULE, format!("{id} ends as {how:?} without a mail that says so")),
        }
    }

    /// Those that ended are not open any more.
    fn seen_has_ended(&self, events: &[Event]) -> Verdict {
        for event in events {
            let What::Message(mail, what) = &event.what else { continue };
            for (id, open) in &self.escalations.open {
                let how = open.place(*id, *mail).and_then(|place| ends(open, place, what));
                if let Some(how) = how {
                    return broken(RULE, format!("{id} is {how:?} by {mail} and goes on"));
                }
            }
        }
        Ok(())
    }

    /// At rest nothing is overdue; once everybody is buried, nobody of them is waited for.
    pub fn escalations_at_rest(&self, now: Time, is_everybody_buried: bool) -> Verdict {
        for (id, open) in &self.escalations.open {
            if open.until.is_some_and(|until| until < now) {
                return broken(RULE, format!("{id} was not raised: {open:?}"));
            }
            if is_everybody_buried && matches!(open.told.last(), Some(Mailbox::Agent(_))) {
                return broken(RULE, format!("{id} waits for the buried: {open:?}"));
            }
        }
        Ok(())
    }

    /// A mail of one that is open, with whose mailbox it is in.
    pub fn open_escalations(&self) -> Vec<(MessageId, Mailbox)> {
        let mails = |(id, open): (&EscalationId, &Open)| {
            let mails = open.told.iter().enumerate();
            mails.map(|(place, to)| (open.mail(*id, place), to.clone())).collect::<Vec<_>>()
        };
        self.escalations.open.iter().flat_map(mails).collect()
    }
}

/// Whether what happened to a mail ends its escalation.
fn ends(open: &Open, place: usize, event: &MessageEvent) -> Option<EscalationEnd> {
    match event {
        MessageEvent::Seen { .. }
        | MessageEvent::Read { .. }
        | MessageEvent::Entered { is_last: true, .. } => Some(EscalationEnd::Seen),
        MessageEvent::Withdrawn { by: Withdrawer::Person } if place + 1 == open.told.len() => {
            Some(EscalationEnd::Withdrawn)
        }
        MessageEvent::Recorded { .. }
        | MessageEvent::Offered { .. }
        | MessageEvent::Entered { .. }
        | MessageEvent::Held { .. }
        | MessageEvent::Heard { .. }
        | MessageEvent::Blocked { .. }
        | MessageEvent::Withdrawn { .. }
        | MessageEvent::Returned
        | MessageEvent::Forwarded { .. } => None,
    }
}

/// Whether the append has the mail of the last step, to it and from who escalates.
fn is_told(id: EscalationId, open: &Open, events: &[Event]) -> Verdict {
    let mail = open.mail(id, open.told.len() - 1);
    let is_it = |event: &Event| {
        let What::Message(one, MessageEvent::Recorded { to, from, .. }) = &event.what else {
            return false;
        };
        *one == mail && Some(to) == open.told.last() && *from == open.by
    };
    match events.iter().any(is_it) {
        true => Ok(()),
        false => broken(RULE, format!("{id} has no mail {mail} to {:?}", open.told.last())),
    }
}
