//! An agent as the surface shows it: the object of `ls` and `show`.
//!
//! Words (state, roster, reason, …) are text here: a newer daemon may know more of them than this
//! client. Moments are RFC 3339 with microseconds and `Z`.

use serde::{Deserialize, Serialize};

use crate::role::Rounds;

use crate::answer::Legacy;
use crate::checkpoint::Checkpoint;
use crate::cleaning::CleanedAgent;
use crate::handoffs::Handoff;
use crate::work::Work;

/// A moment on the wire, such as `2026-11-15T22:03:41.000125Z`; it sorts as text.
pub type Moment = String;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Agent {
    pub id: String,
    pub name: String,
    /// How to ask for it: its name, or `bob~1` for the agent that was called bob before another one was.
    pub target: String,
    pub state: String,
    pub roster: String,
    pub reason: String,
    /// The reason as a sentence for people.
    pub reason_text: String,
    pub evidence: Evidence,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub since: Moment,
    /// When the state times out.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub until: Option<Moment>,
    /// What happens next if nobody does anything, as a sentence for people.
    pub next: String,
    /// The same sentence with a place for the time that is left until `next_at`: `{left}`, to be replaced
    /// by a span such as `4m`.
    pub next_timed: Option<String>,
    /// When that happens, if it is known.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub next_at: Option<Moment>,
    /// Its place, where its session waits in line to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_line: Option<InLine>,
    /// What keeps it as it is until somebody decides: `person`, `verdict` or `damage`.
    pub held_for: Option<String>,
    /// The node that its sessions run on; nothing for one born before nodes had ids.
    pub node: Option<String>,
    pub role: Option<String>,
    /// What its role asks of it: a text, or the path of a file.
    pub mandate: Option<String>,
    /// The rounds that its role asks of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// The parent's name, or its id if it has no name.
    pub parent: Option<String>,
    pub parent_id: Option<String>,
    /// What it works on; the first is primary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub situations: Vec<String>,
    pub harness: String,
    pub host: String,
    /// The tmux session that has its pane, if its host is `tmux` …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmux_session: Option<String>,
    /// … and the socket of that tmux server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmux_socket: Option<String>,
    pub project: String,
    pub dir: String,
    /// Empty for those who may not see it: `withheld` says so.
    pub argv: Vec<String>,
    /// Names only: values are never on the wire outwards. Empty for those who may not see them.
    pub env_names: Vec<String>,
    /// What was changed and the live session does not have yet: `dir`, `env`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    pub restart: String,
    pub session: Option<Session>,
    pub predecessor_id: Option<String>,
    /// The same, if that session ended unexpectedly and this one goes on from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crashed_predecessor_id: Option<String>,
    /// How the predecessor session ended.
    pub previous_exit: Option<Exit>,
    pub respawn_count: u64,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub created_at: Moment,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_seen: Option<Moment>,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub last_activity: Option<Moment>,
    pub summary: Option<String>,
    /// What it left for those who come after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub legacies: Vec<Legacy>,
    /// It asked to be buried, and is when its turn has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub to_be_buried: bool,
    /// Where its work stands.
    pub work_phase: Option<String>,
    /// Since when, by whose word, and what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// Its last checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
    /// What its newest session found out again, if it followed another; only in `show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_quality: Option<Handoff>,
    pub model: Option<String>,
    pub permission_mode: Option<String>,
    /// Its conversations with the vendor: the current one first, then the earlier, newest first.
    pub conversations: Vec<String>,
    /// How full its context window is, as far as that was measured.
    pub context: Option<Context>,
    /// The last sign of a full context window in its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symptom: Option<ContextSymptom>,
    /// What its sessions used, as far as their transcripts tell.
    pub usage: Option<Usage>,
    pub needs_you: bool,
    /// Texts of persons that it has not been offered yet: `sent` says why.
    pub texts_waiting: u64,
    /// Mail to it that it has not seen yet.
    pub mail_unread: u64,
    /// The task that it is on, with the step that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<AgentTask>,
    /// Who else holds its role, where that is meant for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub role_also_held_by: Vec<String>,
    /// What is left out, because it is not for this caller: `argv`, `env_names`, `evidence.fact`,
    /// `checkpoint.summary`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// What was removed of it since its death; only in `show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleaned: Option<CleanedAgent>,
}

/// The place of a session that waits to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InLine {
    /// Counted from 1.
    pub place: u64,
    /// How many wait.
    pub of: u64,
    /// How many sessions run on its node.
    pub running: u64,
    /// How many may, if the operator has set that.
    pub max_running: Option<u64>,
}

/// The clock: how much of the context window is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Context {
    pub tokens: u64,
    /// The model's whole window.
    pub window: u64,
    /// Where the harness compacts by itself, if that comes earlier.
    pub usable: u64,
    /// Of the whole window, as the vendor shows it.
    pub percent: u64,
    pub usable_percent: u64,
    pub source: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// The highest threshold that has passed in this window.
    pub passed: Option<u64>,
}

/// A sign that the context window is running out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ContextSymptom {
    /// `words`, `own-word`, `compaction` (announced), `compacted` (unannounced) or `thrash`.
    pub symptom: String,
    /// `low`, `medium` or `high`.
    pub urgency: String,
    /// The same in a sentence.
    pub told: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// How often the session's conversation was compacted, or was about to be.
    pub compactions: u64,
}

/// Tokens and money.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Nothing where a price is not known.
    pub cost_usd: Option<f64>,
    /// Some lines could not be read, or some price is not known: the figures are a lower bound.
    pub partial: bool,
}

impl Eq for Usage {}

/// What was seen, by whom, when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Evidence {
    pub witness: String,
    pub fact: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
}

/// The newest session of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Session {
    pub number: u64,
    pub id: String,
    pub phase: String,
    pub pid: Option<u32>,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub started_at: Option<Moment>,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub ended_at: Option<Moment>,
    /// Nothing while it runs.
    pub exit: Option<Exit>,
}

/// How a session ended: exactly one of the three is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Exit {
    pub code: Option<i32>,
    /// The kill signal that ended it.
    pub signal: Option<i32>,
    /// Why the exit is unknown.
    pub unknown: Option<String>,
}

/// The task that an agent is on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentTask {
    pub id: String,
    pub title: String,
    /// `taken` or `claimed`.
    pub state: String,
    /// What it is called elsewhere.
    pub reference: Option<String>,
    /// The first step that is not done.
    pub open_step: Option<String>,
    pub steps_done: u64,
    pub steps: u64,
}
