//! What clients ask for in the query of a request. Whatever is left out has its usual value.

use serde::{Deserialize, Serialize};

/// `GET /v1/agents`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Agents {
    /// The cemetery too.
    pub all: bool,
    /// `living`, `freezer` or `cemetery`.
    pub roster: Option<String>,
    pub state: Option<String>,
    /// A project's path, or the last part of it.
    pub project: Option<String>,
    /// Only agents that work on this situation.
    pub situation: Option<String>,
    /// Only agents that nothing has confirmed for at least this many seconds.
    pub stale: Option<u64>,
    /// Only holders of this role.
    pub role: Option<String>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: `state` and `role` are in its words, and so is the answer.
    pub vocabulary: Option<String>,
}

/// `GET /v1/agents/{target}`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: the answer is in its words.
    pub vocabulary: Option<String>,
}

/// `GET /v1/tasks/{id}`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ShowTask"))]
#[serde(default, deny_unknown_fields)]
pub struct Task {
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: the answer is in its words.
    pub vocabulary: Option<String>,
}

/// The most events that `GET /v1/agents/{target}/why` tells; `GET /v1/events` has all of them.
pub const WHY_LIMIT: u64 = 10_000;

/// `GET /v1/agents/{target}/why`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Why {
    /// The maximum number of events in the story, the newest; default 200, at most 10,000.
    pub limit: Option<u64>,
}

/// `GET /v1/agents/{target}/snapshot` and `GET /v1/agents/{target}/snapshot/diff`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Snapshot {
    /// Which one; by default the newest.
    pub number: Option<u32>,
    /// With the changed lines, for `diff`.
    pub patch: bool,
}

/// `GET /v1/agents/{target}/checkpoints`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Checkpoints {
    /// How many of the newest; default 50, at most 1000.
    pub limit: Option<u64>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: the answer is in its words.
    pub vocabulary: Option<String>,
}

/// `GET /v1/agents/{target}/checkpoint`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Checkpoint {
    /// Which one; by default the newest.
    pub number: Option<u32>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: the answer is in its words.
    pub vocabulary: Option<String>,
}

/// `GET /v1/roles`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Roles {
    /// A directory of the project whose own declarations count, too.
    pub dir: Option<String>,
}

/// `GET /v1/events`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// Only events after this one.
    pub since: u64,
    /// Only events of this agent, of texts to it, of its names and conversations, and of jobs that tell
    /// of it.
    pub agent: Option<String>,
    /// The maximum number of results; default 1,000, at most 10,000.
    pub limit: Option<usize>,
}

/// `GET /v1/feed`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Feed {
    /// Only events after this one; the header `Last-Event-ID` goes before it. Without either: from now
    /// on.
    pub since: Option<u64>,
    /// Only this agent.
    pub agent: Option<String>,
}

/// `GET /v1/messages/{id}`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Message {
    /// Answer when nothing more will happen to it, or after a while …
    pub wait: bool,
    /// … which is not longer than this; at most 25 s.
    pub seconds: Option<u64>,
}

/// `GET /v1/agents/{target}/sent`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Sent {
    /// The maximum number of results; default 20, at most 1,000.
    pub limit: Option<usize>,
}

/// `GET /v1/agents/{target}/logs`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Logs {
    /// Which session; the newest unless given.
    pub session: Option<u32>,
    /// From this byte on; without it, the end.
    pub from: Option<u64>,
    /// The maximum number of bytes; default and at most 16 MiB.
    pub max: Option<usize>,
}

/// `GET /v1/agents/{target}/recording`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Recording {
    /// Which session; the newest unless given.
    pub session: Option<u32>,
}

/// `GET /v1/agents/{target}/screen`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Screen {
    /// Which session; the newest unless given.
    pub session: Option<u32>,
    /// With colours, as the escape sequences for them.
    pub ansi: bool,
}

/// `GET /v1/agents/{target}/briefing`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Briefing {
    /// After what the session begins, by its word, or `fresh` for one with a new conversation; absent: after what would
    /// begin it now.
    pub after: Option<String>,
}

/// `GET /v1/handoffs`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Handoffs {
    /// Of this agent only; absent: of all that are not dead, and of the 200 youngest dead.
    pub agent: Option<String>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: roles are in its words.
    pub vocabulary: Option<String>,
}

/// `GET /v1/agents/{target}/steps`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Steps {
    /// `next` of the answer before; empty to begin.
    pub from: String,
    /// Only steps of the time of this session.
    pub session: Option<u32>,
    /// How many seconds to wait for something if there is nothing; at most 25.
    pub wait: u64,
}

/// `GET /v1/board`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Board {
    /// Only posts older than the one with this id.
    pub before: Option<String>,
    /// The maximum number of results; default 50, at most 500.
    pub limit: Option<usize>,
}

/// `GET /v1/mail`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Mail {
    /// Whose: an agent's name or id, `role:NAME` or `operator`; your own by default.
    pub mailbox: Option<String>,
    /// Only what is unread.
    pub unread: bool,
    /// What you sent, not what you got.
    pub sent: bool,
    /// What you may read of the thread of this mail, whoever got it.
    pub thread: Option<String>,
    /// Only mails older than the one with this id.
    pub before: Option<String>,
    /// The maximum number of results; default 20, at most 1000.
    pub limit: Option<usize>,
}

/// `GET /v1/signals`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Signals {
    /// Only of these kinds, with commas between them.
    pub kind: Option<String>,
    /// Only those of this agent, `operator` or `perennial`.
    pub from: Option<String>,
    /// Only those to this agent, or `operator`.
    pub to: Option<String>,
    /// Only those of this time or later, in RFC 3339.
    pub since: Option<String>,
    /// Only signals older than the one with this id.
    pub before: Option<String>,
    /// Only signals behind the one with this id, oldest first.
    pub after: Option<String>,
    /// Only signals behind this place in the journal, oldest first.
    pub position: Option<u64>,
    /// The answer waits this many seconds for a first signal, at most 30; without `after` or `position`, for one from
    /// now on.
    pub wait_s: Option<u64>,
    /// The maximum number of results; default 20, at most 500.
    pub limit: Option<usize>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: kinds and parties are in its words, and so is the answer.
    pub vocabulary: Option<String>,
}

/// `GET /v1/escalations`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Escalations {
    /// Only those that nobody has seen.
    pub open: bool,
    /// Only escalations older than the one with this id.
    pub before: Option<String>,
    /// The maximum number of results; default 20, at most 500.
    pub limit: Option<usize>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: the answer is in its words.
    pub vocabulary: Option<String>,
}

/// What a harness hands to a hook, a status line or a tool is read up to here: it may hold whole files.
pub const HARNESS_INPUT_BYTES_MAX: usize = 8 << 20;

/// `POST /v1/hook`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hook {
    /// The vendor's name of the hook.
    pub event: String,
    /// The mark of the session, from its environment.
    pub session: Option<String>,
    /// When the harness called, by the wall clock, in microseconds.
    pub at: Option<u64>,
}

/// `POST /v1/mcp`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// The server's instructions hold the agent's briefing.
    pub briefing: bool,
}

/// `POST /v1/statusline`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct StatusLine {
    /// The mark of the session, from its environment.
    pub session: Option<String>,
    /// When the harness called, by the wall clock, in microseconds.
    pub at: Option<u64>,
}
