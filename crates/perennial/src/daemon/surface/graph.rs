//! The entity graph: sessions as situations, and what belongs to each; brought up to the journal when it is asked for.
//!
//! Reads only. What it shows is what `ls` and `show` tell everybody who may look: names, roles, models, states, times and
//! summaries; nothing of what was said to an agent or what it was started with.

use std::sync::{Arc, PoisonError};

use axum::extract::State;
use perennial_api::graph::{self as wire, Belonging, GraphPage, GraphSession};
use perennial_core::id::{AgentId, SessionId};
use perennial_core::time::Time;
use perennial_engine::timestamp;
use perennial_store::Store;
use perennial_store::graph::{Found, Graph, GraphQuery, Place};

use super::Shared;
use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query};
use super::form::Form;
use crate::daemon::driving::driver::chain;
use crate::daemon::showing::problems;
use crate::daemon::time::rfc3339;

const PAGE: usize = 100;
const LARGEST_PAGE: usize = 1_000;
/// No name, role or model is longer.
const LONGEST_WORD_BYTES: usize = 1_000;
const OPERATOR: &str = "person:operator";

pub async fn query(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(wanted): Query<wire::Query>,
) -> Answer {
    let limit = wanted.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let behind = wanted.before.as_deref().map(place).transpose()?;
    let form = Form::of(wanted.vocabulary.as_deref())?;
    let query = checked(wanted, form)?;
    let (path, one_at_a_time) = (surface.home.graph(), Arc::clone(&surface.graph));
    let read = move |journal: &dyn Store| {
        // Nothing is kept under the lock: a panic elsewhere leaves no half of it.
        let _lock = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Graph::ask(&path, journal, |graph| graph.sessions(&query, behind, limit + 1)))
    };
    let found = surface.read_as(caller, read).await?;
    let mut found =
        found.map_err(|error| ProblemResponse(problems::graph_unread(&chain(&error))))?;
    let is_last = found.len() <= limit;
    found.truncate(limit);
    let next = found
        .last()
        .filter(|_| !is_last)
        .map(|last| format!("{}_{}", last.session.since.0, session_id(last)));
    json(&GraphPage {
        sessions: found.iter().map(|found| form.session(shown(found))).collect(),
        next,
    })
}

fn checked(wanted: wire::Query, form: Form) -> Result<GraphQuery, ProblemResponse> {
    let words = [&wanted.agent, &wanted.actor, &wanted.role, &wanted.situation];
    if let Some(long) = words.into_iter().flatten().find(|word| word.len() > LONGEST_WORD_BYTES) {
        return Err(ProblemResponse(problems::long_graph_word(long.len())));
    }
    let session = |word: &str| {
        word.parse::<SessionId>().map_err(|_| ProblemResponse(problems::bad_session_id(word)))
    };
    let time = |word: &str| {
        timestamp::parsed(word).ok_or_else(|| ProblemResponse(problems::bad_time(word)))
    };
    let session = wanted.session.as_deref().map(session).transpose()?;
    let id = wanted.agent.as_deref().and_then(|word| word.parse::<AgentId>().ok());
    Ok(GraphQuery {
        session: session.map(|id| (id.agent, id.number)),
        agent: id,
        name: wanted.agent.filter(|_| id.is_none()),
        actor: wanted.actor,
        role: wanted.role.map(|role| form.our_role(role)),
        situation: wanted.situation,
        since: wanted.since.as_deref().map(time).transpose()?,
        until: wanted.until.as_deref().map(time).transpose()?,
    })
}

/// Where a page begins, as the one before it said.
fn place(word: &str) -> Result<Place, ProblemResponse> {
    let read = || {
        let (since, id) = word.split_once('_')?;
        let id: SessionId = id.parse().ok()?;
        Some((Time(since.parse().ok()?), id.agent, id.number))
    };
    read().ok_or_else(|| ProblemResponse(problems::bad_graph_place(word)))
}

fn session_id(found: &Found) -> SessionId {
    SessionId { agent: found.agent, number: found.session.number }
}

fn shown(found: &Found) -> GraphSession {
    let Found { agent, identity, session } = found;
    let id = session_id(found).to_string();
    let entity = |quality: &str, entity: String| Belonging {
        quality: quality.to_owned(),
        entity: Some(entity),
        ..Belonging::default()
    };
    let text = |quality: &str, text: &str| Belonging {
        quality: quality.to_owned(),
        text: Some(text.to_owned()),
        ..Belonging::default()
    };
    let mut belongings = vec![
        entity("identity", format!("identity:{agent}")),
        entity("actor", format!("agent:{}", session.actor)),
        entity("actor", OPERATOR.to_owned()),
    ];
    belongings.extend(session.methods.iter().map(|method| Belonging {
        since: Some(rfc3339(method.since)),
        until: method.until.map(rfc3339),
        // A role is one, in whatever letters it was taken.
        ..entity("method", format!("role:{}", method.role.to_ascii_lowercase()))
    }));
    let domains = session.domains.iter();
    belongings.extend(domains.map(|name| entity("domain", format!("situation:{name}"))));
    let summaries = session.summary.iter().chain(&session.final_summary);
    belongings.extend(summaries.map(|summary| text("description", summary)));
    belongings.push(text("state", session.seed_state(identity)));
    GraphSession {
        entity: format!("situation:session-{id}"),
        session: id,
        agent_id: agent.to_string(),
        agent: session.name.clone().unwrap_or_else(|| agent.to_string()),
        parent_id: identity.parent.map(|parent| parent.to_string()),
        state: session.state_now(identity).word().to_owned(),
        since: rfc3339(session.since),
        until: session.until.map(rfc3339),
        belongings,
    }
}
