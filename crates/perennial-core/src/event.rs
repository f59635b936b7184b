//! What happened: the journal's words. Past tense, decided, never taken back.
//!
//! Values of policy are resolved before an event is made, so that folding needs no configuration.

use std::time::Duration;

use crate::checkpoint::CheckpointEvent;
use crate::context::{Sample, Threshold};
use crate::conversation::{ConversationId, Followed, Opening};
use crate::entity::Entity;
use crate::escalation::EscalationEvent;
use crate::exit::Exit;
use crate::handoff::HandoffEvent;
use crate::hold::Hold;
use crate::id::{
    AgentId, BootId, Epoch, EscalationId, JobId, MessageId, NodeId, PostId, SessionNumber,
    SignalId, TaskId,
};
use crate::job::JobEvent;
use crate::launch::Launch;
use crate::legacy::LegacyKind;
use crate::message::MessageEvent;
use crate::name::{Name, NameKey};
use crate::post::PostEvent;
use crate::reason::{Evidence, Reason, Witness};
use crate::rest::RestEvent;
use crate::restart::{Restart, Tally};
use crate::role::{RoleEvent, RoleTerms};
use crate::session::{Pace, Process};
use crate::settings::Settings;
use crate::signal::SignalEvent;
use crate::snapshot::SnapshotEvent;
use crate::state::{Cause, State};
use crate::task::TaskEvent;
use crate::text::Text;
use crate::time::Time;
use crate::work::{WorkEvent, WorkPhase};

/// One event of one entity, with its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Time,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Node(NodeId, NodeEvent),
    Agent(AgentId, AgentEvent),
    Name(NameKey, ClaimEvent),
    Conversation(ConversationId, ClaimEvent),
    Message(MessageId, MessageEvent),
    Post(PostId, PostEvent),
    Job(JobId, JobEvent),
    Role(NameKey, RoleEvent),
    Signal(SignalId, SignalEvent),
    Escalation(EscalationId, EscalationEvent),
    Task(TaskId, TaskEvent),
}

/// What happens to a name or a conversation, which at most one agent has at a time. Who has it
/// follows from the agents' own events; these are the fence, so that two who want it can't both
/// get it. Where an agent's own event can't be read, they tell who has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEvent {
    Taken { by: AgentId },
    Left { by: AgentId },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    Hatched(Box<Birth>),
    Moved(Move),
    /// Its sessions run on this node from here on.
    Rehomed {
        node: NodeId,
    },
    /// Nothing starts, prompts or ends it by itself from here on.
    Held(Hold),
    HoldLifted {
        evidence: Evidence,
    },
    SessionWanted {
        number: SessionNumber,
        opening: Opening,
    },
    SessionStarting {
        number: SessionNumber,
        /// How long a waking agent has from here on to give a first sign of life.
        limit: Duration,
    },
    SessionRunning {
        number: SessionNumber,
        process: Process,
    },
    SessionEnding {
        number: SessionNumber,
        pace: Pace,
    },
    /// Its holder lives and has this session, of which the journal had no record. It is the agent's
    /// newest from here on.
    SessionFound {
        number: SessionNumber,
        /// How the session is taken to have begun.
        opening: Opening,
        process: Option<Process>,
    },
    SessionEnded {
        number: SessionNumber,
        exit: Exit,
        /// It ended as its program does when all is well, whatever its exit.
        is_clean: bool,
        tally: Tally,
        /// Of one that had been asked to end: why. Without it the agent's next move says what the end means.
        asked: Option<Reason>,
    },
    /// Its harness showed that work was done in this session; told once for each.
    SessionProgressed {
        number: SessionNumber,
    },
    /// The session's conversation is this one now.
    ConversationFollowed {
        number: SessionNumber,
        conversation: ConversationId,
        how: Followed,
    },
    /// A new context window began.
    WindowBegan {
        number: SessionNumber,
    },
    ClockPassed {
        number: SessionNumber,
        threshold: Threshold,
        sample: Sample,
    },
    /// The session was told that this threshold has passed.
    ClockTold {
        number: SessionNumber,
        threshold: Threshold,
    },
    /// The agent said where its work stands.
    PhaseReported {
        phase: WorkPhase,
    },
    /// What it does shows where its work stands.
    Work(Box<WorkEvent>),
    Renamed {
        name: Name,
    },
    /// It holds this role, on these terms, and no other from here on.
    RoleTaken {
        role: String,
        terms: Box<RoleTerms>,
        /// Who handed the role over.
        from: Option<AgentId>,
        evidence: Evidence,
    },
    /// It holds no role from here on.
    RoleLeft {
        /// To whom it handed the role over.
        to: Option<AgentId>,
        evidence: Evidence,
    },
    Summarised {
        summary: String,
    },
    /// It left a text for those who come after it.
    LegacyLeft {
        kind: LegacyKind,
        text: Text,
    },
    /// It wants to be buried when its turn has ended.
    BurialAsked {
        evidence: Evidence,
    },
    /// It may rest, or somebody has more for it.
    Rest(Box<RestEvent>),
    /// A round of its role was given to a session or taken back: the next interval counts from here.
    RoundPassed {
        round: u64,
    },
    /// Its settings were changed; those of the live session stay as they are.
    SettingsChanged {
        settings: Box<Settings<AgentId>>,
        evidence: Evidence,
    },
    /// A snapshot of its work tree was taken, or is about to be restored.
    Snapshot(Box<SnapshotEvent>),
    /// A handoff of its session, or what may bring one about.
    Handoff(Box<HandoffEvent>),
    /// Where its work stands was recorded.
    Checkpoint(Box<CheckpointEvent>),
    /// The machine was suspended: the state's time limit was moved, and the session's age does not count
    /// that time.
    PutOff {
        until: Option<Time>,
        unseen: Duration,
    },
}

/// How an agent began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Birth {
    pub name: Option<Name>,
    pub role: Option<String>,
    pub parent: Option<AgentId>,
    /// Where its sessions run.
    pub node: NodeId,
    pub launch: Launch,
    pub restart: Restart,
    pub evidence: Evidence,
    /// When hatching ends by itself.
    pub until: Time,
}

/// A change of state or of its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub cause: Cause,
    pub to: State,
    pub reason: Reason,
    pub evidence: Evidence,
    /// When this state ends by itself, if it does.
    pub until: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeEvent {
    /// A daemon took this home over.
    DaemonStarted { epoch: Epoch, boot: BootId, version: String },
    /// It ended in an orderly way.
    DaemonStopped { epoch: Epoch },
    /// The journal took nothing since then, and does again.
    JournalRestored { since: Time },
    /// The journal was known to reach this record, and ended earlier or had another one there.
    RecordsLost { known: u64, found: u64 },
    /// What these sessions of an agent printed is to be removed from this machine.
    RecordingsPruned { agent: AgentId, sessions: Vec<SessionNumber>, bytes: u64, by: Witness },
    /// What takes up room of an agent in the cemetery is to be removed: our copies of these conversations of its
    /// harness. What its sessions printed has a record of its own.
    AgentCleaned {
        agent: AgentId,
        harness: String,
        conversations: Vec<ConversationId>,
        bytes: u64,
        by: Witness,
    },
}

impl Event {
    /// What happened to an agent itself, if that is what it is about.
    pub fn of_agent(&self) -> Option<(AgentId, &AgentEvent)> {
        match &self.what {
            What::Agent(id, event) => Some((*id, event)),
            What::Node(..)
            | What::Name(..)
            | What::Conversation(..)
            | What::Message(..)
            | What::Post(..)
            | What::Job(..)
            | What::Role(..)
            | What::Signal(..)
            | What::Escalation(..)
            | What::Task(..) => None,
        }
    }

    /// Whose stream it belongs to.
    pub fn entity(&self) -> Entity {
        match &self.what {
            What::Node(id, _) => Entity::Node(*id),
            What::Agent(id, _) => Entity::Agent(*id),
            What::Name(key, _) => Entity::Name(key.clone()),
            What::Conversation(id, _) => Entity::Conversation(id.clone()),
            What::Message(id, _) => Entity::Message(*id),
            What::Post(id, _) => Entity::Post(*id),
            What::Job(id, _) => Entity::Job(*id),
            What::Role(key, _) => Entity::Role(key.clone()),
            What::Signal(id, _) => Entity::Signal(*id),
            What::Escalation(id, _) => Entity::Escalation(*id),
            What::Task(id, _) => Entity::Task(*id),
        }
    }
}
