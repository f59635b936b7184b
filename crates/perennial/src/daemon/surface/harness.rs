//! What agent CLIs say of themselves: their hooks and their status line.
//!
//! Taken only from a process of the agent's own session. When a hook is answered, and with what, is
//! decided by the supervisor (U6).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use perennial_api::query::{self, HARNESS_INPUT_BYTES_MAX};
use perennial_core::authority::Caller;
use perennial_core::conversation::{ConversationId, Whereabouts};
use perennial_core::fact::Fact;
use perennial_core::id::{AgentId, SessionId, SessionNumber};
use perennial_core::launch::Launch;
use perennial_core::time::Time;
use perennial_engine::harness::Preset;
use perennial_engine::harness::dialect::NotUnderstood;

use super::answer::{Answer, ProblemResponse};
use super::extract::{CallerIdentity, Query, body};
use super::{Shared, Surface};
use crate::daemon::showing::problems;

pub async fn hook(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(called): Query<query::Hook>,
    request: Request,
) -> Answer {
    let speaker = surface.session_of(caller).await?;
    let (agent, preset) = (speaker.agent, &speaker.preset);
    // Before anything is looked up: the mark is of another agent's session, so the call proves nothing about this one.
    let Ok(number) = number(agent, called.session.as_deref()) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let input = body(request, HARNESS_INPUT_BYTES_MAX).await?;
    let call = preset.dialect.hook(&called.event, &input);
    let call = call.map_err(|error| not_understood(&error))?;
    if call.is_partial {
        tracing::debug!(%agent, event = called.event, "only part of a hook's input could be read");
    }
    let fact = match call.fact {
        Some(fact) => Some(surface.within_own(&speaker, fact.at(called.at.map(Time))).await),
        None => None,
    };
    let text = surface.driver.called(agent, number, fact).await?;
    match text.and_then(|text| preset.dialect.reply(&called.event, &text)) {
        Some(reply) => Ok((StatusCode::OK, reply).into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

pub async fn status_line(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(drawn): Query<query::StatusLine>,
    request: Request,
) -> Answer {
    let Speaker { agent, preset, .. } = surface.session_of(caller).await?;
    let input = body(request, HARNESS_INPUT_BYTES_MAX).await?;
    let Ok(number) = number(agent, drawn.session.as_deref()) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let end = surface.harnesses.compaction_window(agent, &preset);
    let fact = preset.dialect.status_line(&input, &preset.context, end);
    let fact = fact.map_err(|error| not_understood(&error))?.at(drawn.at.map(Time));
    let line = surface.driver.drawn(agent, number, fact).await?;
    Ok((StatusCode::OK, line).into_response())
}

/// The mark of a session is not one of this agent's.
#[derive(Debug, PartialEq, Eq)]
struct WrongMark;

/// The number that a session of this agent was marked with, if it was.
fn number(agent: AgentId, mark: Option<&str>) -> Result<Option<SessionNumber>, WrongMark> {
    let Some(mark) = mark else { return Ok(None) };
    let id: SessionId = mark.parse().map_err(|_| WrongMark)?;
    if id.agent == agent { Ok(Some(id.number)) } else { Err(WrongMark) }
}

fn not_understood(error: &NotUnderstood) -> ProblemResponse {
    ProblemResponse(problems::harness_not_understood(error))
}

/// The agent whose session calls.
struct Speaker {
    agent: AgentId,
    preset: Arc<Preset>,
    dir: String,
    /// The conversations that it has, the current one first.
    own: Vec<ConversationId>,
}

impl Surface {
    async fn session_of(&self, caller: Caller) -> Result<Speaker, ProblemResponse> {
        let agent = caller.own_session().map_err(|refusal| problems::refusal_to(&refusal))?;
        let known = self.driver.look(move |view| {
            let known = view.supervisor.fleet().agent(agent)?;
            let own = known.to_read().into_iter();
            let own = own.flat_map(|own| own.newest_first().cloned().collect::<Vec<_>>());
            let Launch { harness, dir, .. } = &known.launch;
            Some((harness.clone(), dir.clone(), own.collect()))
        });
        let (harness, dir, own) = known.await?.unwrap_or_default();
        match self.harnesses.preset(&harness) {
            Ok(preset) => Ok(Speaker { agent, preset, dir, own }),
            Err(error) => Err(ProblemResponse(problems::preset_unusable(&error.to_string()))),
        }
    }

    /// What a hook says, once it is known where the conversation lies that it names.
    async fn within_own(&self, speaker: &Speaker, fact: Fact) -> Fact {
        let Some(named) = fact.conversation.clone() else { return fact };
        let lies = self.whereabouts(speaker, named).await;
        fact.within_own(speaker.own.first().cloned(), lies)
    }

    async fn whereabouts(&self, speaker: &Speaker, named: ConversationId) -> Whereabouts {
        // Nearly every hook names one of these, and no file has to be looked for.
        if speaker.own.contains(&named) {
            return Whereabouts::Own;
        }
        let (harnesses, agent) = (self.harnesses.clone(), speaker.agent);
        let (preset, dir) = (Arc::clone(&speaker.preset), speaker.dir.clone());
        let own = speaker.own.clone();
        let lies = tokio::task::spawn_blocking(move || {
            let lies = harnesses.whereabouts(agent, &preset, &dir, &own, &named);
            if !lies.is_followed() {
                harnesses.tell_strayed(agent, &named);
            }
            lies
        });
        lies.await.unwrap_or(Whereabouts::Elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_is_not_the_agents_own_is_not_taken_for_none() {
        let (own, other) = (AgentId(1), AgentId(2));
        let mark = |agent: AgentId, number: &str| format!("{agent}.{number}");
        assert_eq!(number(own, None), Ok(None));
        assert_eq!(number(own, Some(&mark(own, "3"))), Ok(Some(SessionNumber(3))));
        for wrong in [mark(other, "3"), mark(own, "4294967296"), mark(own, "-1"), String::new()] {
            assert_eq!(number(own, Some(&wrong)), Err(WrongMark), "{wrong}");
        }
    }
}
