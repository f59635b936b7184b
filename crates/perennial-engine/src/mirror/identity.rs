//! `identities/<role>-<name>.json`: one agent in the words of the seed's schema.

use std::path::{Path, PathBuf};

use perennial_core::agent::Agent;
use perennial_core::state::{Roster, State};
use perennial_core::task::Task;
use perennial_core::time::Time;
use serde::Serialize;

use super::place::path_from;
use super::work::work_file;
use crate::timestamp::rfc3339_seconds;

/// Where an agent's file is, and what it says; nothing of an agent without a name.
pub(super) fn page(
    root: &Path,
    agent: &Agent,
    last_seen: Option<Time>,
    task: Option<&Task>,
) -> Option<(PathBuf, String)> {
    let name = agent.name.as_ref()?;
    let role = agent.role.as_deref().unwrap_or("agent");
    // A name that is used again gets its file; the earlier holder's keeps its id.
    let stem = match agent.state.roster() {
        Roster::Cemetery => format!("{role}-{name}~{}", agent.id),
        Roster::Living | Roster::Freezer => format!("{role}-{name}"),
    };
    let path = PathBuf::from("identities").join(format!("{stem}.json"));
    let identity = Identity {
        node_id: task.map(|task| task.id.to_string()),
        bead_id: task.and_then(|task| task.brief.reference.clone()),
        hook_path: hook_path(root, agent),
        ..Identity::of(agent, name.as_str(), role, last_seen)
    };
    Some((path, serde_json::to_string_pretty(&identity).ok()? + "\n"))
}

/// Identities as the seed has them; what Perennial does not know yet is null.
#[derive(Debug, Serialize)]
pub(super) struct Identity<'a> {
    schema_version: &'static str,
    identity_name: &'a str,
    role: &'a str,
    session_id: Option<String>,
    pid: Option<i32>,
    tmux_session: Option<String>,
    node_id: Option<String>,
    pipeline_id: Option<String>,
    bead_id: Option<String>,
    worktree_path: &'a str,
    hook_path: Option<String>,
    created_at: String,
    last_seen: Option<String>,
    status: &'static str,
    predecessor_id: Option<String>,
    respawn_count: u32,
    target_dir: &'a str,
    /// Perennial's own words, beside the seed's.
    agent_id: String,
    state: &'static str,
    reason: &'static str,
}

impl<'a> Identity<'a> {
    pub fn of(
        agent: &'a Agent,
        name: &'a str,
        role: &'a str,
        last_seen: Option<Time>,
    ) -> Identity<'a> {
        Identity {
            schema_version: "1.0",
            identity_name: name,
            role,
            session_id: agent.session_id().map(|id| id.to_string()),
            pid: agent.live_session().and_then(|s| s.process).map(|process| process.pid),
            tmux_session: agent.launch.host.tmux().map(|place| place.session.clone()),
            // Its task, the task's outside reference, and where its work is: added by whoever knows them.
            node_id: None,
            // The primary one.
            pipeline_id: agent.situations.first().map(ToString::to_string),
            bead_id: None,
            worktree_path: &agent.launch.dir,
            hook_path: None,
            created_at: rfc3339_seconds(agent.created_at),
            last_seen: last_seen.map(rfc3339_seconds),
            status: status(agent.state),
            predecessor_id: agent.crashed_predecessor().map(|id| id.to_string()),
            respawn_count: agent.respawn_count,
            target_dir: &agent.launch.dir,
            agent_id: agent.id.to_string(),
            state: agent.state.word(),
            reason: agent.reason.word(),
        }
    }
}

/// Where the file of an agent's work is, from the agent's directory; nothing of an agent without a name.
pub fn hook_path(root: &Path, agent: &Agent) -> Option<String> {
    let launch = &agent.launch;
    Some(path_from(root, &launch.project, &launch.dir, &work_file(agent)?))
}

/// The seed's status words.
fn status(state: State) -> &'static str {
    match state {
        State::Hatching | State::Waking | State::Working | State::Waiting | State::HandingOff => {
            "active"
        }
        State::Unknown => "stale",
        State::Crashed => "crashed",
        State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
            "terminated"
        }
    }
}
