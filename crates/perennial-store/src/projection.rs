//! Rows derived from events and observations: snapshots, latest values, the roster, messages.
//!
//! None of them is the truth: each can be dropped and made again, and none is read to decide.

use perennial_core::context;
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::id::{
    AgentId, EscalationId, IdEnd, MessageId, SessionNumber, SignalId, TaskId,
};
pub use perennial_core::message::MessageStep;
use perennial_core::message::{
    Content, Mail, Mailbox, Message, MessageEvent, MessageState, OfferProgress, Sender,
};
use perennial_core::name::NameKey;
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::task;
use perennial_core::text::Digest;
use perennial_core::time::Time;

use crate::journal::{Journal, ReadError, Seq, Version};
use crate::signal_index::{SignalQuery, SignalRow};
use crate::task_rows::{TaskQuery, TaskRow};

/// Called once with whether a set of snapshots is durable, and all rows that were queued before it.
pub type Kept = Box<dyn FnOnce(bool) + Send>;

/// Which ids are looked for by their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdsOf {
    Tasks,
    Messages,
    Escalations,
    /// Sent or emitted.
    Signals,
}

impl IdsOf {
    /// Before all streams of these entities; a signal that was emitted has none.
    pub(crate) fn first(self) -> Option<Entity> {
        match self {
            IdsOf::Tasks => Some(Entity::Task(TaskId(0))),
            IdsOf::Messages => Some(Entity::Message(MessageId(0))),
            IdsOf::Escalations => Some(Entity::Escalation(EscalationId(0))),
            IdsOf::Signals => None,
        }
    }
}

/// What is derived from the journal and follows it: it may be behind, and can be made again from it.
pub trait Projections: Send + Sync {
    /// How far a message has come.
    fn message(&self, id: MessageId) -> Result<Option<MessageRow>, ReadError>;

    /// Up to `limit` messages to an agent, newest first, as far as each has come.
    fn messages(&self, to: AgentId, limit: usize) -> Result<MessageRows, ReadError>;

    /// Up to `limit` messages that were changed at this time or later, in the order of their recording, from
    /// behind a place in that order.
    fn messages_since(
        &self,
        whose: MessagesOf,
        changed: Time,
        behind: (Time, MessageId),
        limit: usize,
    ) -> Result<MessageRows, ReadError>;

    /// Up to `limit` mails before a place in the order of their recording, newest first, as far as each has come.
    fn mail(
        &self,
        query: MailQuery<'_>,
        before: Option<(Time, MessageId)>,
        limit: usize,
    ) -> Result<MessageRows, ReadError>;

    /// Up to `limit` signals, sent or emitted.
    fn signals(&self, query: &SignalQuery, limit: usize) -> Result<Vec<SignalRow>, ReadError>;

    /// Where a signal is in the order of all.
    fn signal_place(&self, id: SignalId) -> Result<Option<Seq>, ReadError>;

    /// Up to `limit` ids of one kind that end so, in their order.
    fn ids_ending(&self, of: IdsOf, end: IdEnd, limit: usize) -> Result<Vec<u128>, ReadError>;

    /// Tasks, those that were added last first.
    fn tasks(&self, query: &TaskQuery) -> Result<Vec<TaskRow>, ReadError>;

    /// Holds all rows of messages against the records that they follow from. What differs is queued to be made
    /// again; a text that is gone stays gone.
    fn check_messages(&self) -> Result<Vec<MessageFault>, ReadError>;

    /// Queues the state, as all appends queued before have left it, of every stream that has changed
    /// since the last set that was kept. Whole or not at all: a set is dropped where a version does
    /// not fit or a changed stream is missing. That costs time at the next start, no more.
    fn put_snapshots(&self, snapshots: Vec<Snapshot>, kept: Kept);

    /// The newest snapshots of everything that is not over; none where they can't be trusted.
    fn snapshots(&self) -> Result<SnapshotSet, ReadError>;

    /// The snapshot of one entity, over or not. Who reads it compares the version.
    fn snapshot(&self, stream: &Entity) -> Result<Option<Snapshot>, ReadError>;

    /// Queues the latest values of these agents. Written with the next commit, or soon.
    fn put_latest(&self, latest: Vec<Latest>);

    /// Of these agents, as far as there are any.
    fn latest(&self, agents: &[AgentId]) -> Result<Vec<Latest>, ReadError>;

    /// Queues these rows of the roster. Written with the next commit, or soon.
    fn put_roster(&self, rows: Vec<RosterRow>);

    fn roster(&self, query: RosterQuery<'_>) -> Result<Vec<RosterRow>, ReadError>;
}

/// A journal with what is derived from it, in one store.
pub trait Store: Journal + Projections {}

impl<T: Journal + Projections> Store for T {}

/// The state of one stream's entity after `version` events.
///
/// An agent that is over keeps its row, marked, to be read when somebody asks for it; the rows of
/// other entities that are over are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub stream: Entity,
    pub version: Version,
    /// Names the form of `state`; another program's form is not read.
    pub form: String,
    /// JSON; nothing for an entity that has left memory: its row is deleted.
    pub state: Option<String>,
    /// It has ended for good: not read at start.
    pub is_over: bool,
}

/// The snapshots that a fleet is restored from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotSet {
    /// The record up to which they hold; 0 where there are none that can be trusted.
    pub covers: Seq,
    /// Of everything that is not over.
    pub snapshots: Vec<Snapshot>,
    /// How many agents are over and left out.
    pub over: u64,
}

/// The latest values of one agent that are not worth an event. A row replaces the one before whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latest {
    pub agent: AgentId,
    /// The last confirmation by kernel, holder or lead.
    pub last_seen: Option<Time>,
    /// The last sign of work.
    pub last_activity: Option<Time>,
    pub context: Option<Context>,
    pub usage: Option<Usage>,
    /// In millionths of a dollar; nothing where a price is not known.
    pub cost_microusd: Option<u64>,
    /// The session that was last reminded of its clock, and after how many tool calls.
    pub reminded: Option<(SessionNumber, u64)>,
}

impl Latest {
    /// Of an agent of which nothing was measured.
    pub fn of(agent: AgentId) -> Latest {
        Latest {
            agent,
            last_seen: None,
            last_activity: None,
            context: None,
            usage: None,
            cost_microusd: None,
            reminded: None,
        }
    }
}

/// How full a context window was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    pub sample: context::Sample,
    /// When that was measured.
    pub at: Time,
}

/// The tokens that all sessions of an agent used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Something could not be read: the figures are a lower bound.
    pub is_partial: bool,
}

/// Which rows of the roster to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RosterQuery<'a> {
    /// Of these agents, as far as there are rows.
    Of(&'a [AgentId]),
    /// Of agents in the cemetery, by name: who took the name last comes first.
    Buried { name: &'a NameKey, limit: usize },
    /// Of agents in this state that were born before this one, the youngest first.
    InState { state: State, before: Option<AgentId>, limit: usize },
}

/// One agent in the roster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterRow {
    pub agent: AgentId,
    pub name: Option<String>,
    /// When it took its name.
    pub named_at: Time,
    pub role: Option<String>,
    pub parent: Option<AgentId>,
    pub project: String,
    /// Its roster follows from it.
    pub state: State,
    pub reason: Reason,
    pub since: Time,
    pub session: Option<SessionNumber>,
    /// The record that this row follows from.
    pub updated_seq: Seq,
}

/// Which messages are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagesOf {
    /// Those to an agent.
    To(AgentId),
    /// Mail of an agent to the operator.
    ToOperatorFrom(AgentId),
}

/// Which mails to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailQuery<'a> {
    /// Those in a mailbox.
    To(&'a Mailbox),
    /// Those that somebody sent.
    From(Sender),
    /// Those of a thread.
    Thread(MessageId),
}

/// One text to an agent, or to another mailbox, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    pub message: MessageId,
    pub mailbox: Mailbox,
    pub sender: Sender,
    /// What it says, in short.
    pub head: String,
    /// Where its words are, for one that has any of its own.
    pub digest: Option<Digest>,
    pub recorded_at: Time,
    pub step: MessageStep,
    /// The session that it was offered to last.
    pub session: Option<SessionNumber>,
    pub changed_at: Time,
    /// Of mail: all but its excerpt; a letter about a task has that, too.
    pub mail: Option<Box<Mail>>,
}

impl MessageRow {
    pub(crate) fn is_of(&self, whose: MessagesOf) -> bool {
        match whose {
            MessagesOf::To(id) => self.mailbox == id.into(),
            MessagesOf::ToOperatorFrom(id) => {
                let is_sent = self.mailbox == Mailbox::Operator && self.sender == Sender::Agent(id);
                is_sent && self.mail.is_some()
            }
        }
    }

    /// Of a message that is not over.
    pub fn of(message: &Message) -> MessageRow {
        let Message { id, to, from, content, recorded_at, state, .. } = message;
        let (step, session, changed_at) = match state {
            MessageState::Waiting { after: None, .. } => {
                (MessageStep::Recorded, None, *recorded_at)
            }
            MessageState::Waiting { .. } => (MessageStep::Held, None, *recorded_at),
            MessageState::Offered { session, at, progress, .. } => {
                let step = match progress {
                    OfferProgress::Given => MessageStep::Offered,
                    OfferProgress::Entered => MessageStep::Entered,
                    OfferProgress::Heard => MessageStep::Heard,
                };
                (step, Some(*session), *at)
            }
        };
        let row = recorded(*id, to, *from, content, *recorded_at);
        MessageRow { step, session, changed_at, ..row }
    }
}

/// Where the table of messages, or their texts, do not say what the journal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum MessageFault {
    #[error("{0} is missing from the table of messages, or was altered there")]
    Row(MessageId),
    #[error("{0} is in the table of messages, and no record tells of it")]
    Foreign(MessageId),
    #[error("a row of the table of messages has the id of none")]
    Nameless,
    #[error("the text of {0} is lost or was altered")]
    Text(MessageId),
}

impl MessageFault {
    /// The message whose row can be made again.
    pub(crate) fn row(&self) -> Option<MessageId> {
        match self {
            MessageFault::Row(message) => Some(*message),
            MessageFault::Foreign(_) | MessageFault::Nameless | MessageFault::Text(_) => None,
        }
    }
}

/// The messages to one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageRows {
    pub rows: Vec<MessageRow>,
    /// How many more there are whose rows say nothing.
    pub unreadable: usize,
}

/// What one event changes in the table of messages. Written with the event itself: unlike other
/// derived rows these are never behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MessageChange {
    New(MessageRow),
    Step {
        message: MessageId,
        step: MessageStep,
        session: Option<SessionNumber>,
        at: Time,
    },
    /// It waits in another mailbox.
    Forwarded {
        message: MessageId,
        to: Mailbox,
        at: Time,
    },
}

impl MessageChange {
    /// What the row of a message is after this change; nothing for a change of what was never recorded.
    pub fn applied(self, row: Option<MessageRow>) -> Option<MessageRow> {
        match self {
            MessageChange::New(row) => Some(row),
            MessageChange::Step { message: _, step, session, at } => row.map(|row| MessageRow {
                step,
                session: session.or(row.session),
                changed_at: at,
                ..row
            }),
            MessageChange::Forwarded { message: _, to, at } => row.map(|row| MessageRow {
                mailbox: to,
                step: MessageStep::Recorded,
                session: None,
                changed_at: at,
                ..row
            }),
        }
    }

    pub fn message(&self) -> MessageId {
        match self {
            MessageChange::New(row) => row.message,
            MessageChange::Step { message, .. } | MessageChange::Forwarded { message, .. } => {
                *message
            }
        }
    }

    pub fn of(event: &Event) -> Option<MessageChange> {
        let What::Message(message, what) = &event.what else { return None };
        let (message, at) = (*message, event.at);
        let (step, session) = match what {
            MessageEvent::Recorded { to, from, content } => {
                return Some(MessageChange::New(recorded(message, to, *from, content, at)));
            }
            MessageEvent::Offered { session, .. } => (MessageStep::Offered, Some(*session)),
            MessageEvent::Entered { .. } => (MessageStep::Entered, None),
            MessageEvent::Held { .. } | MessageEvent::Blocked { .. } => (MessageStep::Held, None),
            MessageEvent::Heard { .. } => (MessageStep::Heard, None),
            MessageEvent::Seen { session } => (MessageStep::Seen, Some(*session)),
            MessageEvent::Withdrawn { .. } => (MessageStep::Withdrawn, None),
            MessageEvent::Returned => (MessageStep::Returned, None),
            MessageEvent::Read { session } => (MessageStep::Seen, *session),
            MessageEvent::Forwarded { to } => {
                return Some(MessageChange::Forwarded { message, to: to.clone(), at });
            }
        };
        Some(MessageChange::Step { message, step, session, at })
    }
}

fn recorded(
    message: MessageId,
    mailbox: &Mailbox,
    sender: Sender,
    content: &Content,
    at: Time,
) -> MessageRow {
    let (head, digest) = match content {
        Content::Typed { text, .. } => (text.head.clone(), Some(text.digest)),
        Content::Notice { threshold, .. } => (format!("clock at {} %", threshold.percent()), None),
        Content::Reminder { calls, .. } => (format!("clock after {calls} tool calls"), None),
        // It has its words with it.
        Content::Mail(mail) if task::is_letter(mail) => (mail.text.head.clone(), None),
        Content::Mail(mail) => (mail.text.head.clone(), Some(mail.text.digest)),
        Content::Round { role, number } => (format!("round {number} of the role {role}"), None),
        Content::Handoff { number } => (format!("handoff of session {}", number.0), None),
    };
    let mail = match content {
        Content::Mail(mail) if task::is_letter(mail) => Some(mail.clone()),
        Content::Mail(mail) => Some(Box::new(Mail { excerpt: String::new(), ..(**mail).clone() })),
        Content::Typed { .. }
        | Content::Notice { .. }
        | Content::Reminder { .. }
        | Content::Round { .. }
        | Content::Handoff { .. } => None,
    };
    let (recorded_at, changed_at, step) = (at, at, MessageStep::Recorded);
    let (session, mailbox) = (None, mailbox.clone());
    MessageRow {
        message,
        mailbox,
        sender,
        head,
        digest,
        recorded_at,
        step,
        session,
        changed_at,
        mail,
    }
}
