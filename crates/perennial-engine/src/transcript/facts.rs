//! The steps of a transcript as facts. Knows no vendor: steps are in no vendor's words already.

use perennial_core::fact::{CallName, Fact, Failure, Origin, Seen};
use perennial_core::symptom::{self, Speaker};

use super::step::{Content, ErrorKind, Step};
use crate::harness::mail_texts::brought;
use crate::harness::typing::{fingerprint, older_fingerprint};

/// What a step says of its session; a subagent's says nothing.
pub fn fact(step: &Step) -> Option<Fact> {
    if step.is_subagent {
        return None;
    }
    let seen = match &step.content {
        Content::Prompt(text) => Seen::Prompt { text: fingerprint(&text.text) },
        Content::PromptBlocked { prompt, words } => {
            Seen::PromptBlocked { text: fingerprint(&prompt.text), words: words.text.clone() }
        }
        Content::Added(text) => Seen::Added { text: text.text.clone() },
        Content::ToolCall { call, .. } => Seen::ToolCalled(CallName(call.clone())),
        Content::ToolResult { call, .. } => Seen::ToolAnswered(CallName(call.clone())),
        // Each line of an answer has one.
        Content::Usage(_) => Seen::Answered,
        Content::Compaction(_) => Seen::Compacted,
        Content::RateLimit { until, .. } => Seen::CallFailed(Failure::RateLimit { until: *until }),
        Content::LimitReached { until, .. } => {
            Seen::CallFailed(Failure::LimitReached { until: *until })
        }
        // The harness tries again by itself.
        Content::Error { retry_at: Some(_), .. } => return None,
        Content::Error { kind, .. } => Seen::CallFailed(failure(*kind)),
        Content::Interrupted => Seen::Interrupted,
        Content::Text(_) | Content::Thinking | Content::ConversationChanged { .. } => return None,
    };
    let mut fact = Fact::new(Origin::Transcript, seen).at(step.time);
    if let Content::Prompt(text) | Content::PromptBlocked { prompt: text, .. } = &step.content {
        fact.older_text = older_fingerprint(&text.text);
        fact.mentions = brought(&text.text);
    }
    Some(fact)
}

/// The symptom that a step's words have, if they have one: those of the agent, and what its tools printed.
pub fn symptom(step: &Step) -> Option<Fact> {
    let (text, speaker) = match &step.content {
        _ if step.is_subagent => return None,
        Content::Text(text) => (text, Speaker::Agent),
        Content::ToolResult { text, .. } => (text, Speaker::Tool),
        Content::Prompt(_)
        | Content::PromptBlocked { .. }
        | Content::Added(_)
        | Content::Thinking
        | Content::ToolCall { .. }
        | Content::Usage(_)
        | Content::Compaction(_)
        | Content::Error { .. }
        | Content::RateLimit { .. }
        | Content::LimitReached { .. }
        | Content::Interrupted
        | Content::ConversationChanged { .. } => return None,
    };
    let found = symptom::in_words(&text.text, speaker);
    let found = found.or_else(|| symptom::in_words(&text.ending, speaker))?;
    Some(Fact::new(Origin::Transcript, Seen::Symptom(found)).at(step.time))
}

fn failure(kind: ErrorKind) -> Failure {
    match kind {
        ErrorKind::Overloaded => Failure::Overloaded,
        ErrorKind::Authentication | ErrorKind::Billing => Failure::Refused,
        ErrorKind::ContextOverflow => Failure::TooLong,
        ErrorKind::Thrashing => Failure::Thrash,
        ErrorKind::InvalidRequest
        | ErrorKind::Server
        | ErrorKind::Connection
        | ErrorKind::Unclassified => Failure::Other,
    }
}
