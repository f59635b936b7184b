//! Signals as clients see them: typed, validated machine messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::Moment;

/// `POST /v1/signals`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "SignalRequest"))]
pub struct SendSignal {
    /// Such as `NEEDS_INPUT`; `perennial signal schema` lists them.
    pub kind: String,
    /// An agent's name or id, `guardian` or `operator`; by default the sender's guardian.
    pub to: Option<String>,
    /// The fields of this kind.
    pub payload: Map<String, Value>,
    /// Further fields as text, converted to their types; a list has several.
    pub fields: BTreeMap<String, Vec<String>>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: `kind` and `to` are in its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<String>,
}

/// `GET /v1/signals` answers with this, newest first; with `after`, `position` or `wait_s` oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SignalList {
    pub signals: Vec<Signal>,
    /// There are more in the same direction.
    pub has_more: bool,
    /// Where the search ended in the journal: further signals are behind it.
    pub position: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Signal {
    pub id: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    pub kind: String,
    /// As what it was sent: `spawn`, `runner` or `guardian`.
    pub source: String,
    /// `runner` or `guardian`.
    pub target: String,
    /// An agent's name, `operator` or `perennial`.
    pub from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_id: Option<String>,
    /// An agent's name, or `operator`.
    pub to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_id: Option<String>,
    /// Perennial itself emitted it, for the agent.
    pub emitted: bool,
    pub payload: Map<String, Value>,
}
