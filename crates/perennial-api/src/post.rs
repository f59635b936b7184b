//! A post on the board as clients see it.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// `GET /v1/board` lists these, newest first; `GET /v1/board/{id}` and `POST /v1/board` answer with
/// one and its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Post {
    pub id: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// `person`, `agent` or `perennial`; `unknown` where the record can't be read.
    pub author: String,
    /// The agent's name when it wrote the post.
    pub agent: Option<String>,
    pub agent_id: Option<String>,
    pub title: Option<String>,
    /// The beginning of the text, on one line.
    pub head: String,
    /// How long the text is.
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
