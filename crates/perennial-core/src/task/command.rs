//! What is asked of tasks, and why it is refused: data, not text.

use super::{BlockedOn, Brief, Task};
use crate::command::Target;
use crate::id::{AgentId, TaskId};
use crate::job::JobCommand;
use crate::name::Name;
use crate::text::TextBody;

/// A task that somebody wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDraft {
    pub id: TaskId,
    pub brief: Brief,
    pub body: Option<TextBody>,
    pub to: QueueWanted,
    /// Dependencies that are not in memory, and are on record.
    pub finished: Vec<TaskId>,
}

/// One task of a list that somebody wants added as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskImport {
    pub id: TaskId,
    /// Its parent may be one before it in the list.
    pub brief: Brief,
    /// It is done already, as the list says.
    pub is_done: bool,
}

/// Where somebody wants a task to lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueWanted {
    Nobody,
    Agent(Target),
    Role {
        role: Name,
        /// A project declares it.
        is_declared: bool,
    },
}

/// How a task's check would be run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The task has none.
    None,
    Run(JobCommand),
    /// It has one that may not be run; why.
    NotRunnable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCommand {
    Add(Box<TaskDraft>),
    /// All of them or none.
    Import {
        to: QueueWanted,
        tasks: Vec<TaskImport>,
    },
    /// The caller takes it.
    Take {
        task: TaskId,
    },
    Assign {
        task: TaskId,
        to: QueueWanted,
    },
    Note {
        task: TaskId,
        body: TextBody,
    },
    Step {
        task: TaskId,
        step: StepWanted,
    },
    Block {
        task: TaskId,
        on: BlockedOn,
        reason: String,
    },
    Done {
        task: TaskId,
        reason: String,
        check: Resolution,
    },
    Verify {
        task: TaskId,
        is_done: bool,
        reason: String,
        /// The reason as a note: a verdict that is final has no place for words.
        note: Option<TextBody>,
    },
    Split {
        task: TaskId,
        into: Vec<(TaskId, String)>,
    },
    Reopen {
        task: TaskId,
        reason: String,
        /// One that has left memory.
        recalled: Option<Box<Task>>,
        /// The id of the task that takes a finished one up again.
        successor: TaskId,
        /// The reason as a note: a task that is added has no place for one.
        note: Option<TextBody>,
    },
    Drop {
        task: TaskId,
        reason: String,
        /// Parts of the same whole that are verified and have left memory.
        verified: Vec<TaskId>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepWanted {
    Add(String),
    /// Counted from 1; without one, the first that is not done.
    Done(Option<u32>),
    NotDone(u32),
}

/// Why something can't be done with a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskRefusal {
    NoSuchTask,
    Exists,
    /// It is verified or dropped.
    Over,
    /// Not in this state.
    WrongState(&'static str),
    /// It lies on somebody else's queue, or in another project.
    NotYours,
    /// The agent is on this one.
    OnAnother {
        agent: AgentId,
        task: TaskId,
    },
    /// TK7
    ClockNearlyOut {
        agent: AgentId,
    },
    /// TK8
    Waits {
        on: TaskId,
    },
    NoSuchDependency {
        on: TaskId,
    },
    NoSuchParent {
        parent: TaskId,
    },
    /// TK4
    CommandOfAgent,
    /// TK3: an agent's list has items that count as verified.
    CheckedItems,
    NoSuchStep {
        step: u32,
        steps: u32,
    },
    /// More of this than a task may have.
    TooFew {
        what: &'static str,
        least: usize,
    },
    TooMany {
        what: &'static str,
        most: usize,
    },
    /// It is not one line of 1 to this many bytes without control characters.
    NoLine {
        what: &'static str,
        most: usize,
    },
    TooLong {
        what: &'static str,
        most: usize,
    },
    OutOfRange {
        what: &'static str,
        least: u64,
        most: u64,
    },
    /// A path that is absolute or leads out of its project.
    BadScope {
        path: String,
    },
    /// TK3
    OwnWork,
    /// TK3: an agent that had it is not below the caller.
    NotAbove {
        agent: AgentId,
    },
}

impl TaskCommand {
    /// The task that it is about.
    pub fn task(&self) -> TaskId {
        match self {
            TaskCommand::Add(draft) => draft.id,
            TaskCommand::Import { tasks, .. } => tasks.first().map_or(TaskId(0), |task| task.id),
            TaskCommand::Take { task, .. }
            | TaskCommand::Assign { task, .. }
            | TaskCommand::Note { task, .. }
            | TaskCommand::Step { task, .. }
            | TaskCommand::Block { task, .. }
            | TaskCommand::Done { task, .. }
            | TaskCommand::Verify { task, .. }
            | TaskCommand::Split { task, .. }
            | TaskCommand::Reopen { task, .. }
            | TaskCommand::Drop { task, .. } => *task,
        }
    }

    /// The agent that it names, if any.
    /// The task that lies elsewhere afterwards.
    pub fn moved(&self) -> Option<TaskId> {
        match self {
            TaskCommand::Assign { task, .. } => Some(*task),
            TaskCommand::Add(_)
            | TaskCommand::Import { .. }
            | TaskCommand::Take { .. }
            | TaskCommand::Note { .. }
            | TaskCommand::Step { .. }
            | TaskCommand::Block { .. }
            | TaskCommand::Done { .. }
            | TaskCommand::Verify { .. }
            | TaskCommand::Split { .. }
            | TaskCommand::Reopen { .. }
            | TaskCommand::Drop { .. } => None,
        }
    }

    pub fn target_mut(&mut self) -> Option<&mut Target> {
        let to = match self {
            TaskCommand::Add(draft) => &mut draft.to,
            TaskCommand::Assign { to, .. } | TaskCommand::Import { to, .. } => to,
            TaskCommand::Take { .. }
            | TaskCommand::Note { .. }
            | TaskCommand::Step { .. }
            | TaskCommand::Block { .. }
            | TaskCommand::Done { .. }
            | TaskCommand::Verify { .. }
            | TaskCommand::Split { .. }
            | TaskCommand::Reopen { .. }
            | TaskCommand::Drop { .. } => return None,
        };
        match to {
            QueueWanted::Agent(target) => Some(target),
            QueueWanted::Nobody | QueueWanted::Role { .. } => None,
        }
    }

    /// How many bytes of the caller's own words it records.
    pub fn words(&self) -> u64 {
        let length = match self {
            TaskCommand::Add(draft) => {
                let body = draft.body.as_ref().map_or(0, |body| body.body.len());
                of_brief(&draft.brief) + body
            }
            TaskCommand::Import { tasks, .. } => tasks.iter().map(|one| of_brief(&one.brief)).sum(),
            TaskCommand::Note { body, .. } => body.body.len(),
            TaskCommand::Block { reason, .. }
            | TaskCommand::Done { reason, .. }
            | TaskCommand::Verify { reason, .. }
            | TaskCommand::Reopen { reason, .. }
            | TaskCommand::Drop { reason, .. } => reason.len(),
            TaskCommand::Split { into, .. } => into.iter().map(|(_, title)| title.len()).sum(),
            TaskCommand::Step { step: StepWanted::Add(text), .. } => text.len(),
            TaskCommand::Step { step: StepWanted::Done(_) | StepWanted::NotDone(_), .. }
            | TaskCommand::Take { .. }
            | TaskCommand::Assign { .. } => 0,
        };
        length as u64
    }
}

fn of_brief(brief: &Brief) -> usize {
    let steps = brief.steps.iter().map(|step| step.text.len()).sum::<usize>();
    let scope = brief.scope.iter().map(String::len).sum::<usize>();
    brief.title.len() + brief.reference.as_ref().map_or(0, String::len) + steps + scope
}
