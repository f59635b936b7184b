//! Everything that may leave the machine: one closed list, carried out after the commit, by one
//! executor per family.
//!
//! An effect is kept in flight by its key: the entity, the kind of effect, and a fence that only
//! grows. The same key is carried out once in each run of the daemon; a new daemon plans anew, and
//! whoever holds the entity knows what was done already. Focus, Continue and PromptHeard follow from
//! what was heard (`hearing::plan`): each is told when it is planned and was not planned before.

use crate::checkpoint::CheckpointCause;
use crate::conversation::Opening;
use crate::entity::Entity;
use crate::handoff::HandoffRequest;
use crate::hearing::Focus;
use crate::id::{AgentId, JobId, MessageId, SessionNumber};
use crate::job::{JobCommand, Purpose};
use crate::launch::Launch;
use crate::message::Unread;
use crate::round::Round;
use crate::session::{Pace, Process};
use crate::snapshot::{SnapshotCause, StoredSnapshot};
use crate::text::Text;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Session(SessionEffect),
    Focus(FocusEffect),
    /// Have a suspended program go on.
    Continue {
        agent: AgentId,
        number: SessionNumber,
    },
    /// Tell a session's holder that the program took a prompt then: its input line was empty.
    PromptHeard {
        agent: AgentId,
        number: SessionNumber,
        at: Time,
    },
    Deliver(Delivery),
    Job(JobEffect),
    Keep(KeepEffect),
    Checkpoint(CheckpointEffect),
    Snapshot(SnapshotEffect),
    /// Remove the values of an agent's environment: it never starts again, so that nobody needs them.
    RemoveSecrets {
        agent: AgentId,
    },
}

/// Tell a session's holder what keys reach now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FocusEffect {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub focus: Focus,
}

/// Type a text into a session's terminal and press Enter, at most once per attempt. A list of mails has the id and
/// the attempt of its first one, also when that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub message: MessageId,
    pub attempt: u32,
    pub agent: AgentId,
    pub number: SessionNumber,
    pub typing: Typing,
}

/// What is typed: a person's own words, or mail, a round or a handoff, which is put into words by whoever types it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typing {
    Text(Text),
    /// One list; `left` more wait.
    Mails {
        mails: Vec<Unread>,
        left: usize,
    },
    Round(Box<Round>),
    Handoff(Box<HandoffRequest>),
}

/// Take a snapshot of the work tree that this directory is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepEffect {
    pub agent: AgentId,
    pub wish: u32,
    pub why: SnapshotCause,
    pub dir: String,
    /// When nobody waits for it any more.
    pub until: Time,
}

/// Compose a checkpoint that has no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointEffect {
    pub agent: AgentId,
    /// The number of the last one.
    pub after: u32,
    /// Whose work it tells of.
    pub session: SessionNumber,
    pub why: CheckpointCause,
}

/// For whoever has the snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotEffect {
    Restore(RestoreEffect),
    Remove(RemoveEffect),
    /// Read a work tree, so that a snapshot of it takes less time later. Nothing depends on it.
    Look {
        agent: AgentId,
        number: SessionNumber,
        dir: String,
    },
}

/// Put the files of a snapshot back into a work tree, after a snapshot of what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreEffect {
    pub agent: AgentId,
    pub restore: u32,
    /// Nothing, if there is none: then it can only fail.
    pub snapshot: Option<StoredSnapshot>,
    pub with_index: bool,
    pub work_tree: String,
}

/// Remove the files of snapshots that were dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveEffect {
    pub agent: AgentId,
    /// Which drop was the last.
    pub drop: u32,
    pub snapshots: Vec<(u32, StoredSnapshot)>,
}

impl SnapshotEffect {
    fn key(&self) -> EffectKey {
        let (agent, kind, fence) = match self {
            SnapshotEffect::Restore(it) => (it.agent, EffectKind::Restore, it.restore),
            SnapshotEffect::Remove(it) => (it.agent, EffectKind::RemoveSnapshots, it.drop),
            SnapshotEffect::Look { agent, number, .. } => (*agent, EffectKind::Look, number.0),
        };
        EffectKey { entity: Entity::Agent(agent), kind, fence: u64::from(fence) }
    }
}

/// For the executor of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEffect {
    pub job: JobId,
    pub number: u32,
    pub action: JobAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobAction {
    /// Run it, at most once ever for this number; one that runs already is taken up.
    Run(Box<(Purpose, JobCommand)>),
    /// It was run: take it up, or say that nobody saw its end. Never run it.
    Hold(Box<(Purpose, JobCommand)>),
    /// Let its holder go.
    Release,
}

/// For the holder of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEffect {
    pub agent: AgentId,
    pub number: SessionNumber,
    /// Its program, as the journal has it: while that lives, the session has not ended, whatever became
    /// of its holder's files.
    pub recorded: Option<Process>,
    pub action: Action,
}

impl SessionEffect {
    /// The agent's first session is to be started: nothing of it has run yet.
    pub fn is_first_start(&self) -> bool {
        match self.action {
            Action::Start(..) => self.number == SessionNumber::FIRST,
            Action::Hold | Action::End(_) | Action::Release => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Start the session, at most once ever: in the agent's holder if one lives, else in a new one.
    Start(Box<Launch>, Opening),
    /// Stay connected to the holder of a running session and watch its process.
    Hold,
    /// End the session and its whole tree.
    End(Pace),
    /// Release a holder whose session has ended.
    Release,
}

/// What an effect is kept in flight by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectKey {
    pub entity: Entity,
    pub kind: EffectKind,
    pub fence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    Start,
    Hold,
    EndGracefully,
    EndAtOnce,
    Release,
    Focus,
    Continue,
    PromptHeard,
    Deliver,
    RunJob,
    ReleaseJob,
    RemoveSecrets,
    Keep,
    Checkpoint,
    Restore,
    RemoveSnapshots,
    Look,
}

impl Effect {
    /// Whether a holder that connects anew is told this, of what follows from what was heard. That a prompt
    /// was heard is no news to it: somebody may have typed in the input line since.
    pub fn is_told_anew(&self) -> bool {
        match self {
            Effect::Focus(_) | Effect::Continue { .. } => true,
            Effect::PromptHeard { .. } => false,
            // Kept in flight by their keys: carried out once, whoever connects.
            Effect::Session(_)
            | Effect::Deliver(_)
            | Effect::Job(_)
            | Effect::Keep(_)
            | Effect::Checkpoint(_)
            | Effect::Snapshot(_)
            | Effect::RemoveSecrets { .. } => false,
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Effect::Session(SessionEffect { agent, number, action, recorded: _ }) => {
                let kind = match action {
                    Action::Start(..) => EffectKind::Start,
                    Action::Hold => EffectKind::Hold,
                    Action::End(Pace::Graceful) => EffectKind::EndGracefully,
                    Action::End(Pace::AtOnce) => EffectKind::EndAtOnce,
                    Action::Release => EffectKind::Release,
                };
                EffectKey { entity: Entity::Agent(*agent), kind, fence: u64::from(number.0) }
            }
            Effect::Focus(FocusEffect { agent, number, .. }) => {
                let (entity, fence) = (Entity::Agent(*agent), u64::from(number.0));
                EffectKey { entity, kind: EffectKind::Focus, fence }
            }
            Effect::Continue { agent, number } => {
                let (entity, fence) = (Entity::Agent(*agent), u64::from(number.0));
                EffectKey { entity, kind: EffectKind::Continue, fence }
            }
            Effect::PromptHeard { agent, at, .. } => {
                let (entity, kind) = (Entity::Agent(*agent), EffectKind::PromptHeard);
                EffectKey { entity, kind, fence: at.0 }
            }
            Effect::Deliver(Delivery { message, attempt, .. }) => {
                let (entity, fence) = (Entity::Message(*message), u64::from(*attempt));
                EffectKey { entity, kind: EffectKind::Deliver, fence }
            }
            Effect::Job(JobEffect { job, number, action }) => {
                let kind = match action {
                    // Whoever was told to run it holds it.
                    JobAction::Run(_) | JobAction::Hold(_) => EffectKind::RunJob,
                    JobAction::Release => EffectKind::ReleaseJob,
                };
                EffectKey { entity: Entity::Job(*job), kind, fence: u64::from(*number) }
            }
            Effect::Keep(KeepEffect { agent, wish, .. }) => {
                let (entity, kind) = (Entity::Agent(*agent), EffectKind::Keep);
                EffectKey { entity, kind, fence: u64::from(*wish) }
            }
            Effect::Checkpoint(CheckpointEffect { agent, after, .. }) => {
                let (entity, kind) = (Entity::Agent(*agent), EffectKind::Checkpoint);
                EffectKey { entity, kind, fence: u64::from(*after) }
            }
            Effect::Snapshot(effect) => effect.key(),
            Effect::RemoveSecrets { agent } => {
                let (entity, kind) = (Entity::Agent(*agent), EffectKind::RemoveSecrets);
                EffectKey { entity, kind, fence: 0 }
            }
        }
    }
}

/// What to do so that the world matches the journal, and when to look again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub effects: Vec<Effect>,
    pub timers: Vec<(Timer, Time)>,
}

/// What an entity waits for by the clock; at most one time for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The state ends by itself.
    StateEnds,
    /// A harness that has shown nothing by then has a dialog in its way.
    Dialog,
    /// It is the turn of a session that waits in line.
    Turn,
    /// A message that waits is offered.
    Offer,
    /// A conversation that could not be read counts as read.
    Settled,
    /// A role asks its holder for a round.
    Round,
    /// A role asks for a handoff, and its holder has come to a boundary.
    Handoff,
    /// An agent rests, or a task wakes it.
    Rest,
    /// An escalation that nobody has seen is raised.
    Unseen,
    /// Somebody is told again of a task that nobody has taken up.
    Raise,
    /// The end of a task's check is lost.
    CheckLost,
    /// A snapshot that was wanted is missed.
    Keep,
    /// Old snapshots are dropped.
    Retain,
}
