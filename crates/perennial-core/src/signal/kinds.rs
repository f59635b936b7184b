//! The table of signals: every kind with its fields, who sends it and to whom. The one place that says so.
//!
//! The ten kinds from `AGENT_REGISTERED` on have the fields, sources and targets of the seed. The twelve before them
//! are older there and without a schema; theirs are our own.

use crate::message::Priority;

use FieldType::{Choice, Count, List, Moment, Text};
use Party::{Guardian, Runner, Spawn};

/// Who takes part: `Spawn` is the daemon; `Runner` is the agent, or the daemon for it; `Guardian` is the agent's
/// parent, else the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    Spawn,
    Runner,
    Guardian,
}

impl Party {
    pub const ALL: [Party; 3] = [Spawn, Runner, Guardian];

    pub fn word(self) -> &'static str {
        match self {
            Spawn => "spawn",
            Runner => "runner",
            Guardian => "guardian",
        }
    }
}

/// What a field holds, within its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// At most this many characters.
    Text(usize),
    /// An RFC 3339 time.
    Moment,
    /// A whole number from 0 on, at most this.
    Count(u64),
    /// At most this many texts, each of at most this many characters.
    List(usize, usize),
    Choice(&'static [&'static str]),
}

/// One field of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub holds: FieldType,
    pub need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    /// It has to be there, and may be null: the sender says that there is none.
    Nullable,
    Optional,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub source: Party,
    pub target: Party,
    pub fields: &'static [Field],
    /// With which priority its target is told of one that somebody sent.
    pub priority: Priority,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalKind {
    NeedsReview,
    NeedsInput,
    Violation,
    OrchestratorStuck,
    OrchestratorCrashed,
    NodeComplete,
    ValidationPassed,
    ValidationFailed,
    InputResponse,
    KillOrchestrator,
    Guidance,
    ValidationComplete,
    AgentRegistered,
    AgentCrashed,
    AgentTerminated,
    HookUpdated,
    MergeReady,
    MergeConflict,
    MergeComplete,
    ContextWarning,
    HandoffRequested,
    HandoffComplete,
}

const fn required(name: &'static str, holds: FieldType) -> Field {
    Field { name, holds, need: Need::Required }
}

const fn nullable(name: &'static str, holds: FieldType) -> Field {
    Field { name, holds, need: Need::Nullable }
}

const fn optional(name: &'static str, holds: FieldType) -> Field {
    Field { name, holds, need: Need::Optional }
}

const NAME: FieldType = Text(64);
const LINE: FieldType = Text(500);
const WORDS: FieldType = Text(4000);
const PATH: FieldType = Text(1000);
const IDENTITY: Field = required("identity_name", NAME);
const NODE: Field = nullable("node_id", NAME);

// What waits for an answer starts a turn; the rest waits for the next one.
const ASKS: Priority = Priority::Normal;
const TELLS: Priority = Priority::Low;
const RESULT: FieldType = Choice(&["passed", "failed"]);
// What the seed enumerates (its §2.3.2 and §4.10).
const PHASE: FieldType =
    Choice(&["investigation", "planning", "implementation", "testing", "completion"]);
const URGENCY: FieldType = Choice(&["none", "low", "medium", "high"]);

const fn row(source: Party, target: Party, priority: Priority, fields: &'static [Field]) -> Kind {
    Kind { source, target, fields, priority }
}

/// In the order of `SignalKind`.
const TABLE: [Kind; 22] = [
    row(Runner, Guardian, ASKS, &[required("summary", WORDS), optional("node_id", NAME)]),
    row(Runner, Guardian, ASKS, &[required("question", WORDS), optional("options", List(20, 500))]),
    row(Runner, Guardian, ASKS, &[required("rule", LINE), required("details", WORDS)]),
    row(
        Runner,
        Guardian,
        ASKS,
        &[IDENTITY, required("reason", LINE), optional("last_output", WORDS)],
    ),
    row(Runner, Guardian, ASKS, &[IDENTITY, optional("last_output", WORDS)]),
    row(
        Runner,
        Guardian,
        TELLS,
        &[required("node_id", NAME), required("summary", WORDS), optional("commit_hash", NAME)],
    ),
    row(Guardian, Runner, ASKS, &[required("node_id", NAME), optional("feedback", WORDS)]),
    row(
        Guardian,
        Runner,
        ASKS,
        &[required("node_id", NAME), required("reason", LINE), optional("output", WORDS)],
    ),
    row(Guardian, Runner, ASKS, &[required("answer", WORDS), optional("question", WORDS)]),
    row(Guardian, Runner, ASKS, &[IDENTITY, required("reason", LINE)]),
    row(Guardian, Runner, ASKS, &[required("text", WORDS)]),
    row(
        Runner,
        Guardian,
        TELLS,
        &[required("node_id", NAME), required("result", RESULT), optional("summary", WORDS)],
    ),
    row(Spawn, Guardian, TELLS, &[IDENTITY, NODE, nullable("tmux_session", NAME)]),
    row(
        Runner,
        Guardian,
        TELLS,
        &[IDENTITY, required("last_seen", Moment), nullable("last_output", WORDS)],
    ),
    row(Runner, Guardian, TELLS, &[IDENTITY, required("exit_reason", LINE)]),
    row(
        Runner,
        Guardian,
        TELLS,
        &[
            IDENTITY,
            required("phase", PHASE),
            required("work_summary", WORDS),
            nullable("hook_path", PATH),
        ],
    ),
    row(
        Runner,
        Guardian,
        ASKS,
        &[
            IDENTITY,
            required("branch", Text(250)),
            nullable("pr_number", Count(u32::MAX as u64)),
            NODE,
        ],
    ),
    row(
        Guardian,
        Runner,
        ASKS,
        &[
            IDENTITY,
            required("conflicting_files", List(50, 500)),
            nullable("resolution_hints", WORDS),
        ],
    ),
    row(
        Guardian,
        Runner,
        ASKS,
        &[IDENTITY, required("merged_at", Moment), required("commit_hash", NAME)],
    ),
    row(
        Runner,
        Guardian,
        TELLS,
        &[IDENTITY, required("urgency", URGENCY), required("symptoms_detected", List(20, 500))],
    ),
    row(
        Guardian,
        Runner,
        ASKS,
        &[IDENTITY, required("reason", LINE), required("deadline_seconds", Count(7 * 24 * 3600))],
    ),
    row(
        Runner,
        Guardian,
        TELLS,
        &[IDENTITY, nullable("hook_path", PATH), nullable("final_commit", NAME)],
    ),
];

impl SignalKind {
    pub const ALL: [SignalKind; 22] = [
        SignalKind::NeedsReview,
        SignalKind::NeedsInput,
        SignalKind::Violation,
        SignalKind::OrchestratorStuck,
        SignalKind::OrchestratorCrashed,
        SignalKind::NodeComplete,
        SignalKind::ValidationPassed,
        SignalKind::ValidationFailed,
        SignalKind::InputResponse,
        SignalKind::KillOrchestrator,
        SignalKind::Guidance,
        SignalKind::ValidationComplete,
        SignalKind::AgentRegistered,
        SignalKind::AgentCrashed,
        SignalKind::AgentTerminated,
        SignalKind::HookUpdated,
        SignalKind::MergeReady,
        SignalKind::MergeConflict,
        SignalKind::MergeComplete,
        SignalKind::ContextWarning,
        SignalKind::HandoffRequested,
        SignalKind::HandoffComplete,
    ];

    pub fn word(self) -> &'static str {
        match self {
            SignalKind::NeedsReview => "NEEDS_REVIEW",
            SignalKind::NeedsInput => "NEEDS_INPUT",
            SignalKind::Violation => "VIOLATION",
            SignalKind::OrchestratorStuck => "ORCHESTRATOR_STUCK",
            SignalKind::OrchestratorCrashed => "ORCHESTRATOR_CRASHED",
            SignalKind::NodeComplete => "NODE_COMPLETE",
            SignalKind::ValidationPassed => "VALIDATION_PASSED",
            SignalKind::ValidationFailed => "VALIDATION_FAILED",
            SignalKind::InputResponse => "INPUT_RESPONSE",
            SignalKind::KillOrchestrator => "KILL_ORCHESTRATOR",
            SignalKind::Guidance => "GUIDANCE",
            SignalKind::ValidationComplete => "VALIDATION_COMPLETE",
            SignalKind::AgentRegistered => "AGENT_REGISTERED",
            SignalKind::AgentCrashed => "AGENT_CRASHED",
            SignalKind::AgentTerminated => "AGENT_TERMINATED",
            SignalKind::HookUpdated => "HOOK_UPDATED",
            SignalKind::MergeReady => "MERGE_READY",
            SignalKind::MergeConflict => "MERGE_CONFLICT",
            SignalKind::MergeComplete => "MERGE_COMPLETE",
            SignalKind::ContextWarning => "CONTEXT_WARNING",
            SignalKind::HandoffRequested => "HANDOFF_REQUESTED",
            SignalKind::HandoffComplete => "HANDOFF_COMPLETE",
        }
    }

    /// By its word, in any case.
    pub fn of_word(word: &str) -> Option<SignalKind> {
        SignalKind::ALL.into_iter().find(|kind| kind.word().eq_ignore_ascii_case(word))
    }

    pub fn table(self) -> Kind {
        TABLE[self as usize]
    }
}
