//! The readable mirror: files that people and agents can `cat` with the daemon down.
//!
//! `<mirror>/<project>/identities/<role>-<name>.json`, in the words of the seed's schema. Derived,
//! written by rename at most once a second per file, never read back, never a reason to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::id::AgentId;
use perennial_core::state::{Roster, State};
use perennial_core::time::Time;
use serde::Serialize;

use crate::host::monotonic::{Moment, now};
use crate::timestamp::rfc3339_seconds;

/// A file is written at most once in this time.
const PACE: Duration = Duration::from_secs(1);

/// The way to the mirror's own thread.
#[derive(Debug)]
pub struct Mirror {
    sender: Option<Sender<Page>>,
    thread: Option<JoinHandle<()>>,
}

/// One agent's file as it should be.
#[derive(Debug)]
struct Page {
    agent: AgentId,
    path: PathBuf,
    text: String,
    /// Of an agent that hardly changes any more: nothing is remembered of it.
    is_last: bool,
}

impl Mirror {
    /// Left-over temporary files of a daemon that was killed are cleaned first.
    pub fn start(root: &Path) -> io::Result<Mirror> {
        let (sender, inbox) = channel();
        let root = root.to_owned();
        let thread = std::thread::Builder::new().name("mirror".to_owned()).spawn(move || {
            sweep(&root);
            Writer { root, files: BTreeMap::new(), waiting: BTreeMap::new() }.run(&inbox);
        })?;
        Ok(Mirror { sender: Some(sender), thread: Some(thread) })
    }

    /// Lays out an agent as it is now.
    pub fn put(&self, agent: &Agent, last_seen: Option<Time>) {
        let Some(name) = &agent.name else { return };
        let role = agent.role.as_deref().unwrap_or("agent");
        // A name that is used again gets its file; the earlier holder's keeps its id.
        let is_last = agent.state.roster() == Roster::Cemetery;
        let stem = match is_last {
            true => format!("{role}-{name}~{}", agent.id),
            false => format!("{role}-{name}"),
        };
        let path = PathBuf::from(directory_name(&agent.launch.project))
            .join("identities")
            .join(format!("{stem}.json"));
        let identity = Identity::of(agent, name.as_str(), role, last_seen);
        let Ok(text) = serde_json::to_string_pretty(&identity) else { return };
        if let Some(sender) = &self.sender {
            let _ = sender.send(Page { agent: agent.id, path, text, is_last });
        }
    }

    /// Writes what waits, now.
    pub fn flush(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Identities as the seed has them; what Perennial does not know yet is null.
#[derive(Debug, Serialize)]
struct Identity<'a> {
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
    fn of(agent: &'a Agent, name: &'a str, role: &'a str, last_seen: Option<Time>) -> Identity<'a> {
        Identity {
            schema_version: "1.0",
            identity_name: name,
            role,
            session_id: agent.session_id().map(|id| id.to_string()),
            pid: agent.live_session().and_then(|s| s.process).map(|process| process.pid),
            tmux_session: None,
            node_id: None,
            pipeline_id: None,
            bead_id: None,
            worktree_path: &agent.launch.dir,
            hook_path: None,
            created_at: rfc3339_seconds(agent.created_at),
            last_seen: last_seen.map(rfc3339_seconds),
            status: status(agent.state),
            predecessor_id: agent.predecessor().map(|id| id.to_string()),
            respawn_count: agent.respawn_count,
            target_dir: &agent.launch.dir,
            agent_id: agent.id.to_string(),
            state: agent.state.word(),
            reason: agent.reason.word(),
        }
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

/// A project's path as one directory name: readable, and unlike any other path's.
fn directory_name(project: &str) -> String {
    let tree = project.strip_suffix("/.git").unwrap_or(project);
    let last = tree.rsplit('/').next().unwrap_or_default();
    let readable: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(40)
        .collect();
    let readable = readable.trim_start_matches('.');
    // FNV-1a: enough to keep two projects of one name apart, and stable for ever.
    let hash = project.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{readable}-{:08x}", hash >> 32)
}

struct Writer {
    root: PathBuf,
    /// Where each agent's file is and when it was written.
    files: BTreeMap<AgentId, (PathBuf, Moment)>,
    waiting: BTreeMap<AgentId, Page>,
}

impl Writer {
    fn run(&mut self, inbox: &Receiver<Page>) {
        loop {
            let next = match self.next_due() {
                Some(due) => inbox.recv_timeout(due.saturating_sub(now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(page) => {
                    self.waiting.insert(page.agent, page);
                    self.write_due(now());
                }
                Err(RecvTimeoutError::Timeout) => self.write_due(now()),
                Err(RecvTimeoutError::Disconnected) => {
                    for page in std::mem::take(&mut self.waiting).into_values() {
                        self.write(&page);
                    }
                    return;
                }
            }
        }
    }

    fn due(&self, agent: AgentId) -> Option<Moment> {
        self.files.get(&agent).map(|(_, written)| *written + PACE)
    }

    fn next_due(&self) -> Option<Moment> {
        self.waiting.keys().filter_map(|agent| self.due(*agent)).min()
    }

    fn write_due(&mut self, now: Moment) {
        let due: BTreeSet<AgentId> = self
            .waiting
            .keys()
            .filter(|agent| self.due(**agent).is_none_or(|due| due <= now))
            .copied()
            .collect();
        for agent in due {
            if let Some(page) = self.waiting.remove(&agent) {
                self.write(&page);
            }
        }
    }

    fn write(&mut self, page: &Page) {
        let path = self.root.join(&page.path);
        if let Err(error) = replace(&path, &page.text) {
            tracing::warn!(path = %path.display(), %error, "mirror file not written");
        } else if let Some((old, _)) = self.files.get(&page.agent).filter(|(old, _)| *old != path) {
            // Renamed, or dead: the agent's file moved.
            let _ = fs::remove_file(old);
        }
        match page.is_last {
            true => _ = self.files.remove(&page.agent),
            false => _ = self.files.insert(page.agent, (path, now())),
        }
    }
}

/// Readers see the old file or the new one, never half of one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(dir)?;
    let temporary = path.with_extension("json.tmp");
    fs::write(&temporary, format!("{text}\n"))?;
    fs::rename(&temporary, path)
}

fn sweep(root: &Path) {
    let Ok(projects) = fs::read_dir(root) else { return };
    for project in projects.flatten() {
        let Ok(files) = fs::read_dir(project.path().join("identities")) else { continue };
        for file in files.flatten() {
            if file.path().extension().is_some_and(|extension| extension == "tmp") {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}
