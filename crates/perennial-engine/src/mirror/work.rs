//! `work/<name>.json`: where the work of one agent stands, in the words of the seed's schema.
//!
//! Phase and history are those of the record; the rest is of the last checkpoint. Words of agents and paths are made
//! harmless, and bounded.

use std::path::PathBuf;

use perennial_core::agent::Agent;
use perennial_core::checkpoint::{Checkpoint, Position, summary_line};
use perennial_core::id::AgentId;
use perennial_core::state::Roster;
use perennial_core::task::Task;
use perennial_core::work::PhaseSpan;
use serde::Serialize;

use crate::harness::mail_texts::harmless;
use crate::timestamp::rfc3339_seconds;

/// As much of the work's summary and of a path as is shown.
const WORDS_BYTES: usize = 2000;
const PATH_BYTES: usize = 300;
/// As much of what is said about how to go on.
const INSTRUCTIONS_BYTES: usize = 8000;

/// Where an agent's file is, from its project's directory of the mirror; nothing of an agent without a name.
pub fn work_file(agent: &Agent) -> Option<String> {
    let name = agent.name.as_ref()?.as_str();
    // A name that is used again gets its file; the earlier holder's keeps its id.
    Some(match agent.state.roster() {
        Roster::Cemetery => dead_work_file(name, agent.id),
        Roster::Living | Roster::Freezer => living_work_file(name),
    })
}

/// The same of an agent outside the cemetery.
pub fn living_work_file(name: &str) -> String {
    format!("work/{name}.json")
}

/// The same of an agent in the cemetery.
pub fn dead_work_file(name: &str, id: AgentId) -> String {
    format!("work/{name}~{id}.json")
}

/// What an agent's file says; `content` is that of its last checkpoint.
pub(super) fn page(
    agent: &Agent,
    task: Option<&Task>,
    content: Option<&Checkpoint>,
) -> Option<(PathBuf, String)> {
    let path = PathBuf::from(work_file(agent)?);
    let head = agent.checkpoint.as_ref();
    let phase = agent.work.phase.word();
    let work = Work {
        schema_version: "1.0",
        identity_name: agent.name.as_ref()?.as_str(),
        node_id: task.map(|task| task.id.to_string()),
        pipeline_id: agent.situations.first().map(ToString::to_string),
        bead_id: task.and_then(|task| task.brief.reference.clone()),
        current_phase: phase,
        work_summary: work_summary(agent, content),
        last_checkpoint_at: head.map(|head| rfc3339_seconds(head.at)),
        files_modified: files(content),
        tests_status: content
            .and_then(|content| content.found.tests.as_ref())
            .map_or("unknown", |run| run.outcome.word()),
        phase_history: agent.work.spans().iter().map(Phase::of).collect(),
        resumption_instructions: match content {
            Some(content) => harmless(&content.resumption, INSTRUCTIONS_BYTES),
            None => format!("Resume from phase: {phase}."),
        },
        hook_status: match agent.state.roster() {
            Roster::Cemetery => "abandoned",
            Roster::Living | Roster::Freezer => "active",
        },
        agent_id: agent.id.to_string(),
        session: head.map(|head| head.session.0),
        checkpoint: head.map(|head| head.number),
        snapshot: head.and_then(|head| head.snapshot),
        branch: content
            .and_then(|content| content.git.as_ref()?.branch.as_deref())
            .map(|branch| harmless(branch, PATH_BYTES)),
        conversation: content.and_then(|content| content.conversation.clone()),
    };
    Some((path, serde_json::to_string_pretty(&work).ok()? + "\n"))
}

/// The agent's newest word, or what was found.
fn work_summary(agent: &Agent, content: Option<&Checkpoint>) -> String {
    let said = agent.summary.as_deref().map(|summary| harmless(summary, WORDS_BYTES));
    let found = || content.map(|content| harmless(&summary_line(content), WORDS_BYTES));
    said.or_else(found).unwrap_or_default()
}

/// Those that differ from HEAD, or that its tools have edited where there is no git.
fn files(content: Option<&Checkpoint>) -> Vec<String> {
    let Some(content) = content else { return Vec::new() };
    let path = |path: &String| harmless(path, PATH_BYTES);
    match &content.git {
        Some(git) => git.changed.iter().map(|change| path(&change.path)).collect(),
        None => content.found.edited.iter().map(path).collect(),
    }
}

/// Hook files as the seed has them; what Perennial does not know is null.
#[derive(Debug, Serialize)]
struct Work<'a> {
    schema_version: &'static str,
    identity_name: &'a str,
    node_id: Option<String>,
    pipeline_id: Option<String>,
    bead_id: Option<String>,
    current_phase: &'static str,
    work_summary: String,
    last_checkpoint_at: Option<String>,
    files_modified: Vec<String>,
    tests_status: &'static str,
    phase_history: Vec<Phase>,
    resumption_instructions: String,
    hook_status: &'static str,
    /// Perennial's own words, beside the seed's.
    agent_id: String,
    session: Option<u32>,
    checkpoint: Option<u32>,
    snapshot: Option<u32>,
    branch: Option<String>,
    conversation: Option<Position>,
}

#[derive(Debug, Serialize)]
struct Phase {
    phase: &'static str,
    entered_at: String,
    exited_at: Option<String>,
}

impl Phase {
    fn of(span: &PhaseSpan) -> Phase {
        Phase {
            phase: span.phase.word(),
            entered_at: rfc3339_seconds(span.entered_at),
            exited_at: span.left_at.map(rfc3339_seconds),
        }
    }
}
