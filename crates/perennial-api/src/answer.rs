//! What the daemon answers, other than agents and events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Moment};
use crate::cleaning::ConversationCopy;
use crate::role::Vacancy;

/// `GET /v1/agents/{target}/why`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Why {
    pub agent: Agent,
    /// Newest last, bounded.
    pub story: Vec<Chapter>,
    /// How many events before these are not told.
    pub earlier: u64,
    /// The texts that wait, the oldest first, each with what it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Message>,
    /// What is left out, because it is not for this caller: `texts`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

/// One event of an agent's story, told for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Chapter {
    pub seq: u64,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    pub text: String,
    pub kind: String,
    /// What the text leaves out, because it is not for this caller: members of the event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

/// `POST /v1/agents/{target}/bury`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Buried {
    #[serde(flatten)]
    pub agent: Agent,
    /// The operator's texts that it never got, the newest first. Mail is not among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<Message>,
    /// What became of the mail that it had not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<LeftMail>,
    /// The role that has no living holder any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacancy: Option<Vacancy>,
}

/// Unread mail of a buried agent that went the same way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeftMail {
    pub fate: MailFate,
    /// The agent's name, the role's, or `operator`; nobody's of what is undeliverable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    pub count: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MailFate {
    /// Another holder of the role has it now.
    Forwarded,
    /// It waits for the role's next holder.
    WaitsForRole,
    /// Its sender has it back.
    Returned,
    /// Nobody has it: its sender is buried, too, its record is damaged, or it had come back to the dead one.
    #[default]
    Undeliverable,
}

/// What an agent left for those who come after it: each of `GET /v1/agents/{target}/legacy`, and of an
/// agent's `legacies`, there without the text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Legacy {
    /// `board`, `blog` or `autobiography`.
    pub kind: String,
    /// Who left it: the agent's name, or its id if it has no name.
    pub agent: String,
    pub agent_id: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// How the text begins.
    pub head: String,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `POST /v1/report`: it is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reported {}

/// `GET /v1/agents/{target}/prime`: what a session of the agent would be told at its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StartText {
    pub text: String,
}

/// `GET /v1/agents/{target}/briefing`: what the next session of the agent would be told of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Briefing {
    /// After what the session would begin: `crash`, `again`, `wake`, `stop`, `restart`, `reboot`, `handoff` or
    /// `compaction`.
    pub beginning: String,
    /// `note`, `full`, `launch-prompt` or `none`.
    pub form: String,
    /// `first-prompt`; `hook`: with the text of its start, no model is called; `nothing`; `bare-command`: it is told
    /// nothing, whatever it begins after.
    pub by: String,
    pub bytes: u64,
    pub text: String,
}

/// One text to an agent, as far as it has come: `POST /v1/agents/{target}/send`,
/// `GET /v1/messages/{id}`, and each of `GET /v1/agents/{target}/sent`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Message {
    pub id: String,
    /// `person` or `perennial`.
    pub from: String,
    /// Its beginning.
    pub head: String,
    /// `waiting`, `offered`, `seen`, `withdrawn` or `returned`.
    pub state: String,
    /// Nothing more will happen to it.
    pub is_final: bool,
    /// What it waits for, or why no more is known, as a sentence.
    pub why: Option<String>,
    /// It waits, and nothing but a person moves it on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_you: bool,
    /// The session that it was offered to last.
    pub session: Option<u64>,
    pub recorded_at: Moment,
    pub changed_at: Moment,
}

/// `POST /v1/agents/{target}/ticket`: good for one connection to the holder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Ticket {
    pub ticket: String,
    /// The holder's socket.
    pub socket: String,
    pub session: u64,
    pub agent: Agent,
}

/// `POST /v1/prune`: what was removed or, of a dry run, would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Pruned {
    /// Nothing was removed.
    pub is_dry_run: bool,
    pub agents: Vec<PrunedAgent>,
    /// Of all agents together.
    pub recordings: u64,
    /// Our copies of conversations of agents that were cleaned.
    #[serde(skip_serializing_if = "is_zero")]
    pub conversations: u64,
    pub bytes: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The recordings of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PrunedAgent {
    pub id: String,
    /// The word that means it: its name, or `NAME~1` if another one has that by now.
    pub target: String,
    /// By the numbers of their sessions.
    pub recordings: Vec<PrunedRecording>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<ConversationCopy>,
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PrunedRecording {
    pub session: u64,
    pub bytes: u64,
    /// When the session printed last.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub printed_at: Moment,
    /// It could not be removed; the daemon's log says why.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_left: bool,
}

/// `GET /v1/agents/{target}/recording`: what was kept of a session's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Recording {
    pub session: u64,
    /// The first byte that was kept, counted from the session's first; those before it are gone.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// In order; none for a session that was held by an older version.
    pub marks: Vec<RecordingMark>,
}

/// The bytes from `offset` on were printed at this time or soon after.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RecordingMark {
    pub offset: u64,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// The terminal's size then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<u16>,
}

/// `GET /v1/agents/{target}/screen`: a session's terminal as it is now, or was at the session's end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Screen {
    /// The agent's name.
    pub agent: String,
    pub session: u64,
    /// The session has ended.
    pub is_over: bool,
    pub rows: u16,
    pub columns: u16,
    /// One for each row, without the blanks at its end. The program wrote what is in them.
    pub lines: Vec<String>,
    pub cursor: Cursor,
    /// A full-screen program has the terminal.
    pub is_alternate: bool,
    /// The beginning of the recording is gone, and nothing has cleared the screen since: parts of
    /// it may be missing.
    pub may_be_incomplete: bool,
    /// When the program printed last, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub printed_at: Option<Moment>,
}

/// Where the next character goes; row and column count from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cursor {
    pub row: u16,
    pub column: u16,
    pub is_hidden: bool,
}

/// `GET /v1/health`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Health {
    pub version: String,
    /// Tells two builds of one version apart.
    pub build: String,
    pub pid: u32,
    pub epoch: u64,
    pub boot_id: String,
    pub uptime_seconds: u64,
    pub head_seq: u64,
    pub agents: Counts,
    pub store: StoreHealth,
    pub cgroup: CgroupHealth,
    pub identity: Identity,
    pub holders_connected: u64,
    pub findings: Vec<String>,
    /// What the daemon runs with; for a person only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<RunningConfig>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunningConfig {
    /// The values that were read when the daemon started, by key.
    pub values: BTreeMap<String, serde_json::Value>,
    /// What was wrong with the file then: every key has its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mistake: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counts {
    pub living: u64,
    pub freezer: u64,
    pub cemetery: u64,
    /// The others are read from the store when they are asked for.
    pub in_memory: u64,
    /// Held because this home is a copy: their sessions may still run in the original.
    pub copied: u64,
    /// Their sessions ran when the daemon started, and it has not reached their holders yet.
    pub unadopted: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StoreHealth {
    pub path: String,
    pub ok: bool,
    /// Why nothing is written at the moment.
    pub read_only: Option<String>,
    /// Records that can't be read, each with what is wrong with it.
    pub unreadable: Vec<String>,
    /// The sequence numbers of these records; a daemon of an older version leaves them out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable_seqs: Option<Vec<u64>>,
    /// Which of the newest records were gone when the daemon started.
    pub lost: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CgroupHealth {
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Identity {
    /// The caller's user.
    pub uid: u32,
    /// Whom the daemon takes the caller for.
    pub you: String,
}

/// `POST /v1/down`: the daemon ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Down {}
