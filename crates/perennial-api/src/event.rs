//! One event of the journal as clients see it.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventView {
    /// The place in the journal; a feed resumes after it.
    pub seq: u64,
    pub at: Moment,
    /// Whom it is about, or whose message or job; nothing for the node's own events.
    pub agent_id: Option<String>,
    /// The agent's name at that time.
    pub agent: Option<String>,
    /// The message, post or job that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    pub kind: String,
    /// One sentence for people.
    pub text: String,
    /// What the journal holds of it.
    pub data: serde_json::Value,
}
