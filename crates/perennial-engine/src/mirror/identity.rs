//! `identities/<role>-<name>.json`: one agent in the words of the seed's schema.
//!
//! A page is collected where the agent's record is, and becomes text on the mirror's thread: the way from the agent's
//! directory to its work may lead through a file system that does not answer.

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
    agent: &Agent,
    last_seen: Option<Time>,
    task: Option<&Task>,
) -> Option<(PathBuf, Identity)> {
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
        ..Identity::of(agent, name.as_str(), role, last_seen)
    };
    Some((path, identity))
}

/// Identities as the seed has them; what Perennial does not know yet is null.
#[derive(Debug, Serialize)]
pub(super) struct Identity {
    schema_version: &'static str,
    identity_name: String,
    role: String,
    session_id: Option<String>,
    pid: Option<i32>,
    tmux_session: Option<String>,
    node_id: Option<String>,
    pipeline_id: Option<String>,
    bead_id: Option<String>,
    worktree_path: String,
    /// Filled in when it is written.
    hook_path: Option<String>,
    created_at: String,
    last_seen: Option<String>,
    status: &'static str,
    predecessor_id: Option<String>,
    respawn_count: u32,
    target_dir: String,
    /// Perennial's own words, beside the seed's.
    agent_id: String,
    state: &'static str,
    reason: &'static str,
    #[serde(skip)]
    work_file: Option<String>,
}

impl Identity {
    fn of(agent: &Agent, name: &str, role: &str, last_seen: Option<Time>) -> Identity {
        Identity {
            schema_version: "1.0",
            identity_name: name.to_owned(),
            role: role.to_owned(),
            session_id: agent.session_id().map(|id| id.to_string()),
            pid: agent.live_session().and_then(|s| s.process).map(|process| process.pid),
            tmux_session: agent.launch.host.tmux().map(|place| place.session.clone()),
            // Its task and the task's outside reference: added by whoever knows them.
            node_id: None,
            // The primary one.
            pipeline_id: agent.situations.first().map(ToString::to_string),
            bead_id: None,
            worktree_path: agent.launch.dir.clone(),
            hook_path: None,
            created_at: rfc3339_seconds(agent.created_at),
            last_seen: last_seen.map(rfc3339_seconds),
            status: status(agent.state),
            predecessor_id: agent.crashed_predecessor().map(|id| id.to_string()),
            respawn_count: agent.respawn_count,
            target_dir: agent.launch.dir.clone(),
            agent_id: agent.id.to_string(),
            state: agent.state.word(),
            reason: agent.reason.word(),
            work_file: work_file(agent),
        }
    }

    /// Looks at the file system for the way to the agent's work.
    pub fn text(mut self, root: &Path, project: &str) -> String {
        let way = |file: &String| path_from(root, project, &self.target_dir, file);
        self.hook_path = self.work_file.as_ref().map(way);
        // Plain strings and numbers: nothing that JSON can't say.
        serde_json::to_string_pretty(&self).unwrap_or_default() + "\n"
    }
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
