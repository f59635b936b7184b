//! A role as clients see it: what it asks for, who holds it, and whether it is vacant.

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Moment};

/// One of `GET /v1/roles`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Role {
    pub name: String,
    /// `project`, `config` or `built-in`; nothing for a role that nobody declared.
    pub declared_in: Option<String>,
    /// Where else it is declared, without effect: `project`, `built-in`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_declared_in: Vec<String>,
    pub mandate: Mandate,
    /// There is no file at the mandate's path.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mandate_missing: bool,
    /// `mortal` or `persistent`.
    pub span: String,
    /// The role that looks after its holders.
    pub overseer: Option<String>,
    /// The restart policy of agents that are spawned with it, unless they have one of their own.
    pub restart: Option<String>,
    /// A second holder is warned about.
    pub single_holder: bool,
    /// How often its holders are asked for a round, in seconds.
    pub every_s: Option<u64>,
    /// What verifies its holders' tasks that have no check: `word` or `trust`.
    pub verify: String,
    /// When a holder's session gives way to the next, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
    /// The share of the usable context window at which holders are handed off; without one the operator is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_at_percent: Option<u64>,
    /// What is declared of it and not yet in force, each as a sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_in_force: Vec<String>,
    /// Outside the cemetery.
    pub holders: Vec<RoleHolder>,
    /// No living agent holds it, and that was announced.
    pub vacancy: Option<Vacancy>,
    /// Mail that waits for the next holder.
    pub mail_waiting: u64,
}

/// What the holder of a role is to do: a file that says it, or a text; neither if it is not yet written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Mandate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An agent that holds a role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RoleHolder {
    pub id: String,
    pub name: String,
    pub state: String,
    pub roster: String,
    /// The rounds that are asked of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
}

/// The rounds of an agent in its role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Rounds {
    /// In seconds.
    pub every_s: u64,
    /// How many it was given since it took the role …
    pub given: u64,
    /// … and when the last of them was.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub given_at: Option<Moment>,
    /// When the next one is due, if nothing changes.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub next_at: Option<Moment>,
    /// The number of the round that is due, and waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// What the round that is due waits for, as a sentence.
    pub waiting_for: Option<String>,
    /// Why none falls due, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none_because: Option<String>,
}

/// A role without a living holder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Vacancy {
    pub role: String,
    /// The name of its last holder when it left the role, else its id.
    pub last_holder: String,
    pub last_holder_id: String,
    pub mandate: Mandate,
    /// Somebody declared it: the operator, a project, or Perennial itself.
    pub declared: bool,
    /// Who still holds it, in the freezer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_freezer: Vec<String>,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub since: Moment,
}

/// `POST /v1/agents/{target}/role` and the routes below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RoleChanged {
    /// Who has the role now; of a drop, who had it.
    #[serde(flatten)]
    pub agent: Agent,
    /// The other holders of a role that is meant for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_held_by: Vec<String>,
    /// The role that has no living holder any more: of a transfer, it may be the one that the receiver had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacancy: Option<Vacancy>,
    /// The role that the receiver of a transfer had, where `vacancy` is the role that was transferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also_vacant: Option<Vacancy>,
}
