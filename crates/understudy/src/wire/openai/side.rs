//! Requests that Codex makes beside its main loop, told apart by what they carry, and what each of
//! them is content with.
//!
//! Recorded from Codex 0.166.0, which names most of them in a header. A request that no rule knows
//! and that offers tools belongs to the main loop: a wrong guess must be seen in a test, not hidden
//! in a polite answer.

use serde_json::Value;

use super::COMPACTION_TRIGGER;
use crate::request::{Kind, Part, Request, Role};
use crate::turn::Turn;
use crate::wire::{NO_LINE, schema};

const COMPACTION: &str = "You are performing a CONTEXT CHECKPOINT COMPACTION";

pub(super) fn kind(request: &Request) -> Kind {
    let header = |name: &str| request.headers.get(name).map_or("", String::as_str);
    let metadata: Value = serde_json::from_str(header("x-codex-turn-metadata")).unwrap_or_default();
    let is = |key: &str, value: &str| metadata[key] == value;
    let subagent = header("x-openai-subagent");
    let last = request.messages.iter().rfind(|message| message.role == Role::User);
    let last = last.and_then(|message| message.parts.last()?.words()).unwrap_or_default();
    if is("request_kind", "compaction") || wants_item(request) || last.starts_with(COMPACTION) {
        Kind::Compaction
    } else if is("thread_source", "thread_title") {
        Kind::Title
    } else if subagent.starts_with("guardian") {
        Kind::Review
    } else if subagent == "memory_consolidation" || is("request_kind", "memory") {
        Kind::Memory
    } else if request.tools.is_empty() || is("request_kind", "prewarm") {
        Kind::Probe
    } else {
        Kind::Main
    }
}

/// Whether the compacted conversation is wanted as an item, and not as a text.
pub(super) fn wants_item(request: &Request) -> bool {
    let is_trigger = |part: &Part| matches!(part, Part::Unread(what) if what == COMPACTION_TRIGGER);
    request.messages.last().is_some_and(|message| message.parts.iter().any(is_trigger))
}

/// The answer to a request that no script answers.
pub fn itself(request: &Request) -> Turn {
    match (request.kind, &request.schema) {
        (Kind::Main, _) => Turn::text(NO_LINE),
        (Kind::Compaction, _) => Turn::text("The understudy's summary of the conversation so far."),
        (Kind::Title, _) => Turn::text(r#"{"title":"Understudy session"}"#),
        (
            Kind::Suggestion
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
