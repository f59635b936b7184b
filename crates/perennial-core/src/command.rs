//! A command with its caller. It may be refused; a report never is.

use crate::authority::Caller;
use crate::checkpoint::CheckpointOrder;
use crate::cleaning::Artefacts;
use crate::conversation::ConversationId;
use crate::escalation::EscalationDraft;
use crate::fleet::Reach;
use crate::handoff::HandoffOrder;
use crate::id::{AgentId, MessageId, PostId, TaskId};
use crate::launch::Launch;
use crate::legacy::LegacyKind;
use crate::message::{Addressee, MailDraft};
use crate::name::Name;
use crate::restart::Restart;
use crate::retention::{Recordings, Terms};
use crate::role::RoleTerms;
use crate::settings::Settings;
use crate::signal::{SignalDraft, SignalTarget};
use crate::situation::Situation;
use crate::snapshot::SnapshotOrder;
use crate::task::TaskCommand;
use crate::text::{Fingerprint, TextBody};
use crate::work::WorkPhase;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub caller: Caller,
    pub command: Command,
}

/// An agent as a person writes it: a name, `NAME~1`, or an id.
pub type Target = String;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Spawn(Box<Spawn>),
    /// An agent has a child born.
    SpawnChild(Box<Spawn>, Reach),
    Stop(Target),
    StopAll,
    Wake(Target),
    /// Its session ends, and the next one follows.
    Restart(Target),
    /// The same two, with a new conversation.
    WakeFresh(Target),
    RestartFresh(Target),
    Set(Box<Set>),
    Rename {
        target: Target,
        name: Name,
    },
    Bury {
        target: Target,
        /// What it leaves behind; without one, what it reported last.
        summary: Option<String>,
    },
    /// A text for the agent, typed into its terminal.
    Send {
        id: MessageId,
        target: Target,
        body: TextBody,
        fingerprint: Fingerprint,
        /// Not before the end of a turn.
        after_turn: bool,
    },
    /// A text for a mailbox, or several.
    Mail(Box<MailDraft>),
    /// The caller has read these, in its own mailbox.
    ReadMail {
        ids: Vec<MessageId>,
    },
    /// Takes a text back that waits.
    Unsend {
        id: MessageId,
    },
    /// Removes recordings, of those that were found on this machine.
    Prune {
        found: Vec<Recordings>,
        /// What is left of agents that were cleaned.
        cleaned: Vec<Artefacts>,
        terms: Terms,
    },
    /// Removes what takes up room of an agent in the cemetery.
    Clean {
        found: Box<Artefacts>,
    },
    /// A text for everybody, put on the board.
    Post {
        id: PostId,
        title: Option<String>,
        body: TextBody,
    },
    /// An agent takes a role, which its project may have declared.
    Assume {
        target: Target,
        role: Name,
        declared: Option<RoleTerms>,
    },
    /// An agent hands its role over. `declared`: a role, and what the receiver's project says of it.
    Transfer {
        target: Target,
        to: Target,
        declared: Option<(Name, RoleTerms)>,
    },
    /// An agent leaves its role.
    Drop(Target),
    /// The vacancy of a role is told no more.
    DismissVacancy {
        role: Name,
    },
    /// An agent leaves a text for those who come after it.
    Leave {
        kind: LegacyKind,
        body: TextBody,
        /// The post that a text for the board becomes.
        post: PostId,
    },
    /// A snapshot of an agent's work tree was taken, or is to be restored.
    Snapshot(Box<SnapshotOrder>),
    /// An agent's session gives its work to the next one.
    Handoff(Box<HandoffOrder>),
    /// A checkpoint of an agent was composed, and is to be recorded.
    Checkpoint(Box<CheckpointOrder>),
    /// An agent says where its own work stands.
    Report {
        phase: Option<WorkPhase>,
        summary: Option<String>,
    },
    /// A typed message for an agent or the operator.
    Signal(Box<SignalDraft>),
    /// A matter that somebody has to look at.
    Escalate(Box<EscalationDraft>),
    /// Something is asked of a task.
    Task(Box<TaskCommand>),
    /// An agent is born that is on a task from its birth: a child of an agent's, where it has a reach.
    SpawnOn {
        spawn: Box<Spawn>,
        reach: Option<Reach>,
        task: TaskId,
    },
}

impl Command {
    /// Whom it names, if anybody.
    pub fn target_mut(&mut self) -> Option<&mut Target> {
        match self {
            Command::Spawn(spawn)
            | Command::SpawnChild(spawn, _)
            | Command::SpawnOn { spawn, .. } => spawn.parent.as_mut(),
            Command::Set(set) => Some(&mut set.target),
            Command::Task(command) => command.target_mut(),
            Command::Snapshot(order) => Some(&mut order.target),
            Command::Handoff(order) => Some(&mut order.target),
            Command::Checkpoint(order) => Some(&mut order.target),
            Command::Mail(draft) => match &mut draft.to {
                Addressee::Agent(target) | Addressee::Team(target) => Some(target),
                Addressee::Role { .. } | Addressee::Operator => None,
            },
            Command::Signal(draft) => match &mut draft.to {
                Some(SignalTarget::Agent(target)) => Some(target),
                Some(SignalTarget::Guardian | SignalTarget::Operator) | None => None,
            },
            Command::Stop(target)
            | Command::Wake(target)
            | Command::Restart(target)
            | Command::WakeFresh(target)
            | Command::RestartFresh(target)
            | Command::Rename { target, .. }
            | Command::Bury { target, .. }
            | Command::Send { target, .. }
            | Command::Assume { target, .. }
            | Command::Transfer { target, .. }
            | Command::Drop(target) => Some(target),
            Command::StopAll
            | Command::Prune { .. }
            | Command::Clean { .. }
            | Command::Unsend { .. }
            | Command::ReadMail { .. }
            | Command::Report { .. }
            | Command::Leave { .. }
            | Command::DismissVacancy { .. }
            | Command::Escalate(_)
            | Command::Post { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// The new agent's id, made by the shell.
    pub id: AgentId,
    /// Without one the agent gets a free name made from its program's.
    pub name: Option<Name>,
    pub role: Option<RoleWanted>,
    pub parent: Option<Target>,
    pub launch: Launch,
    pub restart: Restart,
    /// A conversation that its owner has already, to go on with.
    pub conversation: Option<ConversationId>,
    /// The first is primary; without any, a child has its parent's.
    pub situations: Vec<Situation>,
}

/// The role that an agent is to be born with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleWanted {
    pub name: Name,
    /// What its project says of the role.
    pub declared: Option<RoleTerms>,
    /// Nobody named a restart policy for the agent: the role's counts, if it has one.
    pub sets_restart: bool,
}

/// Changes an agent's settings, and may give it a session that has them, by one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub target: Target,
    pub settings: Settings<Target>,
    pub then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The next session has them, whenever it comes.
    Nothing,
    Wake,
    Restart,
    WakeFresh,
    RestartFresh,
}
