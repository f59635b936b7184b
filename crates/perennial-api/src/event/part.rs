//! The parts that events are made of.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// How an agent began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hatched {
    pub name: Option<String>,
    pub role: Option<String>,
    /// The parent's id.
    pub parent: Option<String>,
    /// Where its sessions run.
    pub node: String,
    pub launch: Launch,
    /// `never`, `on-crash` or `always`.
    pub restart: String,
    pub evidence: Evidence,
    /// When hatching ends by itself.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub until: Moment,
}

/// What every session of an agent is started from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Launch {
    pub harness: String,
    pub host: String,
    /// The tmux session that has its pane, if its host is `tmux`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmux_session: Option<String>,
    /// Left out for those who may not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    pub dir: String,
    /// Names only. Left out for those who may not see them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_names: Option<Vec<String>>,
    pub project: String,
    pub options: LaunchOptions,
}

/// What an agent CLI is started with, beside its own arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaunchOptions {
    pub model: Option<String>,
    /// What the first session is told. Left out where there is none, and for those who may not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub permission_mode: Option<String>,
    pub trust: bool,
}

/// A change of state, or of its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moved {
    pub cause: String,
    pub to: String,
    pub reason: String,
    pub evidence: Evidence,
    /// When this state ends by itself, if it does.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub until: Option<Moment>,
}

/// Who has a name or a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claimed {
    /// The agent's id.
    pub by: String,
}

/// What was seen, by whom, when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "EventEvidence"))]
pub struct Evidence {
    pub witness: Witness,
    pub fact: Fact,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
}

/// Who saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Witness {
    /// `kernel`, `holder`, `lead`, `harness`, `agent`, `person` or `daemon`.
    pub kind: String,
    /// Of a lead or an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fact {
    /// A verb was given.
    Asked {
        verb: String,
        /// For a session with a new conversation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fresh: bool,
    },
    Executed {
        process: Process,
    },
    NotStarted {
        /// What the system said. Left out for those who may not see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    Exited {
        exit: Exit,
    },
    /// What the harness showed.
    Shown {
        show: String,
    },
    /// The time that the state carried has come.
    TimeCame,
    BootChanged,
    /// The home is a copy of another one.
    HomeCopied,
    /// Its holder lives and has a session that the journal did not know.
    SessionFound {
        number: u32,
    },
    /// The journal has lost its newest records.
    RecordsLost,
    /// This task of its is verified, and nothing else is left for it to do.
    TaskVerified {
        task: String,
    },
    /// It is on this task.
    TaskGiven {
        task: String,
    },
    Unreadable {
        /// Left out for those who may not see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

/// A process that can't be mistaken for a later one with the same pid on the same boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    pub pid: i32,
    /// Clock ticks after boot.
    pub start_ticks: u64,
}

/// How a session ended: one of these members, as an agent's exit has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "EventExit"))]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    Code(i32),
    /// The kill signal that ended it.
    Signal(i32),
    /// Why the exit is unknown.
    Unknown(String),
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Opening {
    /// A bare command.
    Bare,
    /// A new conversation.
    Fresh { conversation: String },
    /// The conversation goes on.
    Resume {
        conversation: String,
        /// `open`: the session goes on with its turn; `over` and `stopped`: it waits.
        turn: String,
    },
    /// A new conversation, in which the work of the earlier ones goes on: the session is told where it stood.
    Anew {
        conversation: String,
        /// As with `resume`.
        turn: String,
        /// `asked`, `handoff`, `churn` or `thrash`.
        why: String,
    },
}

/// What was measured of a context window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    pub tokens: u64,
    pub window: u64,
    pub usable: u64,
    pub source: String,
}

/// What a text to an agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Content {
    /// A person's words.
    Typed {
        text: Text,
        /// It waits for the end of a turn.
        after_turn: bool,
    },
    /// The clock passed a threshold.
    Notice { threshold: String, sample: Sample },
    /// How the clock stands after this number of tool calls.
    Reminder { calls: u64, sample: Option<Sample> },
    /// Mail.
    Mail {
        /// The id of the first mail of its thread.
        thread: String,
        subject: String,
        /// `low`, `normal`, `high` or `urgent`.
        priority: String,
        text: Text,
    },
    /// A round that a role asks of its holder.
    Round { role: String, number: u64 },
    /// What a session is asked that hands off.
    Handoff { number: u32 },
}

/// A text by its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Text {
    pub bytes: u64,
    /// On one line.
    pub head: String,
    /// SHA-256, in hexadecimal digits.
    pub digest: String,
}

/// Who wrote a post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Author {
    Person,
    /// With the name that it had then.
    Agent {
        id: String,
        name: Option<String>,
    },
}

/// What a job is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Purpose {
    /// An agent needs the operator.
    Notify { agent: String, name: String, reason: String },
    /// An agent has written to the operator.
    Mail { agent: String, name: String },
    /// A task is claimed to be done.
    Check {
        task: String,
        /// Who did it.
        agent: Option<String>,
        /// The name of the check; none of a command of the task's own.
        check: Option<String>,
    },
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum JobEnd {
    Code {
        code: i32,
    },
    KillSignal {
        signal: i32,
    },
    /// It took too long, and was ended.
    Limit,
    NotStarted,
    /// Nobody saw its end: it may have run.
    Unknown,
    /// It was not run: what it was to tell was no longer so.
    Outdated,
}

/// Other settings of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingsChanged {
    pub evidence: Evidence,
    /// `never`, `on-crash` or `always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// Names of variables that were set; left out for those who may not see how the agent is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_env: Option<Vec<String>>,
    /// Names of variables that were removed, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unset_env: Option<Vec<String>>,
    /// The new parent's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// It has no parent from here on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_parent: bool,
    /// All situations that it has from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub situations: Option<Vec<String>>,
}
