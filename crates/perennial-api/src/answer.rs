//! What the daemon answers, other than agents and events.

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Moment};

/// `GET /v1/agents/{target}/why`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Why {
    pub agent: Agent,
    /// Newest last, bounded.
    pub story: Vec<Chapter>,
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
    /// The texts that it never got, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<Message>,
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

/// `GET /v1/health`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Health {
    pub version: String,
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
    pub uid: u32,
    /// Whom the daemon takes the caller for.
    pub you: String,
}

/// `POST /v1/down`: the daemon ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Down {}
