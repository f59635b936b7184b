//! The entity graph on the wire: sessions as situations, and what belongs to each.
//!
//! Entities are named as the seed names them: `situation:session-ID` a session, `agent:MODEL` what acted in it,
//! `person:operator`, `role:NAME`, `situation:NAME`; and `identity:ID` for the agent whose session it was.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// `GET /v1/graph`; what is left out limits nothing. Words ignore case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "GraphQuery"))]
pub struct Query {
    /// One session, by its id: `agt_….2`.
    pub session: Option<String>,
    /// Sessions of this agent: its id, or what it was called then.
    pub agent: Option<String>,
    /// The model that acted, or the harness where no model was given.
    pub actor: Option<String>,
    /// A role that was held in the session.
    pub role: Option<String>,
    /// A situation that the agent worked on.
    pub situation: Option<String>,
    /// Only what went on after this.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub since: Option<Moment>,
    /// Only what went on before this.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub until: Option<Moment>,
    /// `next` of the page before.
    pub before: Option<String>,
    /// The maximum number of sessions; default 100, at most 1,000.
    pub limit: Option<usize>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: `role` is in its words, and so are roles and states of the answer.
    pub vocabulary: Option<String>,
}

/// A page of the graph: sessions, those that began last first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GraphPage {
    pub sessions: Vec<GraphSession>,
    /// What to give as `before` for the next page, if there is one.
    pub next: Option<String>,
}

/// A session: a situation of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GraphSession {
    /// `situation:session-ID`
    pub entity: String,
    /// The session's id.
    pub session: String,
    /// The agent's id.
    pub agent_id: String,
    /// What the agent was called then; its id if it had no name.
    pub agent: String,
    /// The id of the agent's parent, as it is now.
    pub parent_id: Option<String>,
    /// The agent's state now; of an earlier session, the last state before the next one.
    pub state: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub since: Moment,
    /// Nothing while it runs.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub until: Option<Moment>,
    pub belongings: Vec<Belonging>,
}

/// What belongs to a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Belonging {
    /// As what: `identity`, `actor`, `method`, `domain`, `description` or `state`.
    pub quality: String,
    /// An entity; nothing for a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// A text or word: a summary; `live`, `frozen` or `dead`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where it belonged for a part of the time only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub since: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub until: Option<Moment>,
}
