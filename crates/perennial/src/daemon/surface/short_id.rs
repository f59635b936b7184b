//! Ids as people type them: whole, or by their end, as git's are by their beginning. Ours begin with the time.
//!
//! An end that two ids have is refused, with both.

use perennial_core::id::{EscalationId, IdEnd, MessageId, SignalId, TaskId};
use perennial_store::{IdsOf, Store};

use super::answer::ProblemResponse;
use super::{Surface, checks};
use crate::daemon::showing::problems::{signal, task};

/// At most this many are named where several have the same end.
const TOLD: usize = 5;

impl Surface {
    pub async fn task_id(&self, text: &str) -> Result<TaskId, ProblemResponse> {
        let unknown = || ProblemResponse(task::no_such_task(text));
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        let end = TaskId::end_of(text).ok_or_else(unknown)?;
        let found = self.ids_ending(IdsOf::Tasks, end).await?;
        one(text, found.into_iter().map(TaskId).collect())?.ok_or_else(unknown)
    }

    pub async fn signal_id(&self, text: &str) -> Result<SignalId, ProblemResponse> {
        let unknown = || ProblemResponse(signal::no_such_signal(text));
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        let end = SignalId::end_of(text).ok_or_else(unknown)?;
        let found = self.ids_ending(IdsOf::Signals, end).await?;
        one(text, found.into_iter().map(SignalId).collect())?.ok_or_else(unknown)
    }

    pub async fn escalation_id(&self, text: &str) -> Result<EscalationId, ProblemResponse> {
        let unknown = || ProblemResponse(signal::no_such_escalation(text));
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        let end = EscalationId::end_of(text).ok_or_else(unknown)?;
        let found = self.ids_ending(IdsOf::Escalations, end).await?;
        one(text, found.into_iter().map(EscalationId).collect())?.ok_or_else(unknown)
    }

    /// The messages that may be meant. Which of them the caller may know of is for whoever asks.
    pub async fn messages_meant(&self, text: &str) -> Result<Vec<MessageId>, ProblemResponse> {
        if let Some(id) = checks::message_id(text) {
            return Ok(vec![id]);
        }
        let Some(end) = MessageId::end_of(text) else { return Ok(Vec::new()) };
        let found = self.ids_ending(IdsOf::Messages, end).await?;
        Ok(found.into_iter().map(MessageId).collect())
    }

    async fn ids_ending(&self, of: IdsOf, end: IdEnd) -> Result<Vec<u128>, ProblemResponse> {
        self.read(move |journal: &dyn Store| journal.ids_ending(of, end, TOLD)).await
    }
}

/// The one that is meant, if there is one.
pub fn one<T: ToString>(text: &str, found: Vec<T>) -> Result<Option<T>, ProblemResponse> {
    if found.len() > 1 {
        let ids: Vec<String> = found.iter().map(ToString::to_string).collect();
        return Err(ProblemResponse(task::ambiguous_id(text, &ids)));
    }
    Ok(found.into_iter().next())
}
