//! What agent CLIs say of themselves: their hooks and their status line.
//!
//! Taken only from a process of the agent's own session. When a hook is answered, and with what, is
//! decided by the supervisor (U6).

use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use perennial_api::Problem;
use perennial_api::agent as wire;
use perennial_api::request;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::{AgentId, SessionId, SessionNumber};
use perennial_core::state::Roster;
use perennial_core::time::Time;
use perennial_engine::harness::Preset;
use perennial_engine::harness::dialect::NotUnderstood;
use perennial_engine::harness::session_texts::line;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Trouble};
use super::extract::CallerIdentity;
use super::server::PATIENCE;
use super::{Shared, Surface};
use crate::daemon::driving::driver::Message;
use crate::daemon::showing::view::{self, Filter};
use crate::daemon::surface::checks;
use crate::daemon::surface::mcp::{self, Asked, Tool};

/// A hook's input is read up to here; a harness may send whole files.
const LONGEST_INPUT: usize = 8 << 20;

#[derive(Debug, Deserialize)]
pub struct Called {
    event: String,
    session: Option<String>,
    /// When the harness called, by the wall clock, in microseconds.
    at: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Drawn {
    session: Option<String>,
    at: Option<u64>,
}

pub async fn hook(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(called): Query<Called>,
    request: Request,
) -> Answer {
    let (agent, preset) = surface.session_of(caller).await?;
    let input = body(request).await?;
    let call = preset.dialect.hook(&called.event, &input);
    let call = call.map_err(|error| not_understood(&error))?;
    if call.is_partial {
        tracing::debug!(%agent, event = called.event, "only part of a hook's input could be read");
    }
    let fact = call.fact.map(|fact| fact.at(called.at.map(Time)));
    // A session that lies is not heard.
    let Ok(number) = number(agent, called.session.as_deref()) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
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
    Query(drawn): Query<Drawn>,
    request: Request,
) -> Answer {
    let (agent, preset) = surface.session_of(caller).await?;
    let input = body(request).await?;
    let Ok(number) = number(agent, drawn.session.as_deref()) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let end = surface.harnesses.compaction_window(agent, &preset);
    let fact = preset.dialect.status_line(&input, &preset.context, end);
    let fact = fact.map_err(|error| not_understood(&error))?.at(drawn.at.map(Time));
    let line = surface.driver.drawn(agent, number, fact).await?;
    Ok((StatusCode::OK, line).into_response())
}

pub async fn mcp(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    request: Request,
) -> Answer {
    let (id, tool) = match mcp::read(&body(request).await?) {
        Asked::Answer(None) => return Ok(StatusCode::NO_CONTENT.into_response()),
        Asked::Answer(Some(answer)) => {
            return Ok((StatusCode::OK, answer.to_string()).into_response());
        }
        Asked::Call { id, tool } => (id, tool),
    };
    let answer = match surface.tool(caller, tool).await {
        Ok(content) => mcp::answered(&id, &content),
        Err(Trouble(problem)) => mcp::refused(&id, &problem),
    };
    Ok((StatusCode::OK, answer.to_string()).into_response())
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

async fn body(request: Request) -> Result<Bytes, Trouble> {
    let body = to_bytes(request.into_body(), LONGEST_INPUT);
    match tokio::time::timeout(PATIENCE, body).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(Trouble(Problem::new(413, "too-large", "the input is too large"))),
        Err(_) => Err(Trouble(Problem::new(408, "half-sent", "the input never came whole"))),
    }
}

/// What agents see of each other: no argv, no directories' contents, no transcripts.
fn in_roster(agent: &wire::Agent) -> Value {
    json!({
        "name": agent.name,
        "state": agent.state,
        "reason": agent.reason,
        "role": agent.role,
        "parent": agent.parent,
        "project": agent.project,
        "phase": agent.work_phase,
        "summary": agent.summary.as_deref().map(|it| line(it, request::SUMMARY_LIMIT)),
    })
}

fn not_understood(error: &NotUnderstood) -> Trouble {
    Trouble(
        Problem::new(422, "not-understood", "what the harness said can't be read")
            .because(error.to_string()),
    )
}

impl Surface {
    /// The agent that calls, and the preset of its harness.
    async fn session_of(&self, caller: Caller) -> Result<(AgentId, Arc<Preset>), Trouble> {
        let Caller::Agent(id) = caller else {
            return Err(Trouble(
                Problem::new(403, "not-a-session", "only a session's own harness may say this")
                    .because("the caller is no process of a session"),
            ));
        };
        let harness = self.driver.look(move |view| {
            view.supervisor.fleet().agent(id).map(|agent| agent.launch.harness.clone())
        });
        let harness = harness.await?.unwrap_or_default();
        match self.harnesses.preset(&harness) {
            Ok(preset) => Ok((id, preset)),
            Err(error) => Err(Trouble(
                Problem::new(409, "no-harness", "its harness has no preset")
                    .because(error.to_string()),
            )),
        }
    }

    /// Carries one of an agent's own tools out.
    async fn tool(&self, caller: Caller, tool: Tool) -> Result<Value, Trouble> {
        let Caller::Agent(own) = caller else {
            return Err(Trouble(
                Problem::new(403, "not-a-session", "these tools are an agent's own")
                    .because("the caller is no process of a session"),
            ));
        };
        match tool {
            Tool::Roster => {
                let filter = Filter { roster: Some(Roster::Living), ..Filter::default() };
                let agents = self.driver.look(move |view| view::listing(view, &filter)).await?;
                Ok(agents.iter().map(in_roster).collect())
            }
            Tool::Myself => {
                Ok(serde_json::to_value(self.find(own.to_string()).await?).unwrap_or_default())
            }
            Tool::Clock => {
                let agent = self.find(own.to_string()).await?;
                Ok(json!({ "context": agent.context, "session": agent.session.map(|s| s.number) }))
            }
            Tool::Report { phase, summary, context_percent } => {
                let phase = phase.as_deref().map(checks::work_phase).transpose()?;
                let summary = summary.as_deref().map(checks::summary).transpose()?;
                self.command(caller, Command::Report { phase, summary }).await?;
                if let Some(percent) = context_percent {
                    self.driver.send(Message::Reported { agent: own, percent })?;
                }
                Ok(json!({ "recorded": true }))
            }
            Tool::BoardPost { title, text } => {
                let post = self.post(caller, title, &text).await?;
                Ok(json!({ "posted": post.id }))
            }
            Tool::BoardList { before, limit } => {
                let limit = limit.unwrap_or(mcp::USUAL_LIST).min(mcp::LARGEST_LIST);
                Ok(mcp::posts(&self.posts(before.as_deref(), limit as usize).await?))
            }
            Tool::BoardShow { id } => Ok(mcp::post(self.show_post(&id).await?)),
        }
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

    #[test]
    fn what_an_agent_says_of_itself_reaches_others_on_one_harmless_line() {
        let summary = Some("a\n\x1b[2J\u{202e}b".to_owned());
        let shown = in_roster(&wire::Agent { summary, ..wire::Agent::default() });
        assert_eq!(shown["summary"], "a  [2J b");
    }
}
