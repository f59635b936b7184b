//! Requests that Claude Code makes beside its main loop, told apart by what they carry, and what
//! each of them is content with.
//!
//! Recorded from Claude Code 2.1.325. A request that no rule knows and that offers tools belongs
//! to the main loop: a wrong guess must be seen in a test, not hidden in a polite answer.

use crate::request::{Kind, Request, Role};
use crate::turn::Turn;
use crate::wire::NO_LINE;

const SUGGESTION: &str = "[SUGGESTION MODE:";
const COMPACTION: &str = "Your task is to create a detailed summary of";
const CLASSIFIER: &str = "A user kicked off a Claude Code agent to do a coding task";

pub(super) fn kind(request: &Request) -> Kind {
    // The client puts its own words last, sometimes in the same message as a person's prompt.
    let last = request.messages.iter().rfind(|message| message.role == Role::User);
    let last = last.and_then(|message| message.parts.last()?.words()).unwrap_or_default();
    if last.contains(SUGGESTION) {
        Kind::Suggestion
    } else if last.contains(COMPACTION) {
        Kind::Compaction
    } else if request.asks_for("title") {
        Kind::Title
    } else if request.system.iter().any(|text| text.starts_with(CLASSIFIER)) {
        Kind::Classifier
    } else if request.tools.iter().all(|tool| tool == "web_search") {
        // None at all: labels and pages to be read. Only a search: the search tool's own request.
        Kind::Probe
    } else {
        Kind::Main
    }
}

/// The answer to a request that no script answers.
pub fn itself(kind: Kind) -> Turn {
    match kind {
        Kind::Main => Turn::text(NO_LINE),
        Kind::Compaction => Turn::text(
            "<analysis>Nothing to weigh.</analysis>\n\
             <summary>The understudy's summary of the conversation so far.</summary>",
        ),
        Kind::Title => Turn::text(r#"{"title":"Understudy session"}"#),
        // Nothing to suggest: a suggestion would stand in the person's input line.
        Kind::Suggestion => Turn::default(),
        Kind::Classifier => Turn::text(
            r#"{"state":"done","detail":"the understudy has answered","tempo":"idle","output":{}}"#,
        ),
        Kind::Routing | Kind::Review | Kind::Memory | Kind::TokenCount | Kind::Probe => {
            Turn::text("ok")
        }
    }
}
