//! A task as clients see it, and what is asked of one.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// A task's title is one line of at most this many bytes.
pub const TITLE_LIMIT: usize = 200;
/// A task's text, and a note, have at most this many bytes.
pub const TEXT_LIMIT: usize = 64 << 10;

/// One task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Task {
    pub id: String,
    pub title: String,
    /// `open`, `taken`, `claimed`, `blocked`, `split`, `verified` or `dropped`.
    pub state: String,
    /// Why it is in this state, in a sentence.
    pub reason: String,
    /// Who brought it into this state: an agent's name, `operator` or `perennial`.
    pub by: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub since: Moment,
    /// Who has it, or on whose queue it lies: an agent's name, `role:NAME`, or nothing.
    pub assignee: Option<String>,
    /// The state of the agent that has it, or on whose queue it lies, while it is open or taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee_state: Option<String>,
    /// The id of the agent that has it, or had it last.
    pub agent_id: Option<String>,
    /// The queue that it lies on, or lay on: an agent's name, `role:NAME`, or nothing.
    pub queue: Option<String>,
    pub project: String,
    pub steps: Vec<TaskStep>,
    pub steps_done: u64,
    /// The tasks that have to be verified first …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// … and those of them that are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    pub parent: Option<String>,
    /// The tasks that are part of it: those that were added to it, and those that it was split into.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// The same with where each stands, where one task is shown or said to be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub part_states: Vec<TaskPart>,
    /// The finished task that it takes up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reopens: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_steps: Option<u64>,
    /// What its workers spent while they were on it; nothing where nobody counted.
    pub tokens: Option<u64>,
    /// It took more than twice its estimate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exceeds_estimate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// The name of its check; `command` for a command of its own.
    pub check: Option<String>,
    /// That command, for persons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub check_command: Vec<String>,
    /// How many sessions worked on it …
    pub sessions: u64,
    /// … and how many of those began because the one before ended otherwise than anybody wanted.
    pub sessions_unplanned: u64,
    /// The last ones, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_sessions: Vec<TaskSession>,
    /// How often it was given back, and how often it may be.
    pub rounds: u64,
    pub rounds_max: u64,
    /// `check`, `parent`, `operator`, `trust` or `parts`.
    pub verified_by: Option<String>,
    /// `work`, `outside` or `rounds`.
    pub blocked_on: Option<String>,
    pub last_check: Option<TaskCheck>,
    pub open_loop: Option<TaskLoop>,
    pub notes: u64,
    /// An agent's name, `operator` or `perennial`.
    pub added_by: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub added_at: Moment,
    /// Only where one task is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The newest ones, where one task is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_notes: Vec<TaskNote>,
    /// What was said of it when its state changed, the newest ones, where one task is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<TaskWords>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskStep {
    pub text: String,
    pub done: bool,
}

/// A part of a task, and where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskPart {
    pub id: String,
    pub title: String,
    pub state: String,
}

/// A session that worked on a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskSession {
    /// The agent's name, or its id if it has left memory.
    pub agent: String,
    pub number: u64,
    /// Why it began: `taken` (the task was taken in it), or after what: `birth` (the agent was born with it), `handoff`, `wake`,
    /// `stop` (woken after a stop), `restart`, `crash`, `reboot` or `again` (the one before ended by itself).
    pub why: String,
    pub planned: bool,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
}

/// How its check ended last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskCheck {
    pub check: Option<String>,
    /// In words: `exit 1`.
    pub end: String,
    /// Whether it passed.
    pub passed: bool,
    /// The end of its output.
    pub output: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
}

/// Work that an agent left when it was buried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskLoop {
    /// Who left it.
    pub from: String,
    /// Who was told last: an agent's name or `operator`.
    pub to: String,
    pub raised: u64,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub raised_at: Moment,
    /// When they are told again.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub next_at: Option<Moment>,
}

/// Words that came with a change of its state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskWords {
    pub by: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// `claimed`, `blocked`, `given back`, `reopened` or `dropped`.
    pub change: String,
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskNote {
    pub by: String,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    pub text: String,
}

/// `GET /v1/tasks`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskList {
    /// There are more; `before` asks for those that were added before the last one.
    pub has_older: bool,
    /// Those that were added last come first.
    pub tasks: Vec<Task>,
}

/// Which tasks to list. Without a state: those that are not over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TaskFilter {
    /// Of the project that this directory belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// A state of tasks, or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Of an agent: what it has, and what lies on its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// On the queue of a role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Only open loops.
    pub loops: bool,
    /// Only tasks that were added before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// `haak`, `tavern`, `julian`, `s3` or `gastown`: `state` and `role` are in its words, and so is the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<String>,
}

/// What is done with a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TaskAction {
    Add,
    /// Adds a list of tasks, all or none.
    Import,
    Take,
    Assign,
    Note,
    Step,
    Block,
    Done,
    Verify,
    Reject,
    Split,
    Reopen,
    #[default]
    Drop,
}

/// A step of a task that is added, or the title of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewTaskStep {
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// A task of a list that is added as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    pub title: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<NewTaskStep>,
    /// It is done already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
    /// The task before it in the list that it is a part of, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<usize>,
}

/// `POST /v1/tasks`: what is asked of a task. Each action reads the fields that it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    pub action: TaskAction,
    /// The task; not for `add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `add`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text of a task or note; the reason for everything else; a new step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `add`: its steps; `split`: the titles of its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<NewTaskStep>,
    /// `import`: the tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<NewTask>,
    /// `add`, `assign`, `import`: an agent, `role:NAME`, or `nobody`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// `add`, `import`: a directory of its project; the caller's own where an agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// A command of its own, of a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_command: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_limit_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_max: Option<u32>,
    /// `step`: which one, counted from 1; without one, the first that is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// `step`: it is not done after all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// `block`: `work` or `outside`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
}
