//! How the core says no: data, not text. What a person reads is made of it at the edge.

use std::time::Duration;

use crate::allowance::AllowanceKind;
use crate::authority::{Caller, Standing};
use crate::checkpoint::SaidFault;
use crate::conversation::ConversationId;
use crate::fleet::Excess;
use crate::hold::HeldFor;
use crate::id::{AgentId, MessageId, TaskId};
use crate::message::{Mailbox, MessageStep};
use crate::name::Name;
use crate::reason::Verb;
use crate::signal::{PayloadFault, SignalKind};
use crate::state::State;
use crate::task::TaskRefusal;
use crate::visibility::Private;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NoSuchAgent {
        target: String,
    },
    NameTaken {
        name: Name,
        by: AgentId,
    },
    NotAllowed {
        caller: Caller,
        verb: Verb,
        standing: Standing,
    },
    /// The caller may not see this of the agent.
    NotVisible {
        caller: Caller,
        private: Private,
    },
    /// Only a process of an agent's session may do this.
    NotASession,
    /// The verb makes no sense in this state.
    WrongState {
        agent: AgentId,
        verb: Verb,
        state: State,
    },
    /// Its session is alive: there is nothing to wake.
    Running {
        agent: AgentId,
    },
    /// The operator stopped it, and nobody else wakes it then.
    StoppedByOperator {
        agent: AgentId,
    },
    /// Only an approval by the operator gets it out of this state.
    NeedsApproval {
        agent: AgentId,
    },
    /// It is held, and the caller can't lift that hold by this.
    Held {
        agent: AgentId,
        held_for: HeldFor,
    },
    /// A conversation has one writer.
    ConversationTaken {
        conversation: ConversationId,
        by: AgentId,
    },
    /// No such message waits.
    NoSuchMessage {
        message: MessageId,
    },
    /// Nothing more happens to it; this was recorded last.
    MessageOver {
        message: MessageId,
        step: MessageStep,
    },
    /// Its records can't be read, and it is not delivered.
    MessageLost {
        message: MessageId,
    },
    /// A message has this id already.
    MessageExists {
        message: MessageId,
    },
    /// It can't be taken back: the session is getting it, or may have it in its input line.
    AlreadyOffered {
        message: MessageId,
    },
    /// The caller has had so much recorded of this kind that it has to wait for this long.
    TooOften {
        kind: AllowanceKind,
        wait: Duration,
    },
    /// The parent is the agent itself, or below it.
    ParentBelow {
        agent: AgentId,
        parent: AgentId,
    },
    /// A session is alive in the work tree whose files would be replaced.
    SessionInTree {
        agent: AgentId,
    },
    /// Files are being restored in that work tree.
    RestoreInTree {
        agent: AgentId,
    },
    /// The snapshot is not kept any longer, or there never was one of that number.
    SnapshotDropped {
        agent: AgentId,
        number: u32,
    },
    /// A bare command has no conversation, and nothing that it could be asked.
    BareCommand {
        agent: AgentId,
        verb: Verb,
    },
    /// No handoff is under way of which the wait could be ended, or another is.
    NoHandoff {
        agent: AgentId,
    },
    /// What is said at a checkpoint is not within its bounds.
    Checkpoint {
        fault: SaidFault,
    },
    /// Another checkpoint or snapshot was recorded while this one was composed.
    CheckpointOutdated {
        agent: AgentId,
    },
    /// It holds no role that could be dropped or handed over.
    NoRole {
        agent: AgentId,
    },
    /// A role without a vacancy that could be dismissed.
    NotVacant {
        role: Name,
    },
    /// It would lose the role that it has.
    HasRole {
        agent: AgentId,
    },
    /// An agent wants a child with more than it has itself, or too many.
    AboveOwn {
        excess: Excess,
    },
    /// Nobody declares it, and nobody ever held it.
    NoSuchRole {
        role: Name,
    },
    /// Perennial's own mail: nobody would read an answer.
    NotAnswerable,
    /// A mail of this length can't go to this many at once.
    TooManyCopies {
        copies: u32,
        most: u32,
    },
    /// Nobody but the sender is in the team.
    NoRecipient,
    /// It has too much unread mail to take more, from anybody or from this sender.
    MailboxFull {
        mailbox: Mailbox,
    },
    /// Nobody like the caller sends this kind of signal, or not to that target.
    SignalSource {
        kind: SignalKind,
    },
    /// This kind of signal does not go to that target.
    SignalTarget {
        kind: SignalKind,
    },
    SignalPayload {
        kind: SignalKind,
        fault: Box<PayloadFault>,
    },
    /// The parent is in the cemetery.
    ParentGone {
        parent: AgentId,
    },
    /// It is in the cemetery, and its last session has not ended, or nobody knows whether it has.
    StillEnding {
        agent: AgentId,
    },
    /// Something can't be done with a task.
    Task {
        task: TaskId,
        why: TaskRefusal,
    },
}
