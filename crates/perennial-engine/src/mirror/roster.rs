//! `roster.jsonl`: one line for each agent of a project, with the fields of the seed's roster.

use perennial_core::agent::Agent;
use perennial_core::state::Roster;
use serde::Serialize;

use super::Measured;
use crate::timestamp::rfc3339_seconds;

#[derive(Debug, Serialize)]
struct Line<'a> {
    session_id: Option<String>,
    /// `live`, `frozen` or `dead`.
    state: &'static str,
    model: Option<&'a str>,
    role: Option<&'a str>,
    summary: Option<&'a str>,
    context_pct: Option<u8>,
    situation_ids: Vec<&'a str>,
    registered: String,
    updated: String,
    final_summary: Option<&'a str>,
    freeze_state: Option<&'a str>,
    /// Perennial's own words, beside the seed's.
    name: Option<&'a str>,
    agent_id: String,
}

pub(super) fn line(agent: &Agent, measured: Measured) -> String {
    let (state, is_over) = match agent.state.roster() {
        Roster::Living => ("live", false),
        Roster::Freezer => ("frozen", false),
        Roster::Cemetery => ("dead", true),
    };
    let summary = agent.summary.as_deref();
    let line = Line {
        session_id: agent.session_id().map(|id| id.to_string()),
        state,
        model: agent.launch.options.model.as_deref(),
        role: agent.role.as_deref(),
        summary: summary.filter(|_| !is_over),
        context_pct: measured.context_percent,
        situation_ids: agent.situations.iter().map(|one| one.as_str()).collect(),
        registered: rfc3339_seconds(agent.created_at),
        updated: rfc3339_seconds(agent.since),
        final_summary: summary.filter(|_| is_over),
        freeze_state: None,
        name: agent.name.as_ref().map(|name| name.as_str()),
        agent_id: agent.id.to_string(),
    };
    // Plain strings and numbers: nothing that JSON can't say.
    serde_json::to_string(&line).unwrap_or_default()
}
