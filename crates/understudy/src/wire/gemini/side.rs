//! Requests that Gemini CLI makes beside its main loop, told apart by what they carry, and what each
//! of them is content with.
//!
//! Recorded from Gemini CLI 0.61.0, or read in its bundle where a comment says so. A request that no
//! rule knows and that offers functions belongs to the main loop: a wrong guess must be seen in a
//! test, not hidden in a polite answer.

use crate::request::{Kind, Request, Role};
use crate::turn::Turn;
use crate::wire::{NO_LINE, schema};

const COMPACTION: &str =
    "You are a specialized system component responsible for distilling chat history";
/// Of the whole conversation, in one sentence, for the list of sessions.
const SUMMARY: &str = "Summarize the user's primary intent or goal in this conversation";
/// What the API does itself, on behalf of a tool of the same purpose.
const WEB_TOOLS: &[&str] = &["googleSearch", "urlContext"];

pub(super) fn kind(request: &Request) -> Kind {
    let last = request.messages.iter().rfind(|message| message.role == Role::User);
    let last = last.and_then(|message| message.parts.last()?.words()).unwrap_or_default();
    let is_compaction = |text: &String| text.trim_start().starts_with(COMPACTION);
    if request.system.iter().any(is_compaction) {
        Kind::Compaction
    } else if request.asks_for("model_choice") || request.asks_for("complexity_score") {
        Kind::Routing
    } else if request.asks_for("next_speaker") {
        Kind::Classifier
    } else if last.starts_with(SUMMARY) {
        Kind::Title
    } else if request.tools.iter().all(|tool| WEB_TOOLS.contains(&tool.as_str())) {
        // Searches, pages, long outputs, edits to be mended, loops to be found.
        Kind::Probe
    } else {
        Kind::Main
    }
}

/// The answer to a request that no script answers.
pub fn itself(request: &Request) -> Turn {
    match (request.kind, &request.schema) {
        (Kind::Main, _) => Turn::text(NO_LINE),
        (Kind::Compaction, _) => Turn::text(
            "<state_snapshot>The understudy's summary of the conversation so far.</state_snapshot>",
        ),
        (Kind::Title, None) => Turn::text("Understudy session"),
        // A score of 0, the smallest number, is out of the range that only the prompt tells.
        (Kind::Routing, Some(shape)) if request.asks_for("complexity_score") => {
            let mut answer = schema::smallest(shape);
            answer["complexity_score"] = 1.into();
            Turn::text(answer.to_string())
        }
        (
            Kind::Title
            | Kind::Suggestion
            | Kind::Classifier
            | Kind::Routing
            | Kind::Review
            | Kind::Memory
            | Kind::TokenCount
            | Kind::Probe,
            Some(shape),
        ) => Turn::text(schema::smallest(shape).to_string()),
        (
            Kind::Suggestion
            | Kind::Classifier
            | Kind::Routing
            | Kind::Review
            | Kind::Memory
            | Kind::TokenCount
            | Kind::Probe,
            None,
        ) => Turn::text("ok"),
    }
}
