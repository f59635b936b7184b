//! Why an agent is in its state, and the evidence for it.
//!
//! Both are closed sets: text for people is made from them, never stored instead of them. The one
//! free text is what the world itself said (an error, an unreadable record), bounded.

use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::id::{AgentId, SessionNumber, TaskId};
use crate::session::Process;
use crate::time::Time;

/// Why the agent is in its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    // hatching, waking
    Starting,
    // working
    Running,
    InTurn,
    /// Its turn has ended, and work that the turn began continues in the background.
    BackgroundTasks,
    // waiting
    Idle,
    NeedsPermission,
    NeedsAnswer,
    RateLimited,
    /// The vendor's service answered with an error, and the harness gave up on the turn.
    ServiceFailed,
    /// The harness gave up on the turn at the vendor's limit.
    LimitReached,
    FirstRunDialog,
    /// It has shown nothing since it was started, for longer than a start may take.
    SilentAtStart,
    /// The operator stopped it in the middle of a turn and woke it: it waits for instructions.
    StoppedInTurn,
    // unknown
    DaemonStarted,
    HolderUnreachable,
    LeadSilent,
    /// In a turn, and silent for too long.
    Silent,
    RecordUnreadable,
    /// The home was copied: its session belongs to the original.
    HomeCopied,
    /// The journal has lost records that may be about it.
    RecordLost,
    // handing-off
    HandoffAsked,
    // crashed
    /// A retry is due at the state's time limit.
    Retrying,
    /// Too many restarts; the next try is due at the state's time limit.
    BreakerOpen,
    // sleeping
    Finished,
    Stopped,
    CrashedRestartOff,
    MachineRestarted,
    LeadEnded,
    Unlisted,
    // hibernating
    TaskDone,
    // frozen
    FrozenByOrder,
    // dead
    Completed,
    Reaped,
    Retired,
    GaveUp,
    // expired
    NeverNamed,
}

impl Reason {
    /// Whether keys now would answer a question of the harness.
    pub fn is_dialog(self) -> bool {
        matches!(self, Reason::NeedsPermission | Reason::NeedsAnswer) || self.is_before_first_sign()
    }

    /// Whether it waits without having given a sign of life.
    pub fn is_before_first_sign(self) -> bool {
        matches!(self, Reason::FirstRunDialog | Reason::SilentAtStart)
    }

    pub const ALL: [Reason; 36] = [
        Reason::Starting,
        Reason::Running,
        Reason::InTurn,
        Reason::BackgroundTasks,
        Reason::Idle,
        Reason::NeedsPermission,
        Reason::NeedsAnswer,
        Reason::RateLimited,
        Reason::ServiceFailed,
        Reason::LimitReached,
        Reason::FirstRunDialog,
        Reason::SilentAtStart,
        Reason::StoppedInTurn,
        Reason::DaemonStarted,
        Reason::HolderUnreachable,
        Reason::LeadSilent,
        Reason::Silent,
        Reason::RecordUnreadable,
        Reason::HomeCopied,
        Reason::RecordLost,
        Reason::HandoffAsked,
        Reason::Retrying,
        Reason::BreakerOpen,
        Reason::Finished,
        Reason::Stopped,
        Reason::CrashedRestartOff,
        Reason::MachineRestarted,
        Reason::LeadEnded,
        Reason::Unlisted,
        Reason::TaskDone,
        Reason::FrozenByOrder,
        Reason::Completed,
        Reason::Reaped,
        Reason::Retired,
        Reason::GaveUp,
        Reason::NeverNamed,
    ];

    /// The word for programs: stable, in `--json`.
    pub fn word(self) -> &'static str {
        use Reason::*;
        match self {
            Starting => "starting",
            Running => "running",
            InTurn => "in-turn",
            BackgroundTasks => "background-tasks",
            Idle => "idle",
            NeedsPermission => "needs-permission",
            NeedsAnswer => "needs-answer",
            RateLimited => "rate-limited",
            ServiceFailed => "service-failed",
            LimitReached => "limit-reached",
            FirstRunDialog => "first-run-dialog",
            SilentAtStart => "silent-at-start",
            StoppedInTurn => "stopped-in-turn",
            DaemonStarted => "daemon-started",
            HolderUnreachable => "holder-unreachable",
            LeadSilent => "lead-silent",
            Silent => "silent",
            RecordUnreadable => "record-unreadable",
            HomeCopied => "home-copied",
            RecordLost => "record-lost",
            HandoffAsked => "handoff-asked",
            Retrying => "retrying",
            BreakerOpen => "breaker-open",
            Finished => "finished",
            Stopped => "stopped",
            CrashedRestartOff => "crashed-restart-off",
            MachineRestarted => "machine-restarted",
            LeadEnded => "lead-ended",
            Unlisted => "unlisted",
            TaskDone => "task-done",
            FrozenByOrder => "frozen-by-order",
            Completed => "completed",
            Reaped => "reaped",
            Retired => "retired",
            GaveUp => "gave-up",
            NeverNamed => "never-named",
        }
    }
}

/// What was seen, by whom, when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub witness: Witness,
    pub fact: Finding,
    pub at: Time,
}

/// Who saw it, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Witness {
    Kernel,
    Holder,
    Lead(AgentId),
    Harness,
    Agent(AgentId),
    Operator,
    /// The daemon itself: a timer, the journal, the machine's boot id.
    Daemon,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finding {
    /// A verb was given.
    Asked(Verb),
    /// The same, for a session with a new conversation.
    AskedFresh(Verb),
    Executed(Process),
    /// The program could not be executed; what the system said.
    NotStarted(String),
    Exited(Exit),
    /// What the harness showed.
    Shown(Show),
    /// The time limit of its state has passed.
    TimeCame,
    BootChanged,
    /// The home is a copy of another one.
    HomeCopied,
    /// A record can't be read; what is wrong with it.
    Unreadable(String),
    /// Its holder lives and has this session, which the journal does not know.
    SessionFound(SessionNumber),
    /// The newest records of the journal are gone.
    RecordsLost,
    /// This task of its is verified, and nothing else is left for it to do.
    TaskVerified(TaskId),
    /// It is on this task.
    TaskGiven(TaskId),
}

/// What a harness can show, as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Show {
    SessionBegan,
    TurnBegan,
    TurnEnded,
    PermissionDialog,
    Question,
    RateLimit,
    ServiceError,
    /// Work in the background.
    BackgroundWork,
    /// The vendor's limit, at which it gave up the turn.
    LimitReached,
    /// Nothing for so long that a dialog probably blocks it.
    NothingAtFirst,
    /// Nothing in a turn: no byte, no file, no child at work.
    NothingInTurn,
    /// The vendor refused credentials, account or payment.
    AccessRefused,
    /// The conversation no longer fits into the window.
    TooLong,
}

/// The verbs of commands, for evidence and for who may do what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verb {
    Look,
    Attach,
    Send,
    Logs,
    Spawn,
    Stop,
    Wake,
    Restart,
    Set,
    Rename,
    Bury,
    Prune,
    Report,
    Post,
    /// Sends and reads mail.
    Mail,
    /// Takes a role.
    Assume,
    /// Hands a role over.
    Transfer,
    /// Leaves a role.
    Drop,
    Up,
    Down,
    /// Removes what takes up room of a dead agent.
    Clean,
    /// Sends and reads signals.
    Signal,
    /// Has a matter looked at.
    Escalate,
    /// Adds, reads and notes tasks.
    Task,
    /// Works on a task: takes it, claims it, splits it.
    TaskWork,
    /// Puts a task on somebody's queue, or takes it from there.
    TaskAssign,
    /// Says whether a task is done.
    TaskVerify,
    /// Reopens or drops a task.
    TaskDrop,
    /// Takes, shows and restores snapshots of work trees.
    Snapshot,
    /// Gives a session's work to the next session, or ends the wait for that.
    Handoff,
    /// Records where the work of an agent stands.
    Checkpoint,
}

impl Verb {
    pub fn word(self) -> &'static str {
        match self {
            Verb::Look => "look",
            Verb::Attach => "attach",
            Verb::Send => "send",
            Verb::Logs => "logs",
            Verb::Spawn => "spawn",
            Verb::Stop => "stop",
            Verb::Wake => "wake",
            Verb::Restart => "restart",
            Verb::Set => "set",
            Verb::Rename => "rename",
            Verb::Bury => "bury",
            Verb::Prune => "prune",
            Verb::Report => "report",
            Verb::Post => "post",
            Verb::Mail => "mail",
            Verb::Assume => "assume",
            Verb::Transfer => "transfer",
            Verb::Drop => "drop",
            Verb::Up => "up",
            Verb::Down => "down",
            Verb::Clean => "clean",
            Verb::Signal => "signal",
            Verb::Escalate => "escalate",
            Verb::Task => "task",
            Verb::TaskWork => "task-work",
            Verb::TaskAssign => "task-assign",
            Verb::TaskVerify => "task-verify",
            Verb::TaskDrop => "task-drop",
            Verb::Snapshot => "snapshot",
            Verb::Handoff => "handoff",
            Verb::Checkpoint => "checkpoint",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::needs_operator;
    use crate::state::State;

    #[test]
    fn a_dialog_is_for_a_person() {
        let dialogs: Vec<Reason> = Reason::ALL.into_iter().filter(|one| one.is_dialog()).collect();
        assert_eq!(dialogs.len(), 4);
        assert!(dialogs.iter().all(|one| needs_operator(State::Waiting, *one)));
    }
}
