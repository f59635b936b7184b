//! What happened in an agent's conversations, step by step: a page from a place on, at once or when
//! there is something.
//!
//! The daemon keeps nothing for whoever follows: a place is all that the next request needs, also
//! from the next daemon.

use std::time::Duration;

use axum::extract::State;
use perennial_api::query;
use perennial_api::step::Steps;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::visibility::Private;
use perennial_engine::transcript::page::{NotAPlace, Place};

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query, Segment};
use super::{Shared, Surface};
use crate::daemon::driving::driver::Closing;
use crate::daemon::hearing::changes::Changes;
use crate::daemon::showing::pages::{self, Span, Subject};
use crate::daemon::showing::problems;
use crate::daemon::showing::wire_step;

/// Nobody waits longer for one answer.
const LONGEST_WAIT: Duration = Duration::from_secs(25);
/// Without a watch over the files it is looked again after this.
const BLIND_WAIT: Duration = Duration::from_secs(1);
/// Of many changes in a row the first few are one.
const SETTLING: Duration = Duration::from_millis(20);

pub async fn steps(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(wanted): Query<query::Steps>,
) -> Answer {
    let id = surface.may_see(caller, target.clone(), Private::Transcript).await?;
    let place: Place = wanted.from.parse().map_err(|_: NotAPlace| problems::bad_place())?;
    let mut subject = surface.subject(id, &target).await?;
    let span = match wanted.session {
        Some(number) => Some(surface.span(&target, &subject, number).await?),
        None => None,
    };
    let patience = Duration::from_secs(wanted.wait).min(LONGEST_WAIT);
    let mut over = std::pin::pin!(tokio::time::sleep(patience));
    loop {
        // The watch first, then the look: what is written in between ends the wait.
        let changes = match patience.is_zero() {
            true => None,
            false => surface.changes(&subject).await?,
        };
        let page = surface.page(&subject, &place, span).await?;
        if !page.steps.is_empty() || page.more || patience.is_zero() || over.is_elapsed() {
            return json(&page);
        }
        tokio::select! {
            () = written(changes.as_ref()) => {}
            moved = surface.moved(&subject, &target) => {
                // Whoever follows wants to know that a session began or ended, too.
                subject = moved?;
                return json(&surface.page(&subject, &place, span).await?);
            }
            () = &mut over => {}
        }
    }
}

/// Something was written, a moment ago.
async fn written(changes: Option<&Changes>) {
    let seen = match changes {
        Some(changes) => changes.next().await,
        None => Err(std::io::ErrorKind::Unsupported.into()),
    };
    tokio::time::sleep(if seen.is_ok() { SETTLING } else { BLIND_WAIT }).await;
}

impl Surface {
    /// The conversations of an agent, which the caller named so.
    async fn subject(&self, id: AgentId, target: &str) -> Result<Subject, ProblemResponse> {
        let found =
            self.driver.look(move |view| view.supervisor.fleet().agent(id).map(Subject::of));
        let found = match found.await? {
            Some(subject) => subject,
            None => {
                let agent = self.read(move |journal| perennial_store::recall(journal, id)).await?;
                agent.as_ref().and_then(Subject::of)
            }
        };
        found.ok_or_else(|| ProblemResponse(problems::no_conversation(target)))
    }

    /// The agent once it is another than it was: a conversation, a session.
    async fn moved(&self, known: &Subject, target: &str) -> Result<Subject, ProblemResponse> {
        let mut shown = self.shown.clone();
        shown.mark_unchanged();
        loop {
            let next = self.subject(known.agent(), target).await?;
            if next != *known {
                return Ok(next);
            }
            shown.changed().await.map_err(|_| Closing)?;
            tokio::time::sleep(SETTLING).await;
        }
    }

    async fn changes(&self, subject: &Subject) -> Result<Option<Changes>, ProblemResponse> {
        let (harnesses, subject) = (self.harnesses.clone(), subject.clone());
        let directories =
            tokio::task::spawn_blocking(move || subject.directories(&harnesses)).await;
        match Changes::below(&directories.map_err(|_| Closing)?) {
            Ok(changes) => Ok(Some(changes)),
            Err(error) => {
                tracing::warn!(%error, "conversations can't be watched; they are looked at");
                Ok(None)
            }
        }
    }

    async fn page(
        &self,
        subject: &Subject,
        place: &Place,
        span: Option<Span>,
    ) -> Result<Steps, ProblemResponse> {
        let (harnesses, subject, place) = (self.harnesses.clone(), subject.clone(), place.clone());
        let read = tokio::task::spawn_blocking(move || {
            let page = pages::read(&harnesses, &subject, &place, span);
            let steps = page.steps.into_iter();
            Steps {
                steps: steps
                    .map(|(id, subagent, step)| wire_step::step(&id, subagent, step))
                    .collect(),
                next: page.place.to_string(),
                more: !page.is_last,
                left_out: page.left_out as u64,
            }
        });
        Ok(read.await.map_err(|_| Closing)?)
    }

    /// When a session of the agent ran, which the caller named so.
    async fn span(
        &self,
        target: &str,
        subject: &Subject,
        number: u32,
    ) -> Result<Span, ProblemResponse> {
        let (agent, wanted) = (subject.agent(), SessionNumber(number));
        let span = self.read(move |journal| pages::span(journal, agent, wanted)).await?;
        span.ok_or_else(|| {
            let (number, newest) = (u64::from(number), u64::from(subject.newest_session()));
            ProblemResponse(problems::no_such_session(target, number, newest))
        })
    }
}
