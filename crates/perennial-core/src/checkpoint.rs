//! A checkpoint: where the work of an agent stands at a moment.
//!
//! Pure. What the agent said and what Perennial found are told apart, here and wherever a checkpoint is shown. The content
//! is stored once as a text, by its digest; events and memory have its head. The digest and the text are made outside.
//!
//! Invariants
//! - CK1  The checkpoints of an agent are numbered from 1, without gaps, in the order of their events.
//! - CK2  What the agent said is changed by its own session only. What it does not say again is kept from its last
//!   checkpoint, and no checkpoint is made from words that are not the newest.
//! - CK3  What is said is within its bounds, or refused as a whole. What is found is cut to its bounds.
//! - CK4  A checkpoint and the snapshot that is taken for it are recorded in one batch.
//! - CK5  Nothing in a checkpoint is an order: words of agents, transcripts and work trees are quoted.
//! - CK6  What a checkpoint is due for stands in the agent's state until there is one: no end of the daemon loses it.

mod automatic;
mod compose;
mod said;

use serde::{Deserialize, Serialize};

use crate::agent::{self, Agent};
use crate::authority::Caller;
use crate::command::Target;
use crate::entity::Entity;
use crate::event::{AgentEvent, Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::{SessionNumber, TaskId};
use crate::reason::{Evidence, Finding, Verb};
use crate::refusal::Refusal;
use crate::snapshot::{self, SnapshotCause, SnapshotFiles};
use crate::state::Roster;
use crate::text::{Text, TextBody};
use crate::time::Time;
use crate::work::{Findings, GitFindings, PhaseSpan, WorkPhase};

pub use automatic::{
    cause, composed, fall_due, is_awaited, is_stored_since, kept, plan, session, wish,
};
pub use compose::{Material, compose, summary_line};
pub use said::{
    ENTRIES_MAX, ENTRY_BYTES_MAX, KeyDecision, SAID_BYTES_MAX, Said, SaidDraft, SaidFault,
    SaidField, WORDS_BYTES_MAX,
};

/// The form of the stored content.
pub const FORM: u32 = 1;

/// The longest line that says where the work stands.
pub const SUMMARY_LINE_BYTES_MAX: usize = 200;

/// The content of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub form: u32,
    pub session: SessionNumber,
    pub at: Time,
    pub phase: WorkPhase,
    /// The phases so far, oldest first.
    pub phases: Vec<PhaseSpan>,
    pub said: Said,
    /// What the operator wrote beside it.
    pub note: Option<String>,
    pub found: Findings,
    pub git: Option<GitFindings>,
    pub situation: Option<String>,
    pub task: Option<TaskMark>,
    pub conversation: Option<Position>,
    /// The snapshot of the work tree that belongs to it.
    pub snapshot: Option<u32>,
    /// How to go on, in Perennial's words, made from all of the above.
    pub resumption: String,
}

/// The task that the agent is on, and its open step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskMark {
    pub id: TaskId,
    pub title: String,
    /// Counted from 1, of how many; none where all are done, or there are none.
    pub open_step: Option<(usize, usize, String)>,
}

/// How far a conversation had come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub conversation: String,
    /// Bytes of its transcript that had been read.
    pub bytes: u64,
    pub steps: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointEvent {
    Taken(CheckpointTaken),
}

/// A checkpoint as the journal has it, beside its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointTaken {
    pub number: u32,
    pub why: CheckpointCause,
    pub session: SessionNumber,
    pub phase: WorkPhase,
    /// Where the work stands, on one line.
    pub summary: String,
    /// The content. Its head is empty: `summary` says more.
    pub text: Text,
    pub snapshot: Option<u32>,
    pub evidence: Evidence,
}

/// What memory keeps of an agent's last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointHead {
    pub number: u32,
    pub at: Time,
    pub why: CheckpointCause,
    pub session: SessionNumber,
    pub phase: WorkPhase,
    pub summary: String,
    pub text: Text,
    pub snapshot: Option<u32>,
}

/// Why a checkpoint was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CheckpointCause {
    AskedByAgent,
    AskedByOperator,
    /// The phase of its work changed.
    Phase,
    /// It committed.
    Commit,
    /// Its session is about to be ended.
    PlannedEnd,
    /// Its session ended and should not have.
    Crash,
    /// Its session ended by itself, as it should.
    Finished,
    /// Its session is about to be handed over.
    Handoff,
    /// Its harness is about to compact the conversation.
    BeforeCompaction,
}

impl CheckpointCause {
    pub const ALL: [CheckpointCause; 9] = [
        CheckpointCause::AskedByAgent,
        CheckpointCause::AskedByOperator,
        CheckpointCause::Phase,
        CheckpointCause::Commit,
        CheckpointCause::PlannedEnd,
        CheckpointCause::Crash,
        CheckpointCause::Finished,
        CheckpointCause::Handoff,
        CheckpointCause::BeforeCompaction,
    ];

    pub fn word(self) -> &'static str {
        match self {
            CheckpointCause::AskedByAgent => "agent",
            CheckpointCause::AskedByOperator => "operator",
            CheckpointCause::Phase => "phase",
            CheckpointCause::Commit => "commit",
            CheckpointCause::PlannedEnd => "planned-end",
            CheckpointCause::Crash => "crash",
            CheckpointCause::Finished => "finished",
            CheckpointCause::Handoff => "handoff",
            CheckpointCause::BeforeCompaction => "before-compaction",
        }
    }
}

/// A checkpoint that was composed, with its content as a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointDraft {
    /// The checkpoint that its words were kept from; 0 if there was none.
    pub after: u32,
    pub content: Checkpoint,
    pub body: TextBody,
    /// The snapshot that was taken for it, if that is a new one.
    pub files: Option<(SnapshotCause, SnapshotFiles)>,
}

/// What a caller wants recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointOrder {
    pub target: Target,
    pub said: SaidDraft,
    pub draft: CheckpointDraft,
}

/// Records a checkpoint that somebody asked for.
pub fn decide(
    fleet: &Fleet,
    caller: Caller,
    order: &CheckpointOrder,
    now: Time,
) -> Result<Decision, Refusal> {
    let agent = asked(fleet, caller, &order.target, &order.said)?;
    let witness = caller.witness(Verb::Checkpoint)?;
    let evidence = Evidence { witness, fact: Finding::Asked(Verb::Checkpoint), at: now };
    let why = match caller {
        Caller::Agent(_) => CheckpointCause::AskedByAgent,
        Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            CheckpointCause::AskedByOperator
        }
    };
    let mut events = match caller == Caller::Agent(agent.id) {
        true => agent::report(agent, order.said.phase, order.said.summary.clone()),
        false => Vec::new(),
    };
    events.extend(taken(agent, why, &order.draft, &evidence)?);
    let events = events.into_iter().map(|event| What::Agent(agent.id, event));
    Ok(Decision {
        about: vec![Entity::Agent(agent.id)],
        events: events.map(|what| Event { at: now, what }).collect(),
        texts: vec![order.draft.body.clone()],
        // A task that it goes on with meanwhile is told by the next checkpoint.
        read: Vec::new(),
    })
}

/// The agent, if this caller may have a checkpoint of it taken with these words.
pub fn asked<'a>(
    fleet: &'a Fleet,
    caller: Caller,
    target: &str,
    said: &SaidDraft,
) -> Result<&'a Agent, Refusal> {
    let agent = fleet.find(target)?;
    fleet.authorise(caller, Verb::Checkpoint, Some(agent.id))?;
    if agent.state.roster() == Roster::Cemetery {
        let (agent, state) = (agent.id, agent.state);
        return Err(Refusal::WrongState { agent, verb: Verb::Checkpoint, state });
    }
    // CK2: a person writes a note, and nothing in the agent's name.
    if caller != Caller::Agent(agent.id) && said.is_agents() {
        return Err(Refusal::NotASession);
    }
    // CK3
    said.checked().map_err(|fault| Refusal::Checkpoint { fault })?;
    Ok(agent)
}

/// The events of a checkpoint and the snapshot that belongs to it, whoever had it taken.
pub fn taken(
    agent: &Agent,
    why: CheckpointCause,
    draft: &CheckpointDraft,
    evidence: &Evidence,
) -> Result<Vec<AgentEvent>, Refusal> {
    let last = number(agent);
    let content = &draft.content;
    let is_next = draft.files.is_none() || content.snapshot == Some(agent.snapshots + 1);
    // CK2: another one came in between, or another snapshot has its number.
    if draft.after != last || !is_next {
        return Err(Refusal::CheckpointOutdated { agent: agent.id });
    }
    let mut events = Vec::new();
    if let Some((why, files)) = &draft.files {
        events.push(snapshot::taken(agent, *why, files.clone(), evidence.clone()));
    }
    let taken = CheckpointTaken {
        number: last + 1,
        why,
        session: content.session,
        phase: content.phase,
        summary: summary_line(content),
        text: Text { head: String::new(), ..draft.body.text.clone() },
        snapshot: content.snapshot,
        evidence: evidence.clone(),
    };
    events.push(AgentEvent::Checkpoint(Box::new(CheckpointEvent::Taken(taken))));
    Ok(events)
}

/// How long the text of an agent's next checkpoint will be, as far as is known before it is composed: it keeps most words
/// of the last one.
pub fn likely_bytes(agent: &Agent) -> u64 {
    agent.checkpoint.as_ref().map_or(0, |head| head.text.bytes)
}

/// The number of an agent's last checkpoint; 0 if it has none.
pub fn number(agent: &Agent) -> u32 {
    agent.checkpoint.as_ref().map_or(0, |head| head.number)
}

/// Folds an event: the head of the last checkpoint.
pub fn evolve(agent: &mut Agent, event: &CheckpointEvent, at: Time) {
    match event {
        CheckpointEvent::Taken(taken) => {
            let CheckpointTaken { number, why, session, phase, summary, text, snapshot, .. } =
                taken.clone();
            let head = CheckpointHead { number, at, why, session, phase, summary, text, snapshot };
            agent.checkpoint = Some(Box::new(head));
        }
    }
}
