//! The life of an escalation: a matter that somebody has to look at, raised step by step until one does.
//!
//! Pure. It is told as mail to one mailbox at a time. If nobody has seen it there in time, it is told to the next
//! one above (`ladder`), and so on up to the operator, who is the last step.
//!
//! Invariants
//! - ES1  Each step is one mail, recorded in the same batch as the event that says so; its id follows from the
//!   escalation's, so that a replay agrees.
//! - ES2  An escalation ends once: when any of its mails is seen or read, a person takes the newest back, or the task that a
//!   rule opened it about is over. What has ended leaves memory.
//! - ES3  No step is taken twice, and none leads to the one who raised the matter. The operator's is the last.
//! - ES4  A mail that comes back, since its recipient was buried, is raised at once.
//! - ES5  Who raised a matter stays in memory, dead or not, until the operator was told of it or somebody has seen it: who is
//!   above them is looked up at each step.

mod ladder;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::authority::{Caller, Standing};
use crate::effect::{Plan, Timer};
use crate::entity::Entity;
use crate::event::{Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::{AgentId, EscalationId, MessageId};
use crate::message::{
    Content, Mail, MailKind, Mailbox, MessageEvent, Priority, Sender, Withdrawer,
};
use crate::name::{Name, NameKey};
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::state::Roster;
use crate::text::{Text, TextBody};
use crate::time::Time;

/// How long one of high severity waits unseen, unless the operator has set another time.
pub const UNSEEN_AFTER: Duration = Duration::from_secs(900);
/// A ladder that is longer goes on with the operator.
const STEPS_MAX: usize = 16;

/// How much it matters; the time that it may stay unseen follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub const ALL: [Severity; 4] =
        [Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

    pub fn word(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    pub fn of_word(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|one| one.word() == word)
    }

    /// How long it may stay unseen, where one of high severity may for `high`.
    pub fn unseen_after(self, high: Duration) -> Duration {
        match self {
            Severity::Low => high * 16,
            Severity::Medium => high * 4,
            Severity::High => high,
            Severity::Critical => high / 4,
        }
    }

    fn priority(self) -> Priority {
        match self {
            Severity::Low | Severity::Medium => Priority::Normal,
            Severity::High => Priority::High,
            Severity::Critical => Priority::Urgent,
        }
    }
}

/// Why there is one: somebody's word, or a rule about tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EscalationCause {
    Asked,
    /// A task took more than twice its estimate.
    ScopeGrew,
    /// A task was split that others depend on.
    SplitHasDependants,
    /// An agent waits for something outside.
    BlockedOutside,
    /// The check of a task failed too often.
    ChecksFailed,
}

impl EscalationCause {
    pub const ALL: [EscalationCause; 5] = [
        EscalationCause::Asked,
        EscalationCause::ScopeGrew,
        EscalationCause::SplitHasDependants,
        EscalationCause::BlockedOutside,
        EscalationCause::ChecksFailed,
    ];

    pub fn word(self) -> &'static str {
        match self {
            EscalationCause::Asked => "asked",
            EscalationCause::ScopeGrew => "scope-grew",
            EscalationCause::SplitHasDependants => "split-has-dependants",
            EscalationCause::BlockedOutside => "blocked-outside",
            EscalationCause::ChecksFailed => "checks-failed",
        }
    }
}

/// Who is told at a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// The holder of a role that it has then.
    Role {
        role: String,
        holder: Option<AgentId>,
    },
    Agent(AgentId),
    Operator,
}

impl Step {
    pub fn mailbox(&self) -> Mailbox {
        match self {
            Step::Role { holder: Some(id), .. } | Step::Agent(id) => Mailbox::Agent(*id),
            Step::Role { role, holder: None } => Mailbox::Role(NameKey::of(role)),
            Step::Operator => Mailbox::Operator,
        }
    }
}

/// What an escalation says; it stays the same at every step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matter {
    pub by: Sender,
    /// The name that the agent had then.
    pub by_name: Option<Name>,
    pub cause: EscalationCause,
    pub severity: Severity,
    pub subject: String,
    pub text: Text,
    /// The beginning of the text, with its lines.
    pub excerpt: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EscalationEvent {
    Opened {
        matter: Box<Matter>,
        step: Step,
        /// When it is raised unless it is seen.
        until: Option<Time>,
    },
    /// Nobody has seen it, and it is told one step higher.
    Raised {
        step: Step,
        until: Option<Time>,
    },
    Ended {
        how: EscalationEnd,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EscalationEnd {
    Seen,
    Withdrawn,
}

impl EscalationEnd {
    pub const ALL: [EscalationEnd; 2] = [EscalationEnd::Seen, EscalationEnd::Withdrawn];

    pub fn word(self) -> &'static str {
        match self {
            EscalationEnd::Seen => "seen",
            EscalationEnd::Withdrawn => "withdrawn",
        }
    }
}

/// One that nobody has seen yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    pub id: EscalationId,
    pub matter: Matter,
    /// From the first to the present one.
    pub steps: Vec<Step>,
    pub opened_at: Time,
    pub until: Option<Time>,
}

impl Escalation {
    fn last_mail(&self) -> MessageId {
        mail_id(self.id, self.steps.len().saturating_sub(1))
    }

    fn has_mail(&self, mail: MessageId) -> bool {
        (0..self.steps.len()).any(|step| mail_id(self.id, step) == mail)
    }
}

/// ES1
pub fn mail_id(id: EscalationId, step: usize) -> MessageId {
    MessageId(id.0.wrapping_add(step as u128))
}

/// The escalations that nobody has seen yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Escalations {
    all: BTreeMap<EscalationId, Arc<Escalation>>,
}

impl Escalations {
    pub fn restore(all: impl IntoIterator<Item = Escalation>) -> Escalations {
        Escalations { all: all.into_iter().map(|one| (one.id, Arc::new(one))).collect() }
    }

    pub fn get(&self, id: EscalationId) -> Option<&Escalation> {
        self.all.get(&id).map(|one| &**one)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Escalation> {
        self.all.values().map(|one| &**one)
    }

    /// Whether a matter of this agent's may still be raised (ES5).
    pub fn climbs_for(&self, agent: AgentId) -> bool {
        let is_own = |one: &Escalation| one.matter.by == Sender::Agent(agent);
        self.iter().any(|one| is_own(one) && one.until.is_some())
    }

    /// The one that a mail is a step of.
    pub fn of_mail(&self, mail: MessageId) -> Option<&Escalation> {
        // Their mails' ids are just behind their own.
        let behind = mail.0.saturating_sub(STEPS_MAX as u128);
        let near = self.all.range(EscalationId(behind)..=EscalationId(mail.0));
        near.map(|(_, one)| &**one).find(|one| one.has_mail(mail))
    }

    /// Takes over another fleet's copy.
    pub fn share(&mut self, other: &Escalations, id: EscalationId) {
        if let Some(one) = other.all.get(&id) {
            self.all.insert(id, Arc::clone(one));
        }
    }

    /// Folds one event; returns what to plan again.
    pub fn evolve(&mut self, id: EscalationId, event: &EscalationEvent, at: Time) -> Vec<Entity> {
        // ES5: an agent in the cemetery may leave memory with it.
        let by = self.get(id).and_then(|one| one.matter.by.agent()).map(Entity::Agent);
        match event {
            EscalationEvent::Opened { matter, step, until } => {
                let (matter, steps) = ((**matter).clone(), vec![step.clone()]);
                let one = Escalation { id, matter, steps, opened_at: at, until: *until };
                self.all.insert(id, Arc::new(one));
            }
            EscalationEvent::Raised { step, until } => {
                if let Some(one) = self.all.get_mut(&id) {
                    let one = Arc::make_mut(one);
                    one.steps.push(step.clone());
                    one.until = *until;
                }
            }
            EscalationEvent::Ended { .. } => _ = self.all.remove(&id),
        }
        [Entity::Escalation(id)].into_iter().chain(by).collect()
    }

    /// ES4: what happened to a mail may leave a step without anybody who could see it.
    pub fn mail_changed(&mut self, mail: MessageId, event: &MessageEvent, at: Time) -> Vec<Entity> {
        if !matches!(event, MessageEvent::Returned) {
            return Vec::new();
        }
        let found = self.of_mail(mail).filter(|one| one.last_mail() == mail).map(|one| one.id);
        let Some(one) = found.and_then(|id| self.all.get_mut(&id)) else { return Vec::new() };
        Arc::make_mut(one).until = Some(at);
        vec![Entity::Escalation(one.id)]
    }
}

/// To whom an escalation goes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EscalateTo {
    Role {
        role: Name,
        /// A project of an agent declares it.
        is_declared: bool,
    },
    /// Of the agent that escalates; without one, the operator.
    Parent,
    Operator,
}

/// Something that somebody wants looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscalationDraft {
    pub id: EscalationId,
    pub to: EscalateTo,
    pub severity: Severity,
    pub subject: String,
    pub body: TextBody,
    pub excerpt: String,
}

/// Somebody escalates.
pub fn escalate(
    fleet: &Fleet,
    caller: Caller,
    draft: &EscalationDraft,
    now: Time,
) -> Result<Decision, Refusal> {
    fleet.authorise(caller, Verb::Escalate, None)?;
    let by = match caller {
        Caller::Person => Sender::Person,
        Caller::Agent(id) => {
            // ES5: nobody speaks for the dead, who may have left memory.
            let (agent, verb) = (fleet.find(&id.to_string())?, Verb::Escalate);
            if agent.state.roster() == Roster::Cemetery {
                return Err(Refusal::WrongState { agent: id, verb, state: agent.state });
            }
            Sender::Agent(id)
        }
        Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            let (verb, standing) = (Verb::Escalate, Standing::NoTarget);
            return Err(Refusal::NotAllowed { caller, verb, standing });
        }
    };
    let step = ladder::first(fleet, by, &draft.to)?;
    let mailbox = step.mailbox();
    crate::message::has_room(fleet, (by, fleet.eldest_ancestor(by)), &mailbox)?;
    let cause = EscalationCause::Asked;
    let matter = matter(fleet, by, cause, draft);
    let read = mailbox.agent().map(Entity::Agent).into_iter().collect();
    let events = opened(fleet, draft.id, matter, step, now);
    let about = vec![Entity::Escalation(draft.id)];
    Ok(Decision { about, read, events, texts: vec![draft.body.clone()] })
}

/// An escalation that follows from a rule: about the agent `about`, to its overseeing role, its parent or the operator.
/// Whoever records the events also records the text.
pub fn automatic(
    fleet: &Fleet,
    about: AgentId,
    cause: EscalationCause,
    draft: &EscalationDraft,
    now: Time,
) -> Vec<Event> {
    let by = Sender::Agent(about);
    // What a rule says is never refused: with nobody above, the operator is told.
    let step = ladder::first(fleet, by, &draft.to).unwrap_or(Step::Operator);
    opened(fleet, draft.id, matter(fleet, by, cause, draft), step, now)
}

fn matter(fleet: &Fleet, by: Sender, cause: EscalationCause, draft: &EscalationDraft) -> Matter {
    Matter {
        by,
        by_name: by.agent().and_then(|id| fleet.agent(id)).and_then(|agent| agent.name.clone()),
        cause,
        severity: draft.severity,
        subject: draft.subject.clone(),
        text: draft.body.text.clone(),
        excerpt: draft.excerpt.clone(),
    }
}

/// ES1
fn opened(fleet: &Fleet, id: EscalationId, matter: Matter, step: Step, now: Time) -> Vec<Event> {
    let until = until(fleet, &matter, &step, now);
    let mail = mail(fleet, mail_id(id, 0), &matter, &step, None);
    let opened = EscalationEvent::Opened { matter: Box::new(matter), step, until };
    [What::Escalation(id, opened), mail].map(|what| Event { at: now, what }).into()
}

/// The operator's step is the last one.
fn until(fleet: &Fleet, matter: &Matter, step: &Step, now: Time) -> Option<Time> {
    let high = fleet.policy().escalate_after.unwrap_or(UNSEEN_AFTER);
    match step {
        Step::Operator => None,
        Step::Role { .. } | Step::Agent(_) => Some(now + matter.severity.unseen_after(high)),
    }
}

/// A step as mail. Our words stand before the subject.
fn mail(fleet: &Fleet, id: MessageId, matter: &Matter, step: &Step, unseen: Option<&Step>) -> What {
    let name = |id: AgentId| {
        let name = fleet.agent(id).and_then(|agent| agent.name.as_ref());
        name.map_or_else(|| id.to_string(), ToString::to_string)
    };
    let raised = match unseen {
        None => String::new(),
        Some(Step::Role { role, holder: None }) => format!(", not seen by role:{role}"),
        Some(Step::Role { holder: Some(id), .. } | Step::Agent(id)) => {
            format!(", not seen by {}", name(*id))
        }
        Some(Step::Operator) => ", not seen by operator".to_owned(),
    };
    let to = step.mailbox();
    let mail = Mail {
        thread: id,
        subject: format!("escalation ({}{raised}): {}", matter.severity.word(), matter.subject),
        priority: matter.severity.priority(),
        text: matter.text.clone(),
        excerpt: matter.excerpt.clone(),
        sender_name: matter.by_name.clone(),
        eldest_ancestor: fleet.eldest_ancestor(matter.by),
        role: match step {
            Step::Role { role, .. } => Some(role.clone()),
            Step::Agent(_) | Step::Operator => None,
        },
        recipient: None,
        // ES4: it goes on by the ladder, and to nobody else.
        is_copy: true,
        kind: MailKind::Letter,
    };
    let content = Content::Mail(Box::new(mail));
    What::Message(id, MessageEvent::Recorded { to, from: matter.by, content })
}

/// When it is raised.
pub fn plan(escalations: &Escalations, id: EscalationId) -> Plan {
    let until = escalations.get(id).and_then(|one| one.until);
    let timers = until.map(|at| (Timer::Unseen, at)).into_iter().collect();
    Plan { effects: Vec::new(), timers }
}

/// Its time has come: it is told one step higher.
pub fn due(fleet: &Fleet, id: EscalationId, now: Time) -> Vec<Event> {
    let Some(one) = fleet.escalations().get(id) else { return Vec::new() };
    if one.until.is_none_or(|until| until > now) {
        return Vec::new();
    }
    let step = match one.steps.len() < STEPS_MAX - 1 {
        true => ladder::next(fleet, &one.matter, &one.steps),
        false => Step::Operator,
    };
    let until = until(fleet, &one.matter, &step, now);
    let mail = mail(fleet, mail_id(id, one.steps.len()), &one.matter, &step, one.steps.last());
    let raised = EscalationEvent::Raised { step, until };
    [What::Escalation(id, raised), mail].map(|what| Event { at: now, what }).into()
}

/// ES2: what follows from what happened to a mail.
pub fn mail_over(fleet: &Fleet, mail: MessageId, event: &MessageEvent) -> Option<What> {
    let one = fleet.escalations().of_mail(mail)?;
    let how = match event {
        MessageEvent::Seen { .. } | MessageEvent::Read { .. } => EscalationEnd::Seen,
        MessageEvent::Entered { is_last: true, .. } => EscalationEnd::Seen,
        MessageEvent::Withdrawn { by: Withdrawer::Person } if one.last_mail() == mail => {
            EscalationEnd::Withdrawn
        }
        MessageEvent::Recorded { .. }
        | MessageEvent::Offered { .. }
        | MessageEvent::Entered { .. }
        | MessageEvent::Held { .. }
        | MessageEvent::Heard { .. }
        | MessageEvent::Blocked { .. }
        | MessageEvent::Withdrawn { .. }
        | MessageEvent::Returned
        | MessageEvent::Forwarded { .. } => return None,
    };
    Some(What::Escalation(one.id, EscalationEvent::Ended { how }))
}

#[cfg(test)]
#[path = "escalation/tests.rs"]
mod tests;
