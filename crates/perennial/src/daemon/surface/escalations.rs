//! Escalations: opened here, listed newest first: those that nobody has seen from memory, all of them from the journal. When
//! one is raised is decided by the core.

use axum::extract::State;
use perennial_api::escalation::{Escalate, Escalation, SUBJECT_LIMIT, Severity as WireSeverity};
use perennial_api::mail::TEXT_LIMIT;
use perennial_api::query;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::escalation::{
    self, EscalateTo, EscalationDraft, EscalationEvent, Matter, Severity, Step,
};
use perennial_core::event::What;
use perennial_core::id::{AgentId, EscalationId};
use perennial_core::message::{Addressee, Sender};
use perennial_core::reason::Verb;
use perennial_core::time::Time;
use perennial_core::visibility::Private;
use perennial_engine::harness::mail_texts;
use perennial_store::journal::Version;
use perennial_store::{Store, text};

use super::answer::{Answer, ProblemResponse};
use super::extract::{CallerIdentity, Query};
use super::form::Form;
use super::{Shared, Surface, checks};
use crate::daemon::showing::problems::{mail as mail_problems, signal as problems};
use crate::daemon::time;

const LISTED: usize = 20;
const LISTED_MAX: usize = 500;
/// More events than an escalation has.
const EVENTS_MAX: usize = 64;

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(asked): Query<query::Escalations>,
) -> Answer {
    surface.authorise(caller, Verb::Escalate, None).await?;
    let form = Form::of(asked.vocabulary.as_deref())?;
    let limit = asked.limit.unwrap_or(LISTED).clamp(1, LISTED_MAX);
    let mut before = match &asked.before {
        Some(id) => surface.escalation_id(id).await?,
        None => EscalationId(u128::MAX),
    };
    let mut listed = Vec::new();
    if asked.open {
        let open = surface.open_escalations(before).await?;
        surface.list_seen(caller, open, limit, &mut listed).await?;
        return form.escalations(&listed);
    }
    while listed.len() < limit {
        let (page, last) = surface.told_escalations(caller, before, limit).await?;
        let Some(last) = last else { break };
        before = last;
        surface.list_seen(caller, page, limit, &mut listed).await?;
    }
    form.escalations(&listed)
}

/// An escalation as its records tell it.
struct Told {
    id: EscalationId,
    at: Time,
    matter: Matter,
    steps: Vec<Step>,
    until: Option<Time>,
    end: Option<&'static str>,
}

impl Surface {
    /// Has a matter looked at.
    pub async fn escalate(
        &self,
        caller: Caller,
        asked: Escalate,
    ) -> Result<Escalation, ProblemResponse> {
        self.authorise(caller, Verb::Escalate, None).await?;
        let Escalate { to, severity, subject, text: words } = asked;
        let to = self.first_step(caller, &to).await?;
        if subject.len() > SUBJECT_LIMIT {
            let problem = problems::escalation_too_long(subject.len(), SUBJECT_LIMIT);
            return Err(ProblemResponse(problem));
        }
        if words.len() > TEXT_LIMIT {
            let problem = mail_problems::too_long("text", words.len(), TEXT_LIMIT);
            return Err(ProblemResponse(problem));
        }
        if subject.trim().is_empty() || subject.chars().any(char::is_control) {
            return Err(ProblemResponse(problems::escalation_subject()));
        }
        let id = EscalationId(uuid::Uuid::now_v7().as_u128());
        let draft = EscalationDraft {
            id,
            to,
            severity: match severity {
                WireSeverity::Low => Severity::Low,
                WireSeverity::Medium => Severity::Medium,
                WireSeverity::High => Severity::High,
                WireSeverity::Critical => Severity::Critical,
            },
            subject: mail_texts::harmless(&subject, SUBJECT_LIMIT),
            excerpt: mail_texts::excerpt(&words),
            body: text::body(&words),
        };
        self.command(caller, Command::Escalate(Box::new(draft))).await?;
        let told = self.read(move |journal| told(journal, id)).await?;
        let told = told.ok_or_else(|| problems::no_such_escalation(&id.to_string()))?;
        self.shown_escalation(told).await
    }

    async fn first_step(&self, caller: Caller, to: &str) -> Result<EscalateTo, ProblemResponse> {
        match (to, caller) {
            ("operator", _) => Ok(EscalateTo::Operator),
            ("parent" | "", Caller::Agent(_)) => Ok(EscalateTo::Parent),
            ("parent", Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous) => {
                Err(ProblemResponse(problems::no_parent()))
            }
            (to, _) => {
                let role = to.strip_prefix("role:");
                let role = role.ok_or_else(|| ProblemResponse(problems::bad_step(to)))?;
                let role = checks::role(role)?;
                let address =
                    Addressee::Role { role: role.clone(), all: false, is_declared: false };
                let is_declared = matches!(
                    self.declared(address).await?,
                    Addressee::Role { is_declared: true, .. }
                );
                Ok(EscalateTo::Role { role, is_declared })
            }
        }
    }

    /// Adds those that the caller may see, as far as there is room.
    async fn list_seen(
        &self,
        caller: Caller,
        page: Vec<Told>,
        limit: usize,
        listed: &mut Vec<Escalation>,
    ) -> Result<(), ProblemResponse> {
        for one in page {
            if listed.len() == limit {
                break;
            }
            if self.sees_escalation(caller, &one).await? {
                listed.push(self.shown_escalation(one).await?);
            }
        }
        Ok(())
    }

    /// Those that nobody has seen, the newest first.
    async fn open_escalations(&self, before: EscalationId) -> Result<Vec<Told>, ProblemResponse> {
        let open = self.driver.look(move |view| {
            let all = view.supervisor.fleet().escalations().iter();
            let told = |one: &escalation::Escalation| Told {
                id: one.id,
                at: one.opened_at,
                matter: one.matter.clone(),
                steps: one.steps.clone(),
                until: one.until,
                end: None,
            };
            all.filter(|one| one.id < before).map(told).collect::<Vec<Told>>()
        });
        let mut open = open.await?;
        open.sort_unstable_by_key(|one| std::cmp::Reverse(one.id));
        Ok(open)
    }

    /// A page of all, and the last one of it, readable or not.
    async fn told_escalations(
        &self,
        caller: Caller,
        before: EscalationId,
        limit: usize,
    ) -> Result<(Vec<Told>, Option<EscalationId>), ProblemResponse> {
        let read = move |journal: &dyn Store| {
            let first = journal.streams_before(&Entity::Escalation(before), limit)?;
            let id = |record: &perennial_store::Record| match record.stream {
                Some(Entity::Escalation(id)) => Some(id),
                Some(_) | None => None,
            };
            let ids: Vec<EscalationId> = first.iter().filter_map(id).collect();
            let all = ids.iter().map(|id| told(journal, *id));
            let all: Result<Vec<Option<Told>>, _> = all.collect();
            Ok((all?.into_iter().flatten().collect(), ids.last().copied()))
        };
        self.read_as(caller, read).await
    }

    /// As texts are seen: by persons, by who escalated and who was told, and by those above them.
    async fn sees_escalation(&self, caller: Caller, one: &Told) -> Result<bool, ProblemResponse> {
        let told = one.steps.iter().filter_map(|step| step.mailbox().agent());
        let ids = told.chain(one.matter.by.agent()).collect();
        let sights = self.sights(caller, ids).await?;
        let is_seen = sights.values().any(|sight| sight.sees(Private::Texts));
        Ok(caller == Caller::Person || is_seen)
    }

    async fn shown_escalation(&self, one: Told) -> Result<Escalation, ProblemResponse> {
        let ids = one.steps.iter().filter_map(|step| step.mailbox().agent()).collect();
        let names = self.names(ids).await?;
        let word = |step: &Step| match step {
            Step::Role { role, holder: None } => format!("role:{role}"),
            Step::Role { holder: Some(id), .. } | Step::Agent(id) => {
                names.get(id).cloned().unwrap_or_else(|| id.to_string())
            }
            Step::Operator => "operator".to_owned(),
        };
        let matter = one.matter;
        let agent: Option<AgentId> = matter.by.agent();
        let last = one.steps.len().saturating_sub(1);
        Ok(Escalation {
            id: one.id.to_string(),
            at: time::rfc3339(one.at),
            from: match (matter.by, matter.by_name) {
                (Sender::Agent(_), Some(name)) => name.to_string(),
                (Sender::Agent(id), None) => id.to_string(),
                (Sender::Person, _) => "operator".to_owned(),
                (Sender::Perennial, _) => "perennial".to_owned(),
            },
            from_id: agent.map(|id| id.to_string()),
            severity: matter.severity.word().to_owned(),
            cause: matter.cause.word().to_owned(),
            subject: matter.subject,
            head: matter.text.head,
            state: one.end.unwrap_or("open").to_owned(),
            raised_at: one.until.filter(|_| one.end.is_none()).map(time::rfc3339),
            mail: escalation::mail_id(one.id, last).to_string(),
            steps: one.steps.iter().map(word).collect(),
        })
    }
}

/// Nothing where its first record can't be read.
fn told(
    journal: &dyn Store,
    id: EscalationId,
) -> Result<Option<Told>, perennial_store::journal::ReadError> {
    let records = journal.read_stream(&Entity::Escalation(id), Version(0), EVENTS_MAX)?;
    let mut told: Option<Told> = None;
    for event in records.iter().filter_map(|record| record.event.as_ref().ok()) {
        let What::Escalation(_, what) = &event.what else { continue };
        match (what, told.as_mut()) {
            (EscalationEvent::Opened { matter, step, until }, _) => {
                let (matter, steps) = ((**matter).clone(), vec![step.clone()]);
                told = Some(Told { id, at: event.at, matter, steps, until: *until, end: None });
            }
            (EscalationEvent::Raised { step, until }, Some(told)) => {
                told.steps.push(step.clone());
                told.until = *until;
            }
            (EscalationEvent::Ended { how }, Some(told)) => told.end = Some(how.word()),
            (EscalationEvent::Raised { .. } | EscalationEvent::Ended { .. }, None) => {}
        }
    }
    Ok(told)
}
