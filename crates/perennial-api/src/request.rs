//! What clients ask: the bodies of requests.
//!
//! Limits are the daemon's to enforce; a client that checks them too only answers sooner.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// The largest request body that a daemon reads.
pub const BODY_LIMIT: usize = 1 << 20;
pub const SUMMARY_LIMIT: usize = 4 << 10;
/// A post's title is one line of at most this many bytes.
pub const POST_TITLE_LIMIT: usize = 200;
pub const POST_TEXT_LIMIT: usize = 64 << 10;
pub const ARGV_COUNT_LIMIT: usize = 256;
pub const ARGV_LIMIT: usize = 128 << 10;
pub const ENV_LIMIT: usize = 512 << 10;

/// `POST /v1/agents`
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "SpawnRequest"))]
pub struct Spawn {
    pub name: Option<String>,
    pub role: Option<String>,
    pub parent: Option<String>,
    /// What it works on, the primary one first; without any, what its parent works on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub situations: Vec<String>,
    /// Absolute, an existing directory.
    pub dir: String,
    pub restart: Option<String>,
    /// The caller's environment, scrubbed, `set_env` included.
    pub env: BTreeMap<String, String>,
    /// The names that the caller gave on purpose.
    pub set_env: Vec<String>,
    /// A program and its arguments; with a harness, further arguments for it.
    pub argv: Vec<String>,
    /// Rows and columns of the caller's terminal.
    pub size: Option<[u16; 2]>,
    /// The agent CLI to run, by its preset's name; nothing for a bare command.
    pub harness: Option<String>,
    pub model: Option<String>,
    pub prompt: Option<String>,
    pub permission_mode: Option<String>,
    /// The operator consents to the harness's first-run dialogs for this directory.
    pub trust: bool,
    /// What holds the sessions: `shim` or `tmux`; nothing for the built-in holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The socket of the tmux server in which the caller has opened the agent's pane; with the host `tmux`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmux_socket: Option<String>,
    /// A conversation that the caller has already, to go on with.
    pub conversation: Option<String>,
    /// Goes on in a copy of that conversation, which itself stays as it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// The caller will ask for a ticket at once; the program waits for that, for 5 seconds at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach: Option<Attach>,
    /// The task that it is on from its birth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// With what a caller attaches to a new agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Attach {
    /// A person's terminal.
    Terminal,
    /// A pipe or a file: what is typed is not repeated in the output.
    Pipe,
}

/// Values of the environment hold secrets: a log shows names only.
impl fmt::Debug for Spawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn")
            .field("name", &self.name)
            .field("role", &self.role)
            .field("parent", &self.parent)
            .field("dir", &self.dir)
            .field("restart", &self.restart)
            .field("env", &self.env.keys())
            .field("argv", &self.argv)
            .finish_non_exhaustive()
    }
}

/// `POST /v1/agents/{target}/role`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "AssumeRequest"))]
pub struct Assume {
    pub role: String,
}

/// `POST /v1/agents/{target}/role/transfer`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "TransferRequest"))]
pub struct Transfer {
    /// The agent that gets the role.
    pub to: String,
}

/// `POST /v1/agents/{target}/stop`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "StopRequest"))]
pub struct Stop {
    /// Answer when the session's whole tree is gone, not when the stop is recorded.
    pub wait: bool,
}

impl Default for Stop {
    fn default() -> Stop {
        Stop { wait: true }
    }
}

/// `POST /v1/agents/{target}/wake` and `/restart`
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "StartRequest"))]
pub struct Start {
    /// Variables that this session and the later ones have, beside or in place of those that the agent has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// With a new conversation: the session is told where the work stood.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

/// `POST /v1/agents/{target}/handoff`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "HandoffRequest"))]
pub struct Handoff {
    /// One line of at most 200 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// For the next session, in at most 2000 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// How long the session has to save its work: 1 to 3600 s, by default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<u64>,
    /// End the session that was asked before: it has saved its work, or need not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub finish: bool,
    /// With `finish`: the session that is meant; that of another one is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
}

/// `POST /v1/agents/{target}/set`: what is absent stays as it is.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "SetRequest"))]
pub struct Set {
    /// `never`, `on-crash` or `always`; counts at once.
    pub restart: Option<String>,
    /// Variables to add or to change, from the next session on.
    pub env: BTreeMap<String, String>,
    /// Names of variables to remove, from the next session on.
    pub unset_env: Vec<String>,
    /// An absolute path, from the next session on.
    pub dir: Option<String>,
    /// Another agent; counts at once.
    pub parent: Option<String>,
    /// It answers to the operator from here on.
    pub no_parent: bool,
    /// All that it works on from here on, the primary one first; counts at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub situations: Option<Vec<String>>,
}

// Values of variables may be secrets: nothing prints them.

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start").field("env", &self.env.keys()).field("fresh", &self.fresh).finish()
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Set").field("env", &self.env.keys()).finish_non_exhaustive()
    }
}

/// `POST /v1/prune`: recordings of sessions that have ended. Those of sessions that have not ended stay, whatever is
/// asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "PruneRequest"))]
pub struct Prune {
    /// Agents: names, `NAME~1` or ids; none means all, the dead too.
    pub targets: Vec<String>,
    /// Only those whose sessions printed last before this. Required.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub printed_before: Moment,
    /// Also those of the newest sessions of agents outside the cemetery; only with `targets`.
    pub newest: bool,
    /// Remove nothing, and answer what would be removed.
    pub dry_run: bool,
}

/// `POST /v1/agents/{target}/restore`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "RestoreRequest"))]
pub struct Restore {
    /// Which snapshot; by default the newest.
    pub number: Option<u32>,
    /// An absolute path of a directory that is empty or does not exist. Without it, the files are put back into the
    /// work tree.
    pub to: Option<String>,
    /// The index too; not with `to`.
    pub index: bool,
}

/// `POST /v1/agents/{target}/rename`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "RenameRequest"))]
pub struct Rename {
    pub name: String,
}

/// `POST /v1/agents/{target}/bury`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "BuryRequest"))]
pub struct Bury {
    /// Without one, what the agent reported last stays its summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// `POST /v1/agents/{target}/send`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "SendRequest"))]
pub struct Send {
    pub text: String,
    /// Not before the end of a turn.
    pub after_turn: bool,
}

/// `POST /v1/board`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "PostRequest"))]
pub struct Post {
    /// One line of at most 200 bytes.
    pub title: Option<String>,
    /// At most 64 KiB.
    pub text: String,
}

/// `POST /v1/legacy`: an agent leaves a text for those who come after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "LegacyRequest"))]
pub struct Legacy {
    /// `board`: a post that tells the others what they need to know; `blog`: what a blog post about the
    /// work should say; `autobiography`: what an account of your own life should say.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["board", "blog", "autobiography"])))]
    pub kind: String,
    /// At most 64 KiB. A later one of the same kind replaces it.
    pub text: String,
}

/// `POST /v1/mail`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "MailRequest"))]
pub struct Mail {
    /// An agent's name or id, `role:NAME`, `team:NAME` or `operator`; left out in a reply.
    pub to: Option<String>,
    /// The id of the mail that this one answers: it goes to its sender.
    pub reply_to: Option<String>,
    /// One line of at most 200 bytes.
    pub subject: Option<String>,
    /// At most 64 KiB.
    pub text: String,
    pub priority: Option<Priority>,
    /// To every holder of the role, not to one.
    pub all: bool,
}

/// How much a mail matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Urgent,
}

/// `POST /v1/mail/read`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ReadMail {
    /// At most 50; without any, your unread mails, the oldest first, ten at once.
    pub ids: Vec<String>,
}

/// An agent says where its own work stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReportRequest"))]
#[serde(default, deny_unknown_fields)]
pub struct Report {
    pub phase: Option<WorkPhase>,
    /// One line.
    #[cfg_attr(feature = "schema", schemars(length(max = 400)))]
    pub summary: Option<String>,
    /// How much of your context window is used, if you know; what is measured counts more.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100)))]
    pub context_percent: Option<u64>,
}

/// Where an agent's work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
#[serde(rename_all = "kebab-case")]
pub enum WorkPhase {
    Investigation,
    Planning,
    Implementation,
    Testing,
    Completion,
}

/// `POST /v1/agents/{target}/ticket`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TicketRequest {
    pub mode: Mode,
}

/// What a ticket lets its bearer do at the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// See and type.
    Attach,
    /// See only.
    Watch,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_never_shows_the_environments_values() {
        let env = BTreeMap::from([("API_KEY".to_owned(), "hunter2".to_owned())]);
        let shown = format!("{:?}", Spawn { env, ..Spawn::default() });
        assert!(shown.contains("API_KEY") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_stop_waits_unless_told_otherwise() {
        assert!(serde_json::from_str::<Stop>("{}").unwrap().wait);
        assert!(!serde_json::from_str::<Stop>(r#"{"wait":false}"#).unwrap().wait);
    }
}
