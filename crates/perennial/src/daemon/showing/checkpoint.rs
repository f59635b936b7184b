//! Checkpoints as clients see them. The words in them are others': whoever draws them makes them harmless.

use perennial_api::checkpoint as wire;
use perennial_api::snapshot::FileChange;
use perennial_core::checkpoint::{
    Checkpoint, CheckpointHead, CheckpointTaken, KeyDecision, Said, SaidDraft,
};
use perennial_core::time::Time;
use perennial_core::work::GitFindings;

use super::work;
use crate::daemon::time::rfc3339;

/// One of a list.
pub fn taken(taken: &CheckpointTaken, at: Time) -> wire::Checkpoint {
    wire::Checkpoint {
        number: taken.number,
        at: rfc3339(at),
        why: taken.why.word().to_owned(),
        session: taken.session.0,
        phase: taken.phase.word().to_owned(),
        summary: Some(taken.summary.clone()),
        snapshot: taken.snapshot,
    }
}

/// The last one of an agent, for a caller who may see its summary or not.
pub fn head(head: &CheckpointHead, sees_summary: bool) -> wire::Checkpoint {
    wire::Checkpoint {
        number: head.number,
        at: rfc3339(head.at),
        why: head.why.word().to_owned(),
        session: head.session.0,
        phase: head.phase.word().to_owned(),
        summary: sees_summary.then(|| head.summary.clone()),
        snapshot: head.snapshot,
    }
}

/// All of one. A content that can't be read leaves what its event has.
pub fn card(checkpoint: wire::Checkpoint, content: Option<Checkpoint>) -> wire::CheckpointCard {
    let Some(content) = content else {
        let is_unreadable = true;
        return wire::CheckpointCard { checkpoint, is_unreadable, ..Default::default() };
    };
    let task = content.task.map(|task| {
        let (open_step, steps, text) = match task.open_step {
            Some((at, of, text)) => (Some(at as u64), of as u64, Some(text)),
            None => (None, 0, None),
        };
        let id = task.id.to_string();
        wire::TaskMark { id, title: task.title, open_step, open_step_text: text, steps }
    });
    wire::CheckpointCard {
        checkpoint,
        phases: content.phases.iter().map(work::span).collect(),
        said: said(content.said),
        note: content.note,
        found: work::findings(content.session, content.found),
        git: content.git.map(git),
        situation: content.situation,
        task,
        conversation: content.conversation.map(|at| wire::ConversationMark {
            id: at.conversation,
            bytes: at.bytes,
            steps: at.steps,
        }),
        resumption_instructions: content.resumption,
        is_unreadable: false,
    }
}

fn said(said: Said) -> wire::Said {
    let decisions = said.decisions.into_iter();
    wire::Said {
        summary: said.summary,
        decisions: decisions
            .map(|KeyDecision { what, why }| wire::KeyDecision { what, why })
            .collect(),
        knowledge: said.knowledge,
        questions: said.questions,
        instructions: said.instructions,
        at: said.at.map(rfc3339),
    }
}

fn git(git: GitFindings) -> wire::GitState {
    let change = |change: perennial_core::work::FileChange| FileChange {
        path: change.path,
        change: change.how.word().to_owned(),
    };
    wire::GitState {
        branch: git.branch,
        head: git.head,
        changed: git.changed.into_iter().map(change).collect(),
        changed_count: git.changed_count,
    }
}

/// What an agent says by a request.
pub fn draft(asked: wire::TakeCheckpoint) -> SaidDraft {
    let decision = |wire::Decision { what, why }| KeyDecision { what, why };
    SaidDraft {
        phase: asked.phase.map(crate::daemon::surface::orders::work_phase),
        summary: asked.summary,
        decisions: asked.decisions.map(|all| all.into_iter().map(decision).collect()),
        knowledge: asked.knowledge,
        questions: asked.questions,
        instructions: asked.instructions,
        note: None,
    }
}
