//! Checkpoints that nobody asked for: at a change of phase, at a commit, before a planned end or a compaction, after a
//! crash.
//!
//! Pure, and without a word of the agent or its model. Where there is a work tree, the wish for its snapshot
//! (`keeping`) is the occasion, and both are recorded in one batch (CK4). Elsewhere, and if no checkpoint came with the
//! snapshot, what is due is folded, and the order to compose it follows from the state.

use super::{CheckpointCause, CheckpointDraft, CheckpointHead, taken};
use crate::agent::{self, Agent};
use crate::effect::{CheckpointEffect, Effect, Plan};
use crate::event::{AgentEvent, Event, What};
use crate::handoff::HandoffEvent;
use crate::id::SessionNumber;
use crate::keeping::{self, KeepOutcome};
use crate::reason::{Evidence, Finding, Reason, Verb, Witness};
use crate::session::{Phase, Session};
use crate::snapshot::SnapshotCause;
use crate::state::State;
use crate::symptom::Symptom;
use crate::time::Time;

/// Why a checkpoint is taken with a snapshot that is wanted for this.
pub fn cause(agent: &Agent, why: SnapshotCause) -> Option<CheckpointCause> {
    match why {
        SnapshotCause::PlannedEnd if agent.state == State::HandingOff => {
            Some(CheckpointCause::Handoff)
        }
        SnapshotCause::PlannedEnd => Some(CheckpointCause::PlannedEnd),
        SnapshotCause::Crash if has_finished(agent) => Some(CheckpointCause::Finished),
        SnapshotCause::Crash | SnapshotCause::Reboot => Some(CheckpointCause::Crash),
        SnapshotCause::PhaseChange => Some(CheckpointCause::Phase),
        SnapshotCause::Commit => Some(CheckpointCause::Commit),
        SnapshotCause::Checkpoint => Some(CheckpointCause::BeforeCompaction),
        SnapshotCause::Asked | SnapshotCause::BeforeRestore => None,
    }
}

/// The session whose work it is: one that has not run yet did nothing.
pub fn session(agent: &Agent) -> SessionNumber {
    let Some(session) = &agent.session else { return SessionNumber::FIRST };
    let has_run = match session.phase {
        Phase::Wanted | Phase::Starting => false,
        Phase::Running | Phase::Ending(_) | Phase::Ended => true,
    };
    let previous = session.number.previous().filter(|_| !has_run);
    previous.unwrap_or(session.number)
}

/// What an order to keep work came to, with the checkpoint that was composed for it. One that others have overtaken is
/// left out: they are newer.
pub fn kept(
    agent: &Agent,
    (wish, why): (u32, SnapshotCause),
    outcome: &KeepOutcome,
    draft: Option<&CheckpointDraft>,
    now: Time,
) -> Vec<AgentEvent> {
    let mut events: Vec<AgentEvent> =
        keeping::observe(agent, (wish, why), outcome, now).into_iter().collect();
    let mut after = agent.clone();
    events.iter().for_each(|event| agent::evolve(&mut after, event, now));
    let (Some(draft), Some(why)) = (draft, cause(agent, why)) else { return events };
    let snapshot = match outcome {
        KeepOutcome::Taken(_) => Some(after.snapshots),
        KeepOutcome::Missed(..) => None,
    };
    if draft.content.snapshot == snapshot && !is_known(agent, why, snapshot) {
        events.extend(composed(&after, why, draft, now));
    }
    events
}

/// Whether the last checkpoint has the commit already: git and the agent's own steps both tell of one.
fn is_known(agent: &Agent, why: CheckpointCause, snapshot: Option<u32>) -> bool {
    let has_it = |last: &CheckpointHead| {
        last.snapshot == snapshot && last.phase == agent.work.phase && snapshot.is_some()
    };
    why == CheckpointCause::Commit && agent.checkpoint.as_deref().is_some_and(has_it)
}

/// A checkpoint without a snapshot of its own.
pub fn composed(
    agent: &Agent,
    why: CheckpointCause,
    draft: &CheckpointDraft,
    now: Time,
) -> Vec<AgentEvent> {
    // Nothing more is recorded of whoever is over.
    if agent.is_over() {
        return Vec::new();
    }
    let fact = Finding::Asked(Verb::Checkpoint);
    let evidence = Evidence { witness: Witness::Daemon, fact, at: now };
    taken(agent, why, draft, &evidence).unwrap_or_default()
}

/// The wish that follows from a change of phase, unless the agent's own checkpoint is recorded with it.
pub fn wish(before: Option<&Agent>, after: &Agent, event: &Event, later: &[Event]) -> Option<What> {
    let has_changed = before.is_some_and(|before| before.work.phase != after.work.phase);
    let is_taken = later
        .iter()
        .filter_map(Event::of_agent)
        .any(|(id, later)| id == after.id && matches!(later, AgentEvent::Checkpoint(_)));
    let wish = || keeping::want(after, SnapshotCause::PhaseChange, event.at);
    let wanted = (has_changed && !is_taken).then(wish).flatten()?;
    Some(What::Agent(after.id, wanted))
}

/// Folds what a checkpoint is due for, once the event itself is folded (CK6).
pub fn fall_due(agent: &mut Agent, event: &AgentEvent) {
    let told = agent.checkpoint.as_ref().map(|last| last.phase);
    let due = match event {
        AgentEvent::Checkpoint(_) => {
            agent.checkpoint_due = None;
            return;
        }
        AgentEvent::Handoff(event) if announces_compaction(event) => {
            cause(agent, SnapshotCause::Checkpoint)
        }
        AgentEvent::Moved(_) if owes_handoff(agent) => Some(CheckpointCause::Handoff),
        AgentEvent::SessionEnding { .. } => cause(agent, SnapshotCause::PlannedEnd),
        // The end of one that was asked to was announced, and one that never ran did nothing.
        AgentEvent::SessionEnded { .. } if has_ended_unasked(agent) => {
            let by_itself = agent.ended_by_itself();
            Some(if by_itself { CheckpointCause::Finished } else { CheckpointCause::Crash })
        }
        // An end says more than a phase.
        AgentEvent::PhaseReported { .. } | AgentEvent::Work(_)
            if told != Some(agent.work.phase) && agent.checkpoint_due.is_none() =>
        {
            Some(CheckpointCause::Phase)
        }
        AgentEvent::SessionEnded { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Work(_)
        | AgentEvent::Snapshot(_)
        | AgentEvent::Hatched(_)
        | AgentEvent::Moved(_)
        | AgentEvent::Rehomed { .. }
        | AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionWanted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::WindowBegan { .. }
        | AgentEvent::ClockPassed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::Renamed { .. }
        | AgentEvent::RoleTaken { .. }
        | AgentEvent::RoleLeft { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::Rest(_)
        | AgentEvent::Handoff(_)
        | AgentEvent::PutOff { .. } => None,
    };
    agent.checkpoint_due = due.or(agent.checkpoint_due);
}

/// HA3: whether a handoff waits for a checkpoint of the session that is over.
fn owes_handoff(agent: &Agent) -> bool {
    let Some(handoff) = agent.handoff_to_complete() else { return false };
    let told = agent.checkpoint.as_ref().filter(|head| head.session == handoff.number);
    told.is_none_or(|head| head.at < handoff.asked_at)
}

fn announces_compaction(event: &HandoffEvent) -> bool {
    matches!(event, HandoffEvent::Symptom { symptom: Symptom::Compaction, .. })
}

/// Whether a compaction that was announced waits for a checkpoint: there is none since.
pub fn is_awaited(agent: &Agent) -> bool {
    let lacks = |at: Time| !is_stored_since(agent, at);
    agent.handoff.announced.is_some_and(lacks) && !agent.is_damaged()
}

/// Whether its newest checkpoint was taken then or later.
pub fn is_stored_since(agent: &Agent, at: Time) -> bool {
    agent.checkpoint.as_ref().is_some_and(|last| last.at >= at)
}

fn has_ended_unasked(agent: &Agent) -> bool {
    let ran = |session: &&Session| session.is_over() && session.started_at.is_some();
    agent.session.as_ref().filter(ran).is_some_and(|session| !session.was_asked)
}

/// Whether the session ended as it should. The next one may be wanted already.
fn has_finished(agent: &Agent) -> bool {
    agent.reason == Reason::Finished || agent.checkpoint_due == Some(CheckpointCause::Finished)
}

/// Adds the checkpoint that is due, where none comes with a snapshot. A bare command without a work tree has nothing that
/// could be found.
pub fn plan(agent: &Agent, plan: &mut Plan) {
    let is_left_out = agent.launch.is_bare() || agent.is_damaged() || agent.is_over();
    if is_left_out || agent.keeping.is_some() {
        return;
    }
    let Some(due) = agent.checkpoint_due else { return };
    let is_end = due == CheckpointCause::Crash;
    let why = if is_end && has_finished(agent) { CheckpointCause::Finished } else { due };
    let handed_over = agent.handoff_to_complete().filter(|_| why == CheckpointCause::Handoff);
    let session = handed_over.map_or_else(|| session(agent), |handoff| handoff.number);
    let (agent, after) = (agent.id, super::number(agent));
    plan.effects.push(Effect::Checkpoint(CheckpointEffect { agent, after, session, why }));
}
