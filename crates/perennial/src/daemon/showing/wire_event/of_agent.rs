//! What happened to an agent itself, on the wire.

use perennial_api::event as wire;
use perennial_core::checkpoint::CheckpointEvent;
use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::event::{AgentEvent, Move};
use perennial_core::hold::Hold;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::legacy::LegacyKind;
use perennial_core::reason::Evidence;
use perennial_core::rest::RestEvent;
use perennial_core::role::RoleTerms;
use perennial_core::snapshot::{
    RestoreEnded, SnapshotEvent, SnapshotMissed, SnapshotTaken, SnapshotWanted,
};
use perennial_core::text::Text;
use perennial_core::visibility::Private;
use perennial_core::work::WorkEvent;

use super::parts::{exit, opening, process, sample, seconds, threshold};
use super::{Writer, pace};
use crate::daemon::showing::role;
use crate::daemon::time::rfc3339;

impl Writer {
    pub(super) fn agent(&mut self, event: &AgentEvent) -> wire::What {
        match event {
            AgentEvent::Hatched(birth) => wire::What::Hatched(Box::new(self.birth(birth))),
            AgentEvent::Moved(moved) => wire::What::Moved(self.moved(moved)),
            AgentEvent::Rehomed { node } => wire::What::Rehomed { node: node.to_string() },
            AgentEvent::Held(hold) => self.held(hold),
            AgentEvent::HoldLifted { evidence } => {
                wire::What::HoldLifted { evidence: self.evidence(evidence) }
            }
            AgentEvent::SessionWanted { number, opening } => {
                wire::What::SessionWanted { number: number.0, opening: self::opening(opening) }
            }
            AgentEvent::SessionStarting { number, limit } => {
                wire::What::SessionStarting { number: number.0, limit_seconds: seconds(*limit) }
            }
            AgentEvent::SessionRunning { number, process: by } => {
                wire::What::SessionRunning { number: number.0, process: process(*by) }
            }
            AgentEvent::SessionEnding { number, pace } => {
                wire::What::SessionEnding { number: number.0, pace: self::pace(*pace) }
            }
            // What the restart policy remembers of it is the daemon's own.
            AgentEvent::SessionEnded { number, exit, tally: _, is_clean: _, asked: _ } => {
                wire::What::SessionEnded { number: number.0, exit: self::exit(*exit) }
            }
            AgentEvent::SessionFound { number, opening: how, process: by } => {
                let (opening, process) = (self::opening(how), by.map(self::process));
                wire::What::SessionFound { number: number.0, opening, process }
            }
            AgentEvent::SessionProgressed { number } => {
                wire::What::SessionProgressed { number: number.0 }
            }
            AgentEvent::ConversationFollowed { number, conversation, how } => {
                followed(*number, conversation, *how)
            }
            AgentEvent::WindowBegan { number } => wire::What::WindowBegan { number: number.0 },
            AgentEvent::ClockPassed { number, threshold: passed, sample: measured } => {
                let (threshold, sample) = (threshold(*passed), sample(measured));
                wire::What::ClockPassed { number: number.0, threshold, sample }
            }
            AgentEvent::ClockTold { number, threshold: passed } => {
                wire::What::ClockTold { number: number.0, threshold: threshold(*passed) }
            }
            AgentEvent::PhaseReported { phase } => {
                wire::What::PhaseReported { phase: phase.word().to_owned() }
            }
            AgentEvent::Work(event) => work(event),
            AgentEvent::Renamed { name } => wire::What::Renamed { name: name.to_string() },
            AgentEvent::Summarised { summary } => {
                wire::What::Summarised { summary: summary.clone() }
            }
            AgentEvent::LegacyLeft { kind, text } => legacy(*kind, text),
            AgentEvent::BurialAsked { evidence } => self.burial(evidence),
            AgentEvent::Rest(event) => rest(event),
            AgentEvent::RoundPassed { round } => wire::What::RoundPassed { round: *round },
            AgentEvent::RoleTaken { role, terms, from, evidence } => {
                self.took_role(role, terms, *from, evidence)
            }
            AgentEvent::RoleLeft { to, evidence } => self.left_role(*to, evidence),
            AgentEvent::SettingsChanged { settings, evidence } => self.settings(settings, evidence),
            AgentEvent::Snapshot(event) => self.snapshot(event),
            AgentEvent::Handoff(event) => self.handoff(event),
            AgentEvent::Checkpoint(event) => self.checkpoint(event),
            AgentEvent::PutOff { until, unseen } => {
                wire::What::PutOff { until: until.map(rfc3339), unseen_seconds: seconds(*unseen) }
            }
        }
    }

    fn moved(&mut self, moved: &Move) -> wire::Moved {
        wire::Moved {
            cause: moved.cause.word().to_owned(),
            to: moved.to.word().to_owned(),
            reason: moved.reason.word().to_owned(),
            evidence: self.evidence(&moved.evidence),
            until: moved.until.map(rfc3339),
        }
    }

    fn held(&mut self, hold: &Hold) -> wire::What {
        wire::What::Held {
            held_for: hold.held_for.word().to_owned(),
            evidence: self.evidence(&hold.evidence),
            since: rfc3339(hold.since),
        }
    }

    fn snapshot(&mut self, event: &SnapshotEvent) -> wire::What {
        match event {
            SnapshotEvent::Wanted(SnapshotWanted { wish, why, until, dir: _ }) => {
                let (why, until) = (why.word().to_owned(), rfc3339(*until));
                wire::What::SnapshotWanted { wish: *wish, why, until }
            }
            SnapshotEvent::Unchanged { wish, why, number } => {
                let why = why.word().to_owned();
                wire::What::SnapshotUnchanged { wish: *wish, why, number: *number }
            }
            SnapshotEvent::Missed(SnapshotMissed { wish, why, cause, told }) => {
                let (why, cause) = (why.word().to_owned(), cause.word().to_owned());
                wire::What::SnapshotMissed { wish: *wish, why, cause, told: told.clone() }
            }
            SnapshotEvent::Taken(SnapshotTaken { number, why, files, evidence, wish: _ }) => {
                wire::What::SnapshotTaken {
                    number: *number,
                    why: why.word().to_owned(),
                    commit: files.commit.clone(),
                    base: files.base.clone(),
                    files: files.files,
                    bytes: files.bytes,
                    left_out: files.left_out,
                    torn: files.torn,
                    evidence: self.evidence(evidence),
                }
            }
            SnapshotEvent::Dropped { numbers, why } => {
                let (numbers, why) = (numbers.clone(), why.word().to_owned());
                wire::What::SnapshotsDropped { numbers, why }
            }
            SnapshotEvent::Removed { numbers, bytes } => {
                wire::What::SnapshotsRemoved { numbers: numbers.clone(), bytes: *bytes }
            }
            SnapshotEvent::RestoreBegun(begun) => wire::What::RestoreBegun {
                number: begun.number,
                present: begun.present,
                with_index: begun.with_index,
                evidence: self.evidence(&begun.evidence),
            },
            SnapshotEvent::RestoreEnded(ended) => self.restore_ended(ended),
        }
    }

    fn restore_ended(&mut self, ended: &RestoreEnded) -> wire::What {
        let outcome = ended.outcome.clone();
        wire::What::RestoreEnded {
            number: ended.number,
            present: ended.present,
            written: outcome.written,
            removed: outcome.removed,
            indexes: outcome.indexes,
            failed: outcome.failed,
            left: outcome.left,
            // Names of files, as in a checkpoint's summary.
            listed: self.private(Private::Transcript, "listed", outcome.listed),
        }
    }

    fn checkpoint(&mut self, event: &CheckpointEvent) -> wire::What {
        let CheckpointEvent::Taken(taken) = event;
        wire::What::CheckpointTaken {
            number: taken.number,
            why: taken.why.word().to_owned(),
            session: taken.session.0,
            phase: taken.phase.word().to_owned(),
            // It may name files and quote the conversation.
            summary: self.private(Private::Transcript, "summary", taken.summary.clone()),
            snapshot: taken.snapshot,
            evidence: self.evidence(&taken.evidence),
        }
    }

    fn burial(&mut self, evidence: &Evidence) -> wire::What {
        wire::What::BurialAsked { evidence: self.evidence(evidence) }
    }

    fn left_role(&mut self, to: Option<AgentId>, evidence: &Evidence) -> wire::What {
        let to = to.map(|id| id.to_string());
        wire::What::LeftRole { to, evidence: self.evidence(evidence) }
    }

    fn took_role(
        &mut self,
        role: &str,
        terms: &RoleTerms,
        from: Option<AgentId>,
        evidence: &Evidence,
    ) -> wire::What {
        wire::What::TookRole {
            role: role.to_owned(),
            mandate: role::mandate(&terms.mandate),
            span: terms.span.word().to_owned(),
            from: from.map(|id| id.to_string()),
            evidence: self.evidence(evidence),
        }
    }
}

fn followed(number: SessionNumber, conversation: &ConversationId, how: Followed) -> wire::What {
    wire::What::ConversationFollowed {
        number: number.0,
        conversation: conversation.to_string(),
        how: how.word().to_owned(),
    }
}

fn work(event: &WorkEvent) -> wire::What {
    match event {
        WorkEvent::PhaseFound { number, phase, indicator, seen_at } => wire::What::PhaseFound {
            number: number.0,
            phase: phase.word().to_owned(),
            indicator: indicator.word().to_owned(),
            seen_at: rfc3339(*seen_at),
        },
    }
}

fn legacy(kind: LegacyKind, text: &Text) -> wire::What {
    let kind = kind.word().to_owned();
    wire::What::LegacyLeft { kind, head: text.head.clone(), bytes: text.bytes }
}

/// Without the task's words: those are shown with the task.
fn rest(event: &RestEvent) -> wire::What {
    match event {
        RestEvent::Earned { task, title: _ } => wire::What::RestEarned { task: task.to_string() },
        RestEvent::TakenBack => wire::What::RestTakenBack {},
    }
}
