//! What somebody was told, in a few words.

use perennial_core::refusal::Refusal;
use perennial_engine::supervisor::Rejection;

use crate::operator::Answer;

/// The outer `None`: no daemon took the request; the inner one: it was never answered.
pub fn words(answer: Option<Option<Answer>>) -> String {
    match answer {
        None => "no daemon".into(),
        Some(None) => "no answer".into(),
        Some(Some(Answer::Done)) => "ok".into(),
        Some(Some(Answer::Rejected(Rejection::NotRecorded(why)))) => format!("not recorded: {why}"),
        Some(Some(Answer::Rejected(Rejection::Refused(refusal)))) => {
            format!("refused: {}", refused(&refusal))
        }
    }
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoSuchAgent { target } => format!("no agent {target}"),
        Refusal::NameTaken { name, .. } => format!("the name {name} is taken"),
        Refusal::NotAllowed { caller, verb, .. } => format!("{caller:?} may not {}", verb.word()),
        Refusal::NotVisible { caller, private } => format!("{caller:?} may not see {private:?}"),
        Refusal::NotASession => "only a session may".into(),
        Refusal::WrongState { verb, state, .. } => {
            format!("no {} while {}", verb.word(), state.word())
        }
        Refusal::Running { .. } => "it has a session".into(),
        Refusal::StoppedByOperator { .. } => "the operator stopped it".into(),
        Refusal::NeedsApproval { .. } => "it needs an approval".into(),
        Refusal::Held { held_for, .. } => format!("it is held for {}", held_for.word()),
        Refusal::ConversationTaken { conversation, .. } => {
            format!("{conversation} has a writer already")
        }
        Refusal::NoSuchMessage { .. } => "no such message waits".into(),
        Refusal::MessageOver { step, .. } => format!("it was {step:?}"),
        Refusal::MessageLost { .. } => "its records are lost".into(),
        Refusal::MessageExists { .. } => "there is such a message".into(),
        Refusal::AlreadyOffered { .. } => "the session is getting it".into(),
        Refusal::TooOften { wait, .. } => format!("too often: wait {} s", wait.as_secs()),
        Refusal::ParentBelow { .. } => "the parent is below it".into(),
        Refusal::NotVacant { .. } => "it is not vacant".into(),
        Refusal::NoRole { .. } => "it has no role".into(),
        Refusal::HasRole { .. } => "it has a role already".into(),
        Refusal::NoSuchRole { .. } => "there is no such role".into(),
        Refusal::NotAnswerable => "it can't be answered".into(),
        Refusal::TooManyCopies { .. } => "it has too many recipients".into(),
        Refusal::AboveOwn { excess } => format!("above its own: {excess:?}"),
        Refusal::NoRecipient => "nobody is there".into(),
        Refusal::MailboxFull { .. } => "the mailbox is full".into(),
        Refusal::Checkpoint { fault } => format!("the checkpoint: {fault:?}"),
        Refusal::CheckpointOutdated { .. } => "another checkpoint came first".to_owned(),
        Refusal::SessionInTree { .. } => "a session runs in that work tree".into(),
        Refusal::RestoreInTree { .. } => "files are being restored in that work tree".into(),
        Refusal::SnapshotDropped { .. } => "that snapshot is not kept".into(),
        Refusal::ParentGone { .. } => "the parent is gone".into(),
        Refusal::StillEnding { .. } => "its last session has not ended".into(),
        Refusal::SignalSource { kind } => format!("{} has another source", kind.word()),
        Refusal::SignalTarget { kind } => format!("{} has another target", kind.word()),
        Refusal::SignalPayload { kind, fault } => format!("{}: {fault:?}", kind.word()),
        Refusal::BareCommand { verb, .. } => format!("no {} of a bare command", verb.word()),
        Refusal::NoHandoff { .. } => "no handoff is under way".into(),
        Refusal::Task { why, .. } => format!("the task: {why:?}"),
    }
}
