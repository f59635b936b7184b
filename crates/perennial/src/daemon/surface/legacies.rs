//! What agents leave behind: kept as texts, and read through their agent. And the briefing, for those who
//! ask for it themselves.

use axum::extract::State;
use perennial_api::answer::{Legacy, StartText};
use perennial_api::request;
use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::{AgentId, PostId};
use perennial_core::legacy::LegacyKind;
use perennial_core::visibility::Private;
use perennial_store::text;

use super::agents::gone;
use super::answer::{Answer, ProblemResponse, json};
use super::ended::Resolved;
use super::extract::{CallerIdentity, Segment};
use super::{Shared, Surface, checks};
use crate::daemon::showing::{problems, session_start, view};

pub async fn list(
    State(surface): State<Shared>,
    _: CallerIdentity,
    Segment(target): Segment,
) -> Answer {
    json(&surface.legacies(target).await?)
}

pub async fn prime(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
) -> Answer {
    let agent = surface.find(caller, target).await?;
    let id: AgentId = agent.id.parse().map_err(|_| gone())?;
    let told = surface.driver.look(move |view| {
        let fleet = view.supervisor.fleet();
        fleet
            .may_see(caller, Private::Texts, id)
            .map_err(|refusal| ProblemResponse(problems::refusal(&refusal, fleet)))?;
        let sample = view.supervisor.hearing(id).and_then(|hearing| hearing.sample());
        let agent = fleet.agent(id).ok_or_else(gone)?;
        let sample = sample.map(|(sample, _)| sample);
        Ok::<_, ProblemResponse>(session_start::text(
            fleet,
            agent,
            None,
            view.presence,
            sample.as_ref(),
        ))
    });
    json(&StartText { text: told.await?? })
}

impl Surface {
    /// An agent leaves a text; all that it has left by now.
    pub async fn leave(
        &self,
        caller: Caller,
        request::Legacy { kind, text }: request::Legacy,
    ) -> Result<Vec<Legacy>, ProblemResponse> {
        let kind = LegacyKind::of_word(&kind).ok_or_else(|| problems::bad_legacy_kind(&kind))?;
        if text.trim().is_empty() {
            return Err(ProblemResponse(problems::empty_legacy()));
        }
        checks::post(None, &text)?;
        let (post, body) = (PostId(uuid::Uuid::now_v7().as_u128()), text::body(&text));
        let own = caller.own_session().map_err(|refusal| problems::refusal_to(&refusal))?;
        self.command(caller, Command::Leave { kind, body, post }).await?;
        self.legacies(own.to_string()).await
    }

    /// What an agent has left, with the texts.
    pub async fn legacies(&self, target: String) -> Result<Vec<Legacy>, ProblemResponse> {
        let agent: Agent = match self.resolve(target).await? {
            Resolved::Ended(ended) => ended.agent,
            Resolved::InMemory(id) => {
                let found =
                    self.driver.look(move |view| view.supervisor.fleet().agent(id).cloned());
                found.await?.ok_or_else(gone)?
            }
        };
        self.read(move |journal| {
            let mut legacies = Vec::new();
            for (kind, left) in &agent.legacies {
                let text = journal.text(left.text.digest)?;
                legacies.push(Legacy { text, ..view::legacy(&agent, *kind, left) });
            }
            Ok(legacies)
        })
        .await
    }
}
