//! Steps of conversations as the surface shows them: engine types to wire types.

use perennial_api::step as wire;
use perennial_core::conversation::ConversationId;
use perennial_engine::harness::session_texts;
use perennial_engine::transcript::step::{
    CompactionTrigger, Content, ErrorKind, Excerpt, Step, StepId,
};
use serde_json::Value;

use crate::daemon::time::rfc3339;

pub fn step(conversation: &ConversationId, subagent: Option<String>, step: Step) -> wire::Step {
    let named = |id: StepId| id.to_string();
    let shown = wire::Step {
        at: step.time.map(rfc3339),
        conversation: conversation.to_string(),
        is_subagent: step.is_subagent,
        subagent,
        id: step.id.map(named),
        parent: step.parent.map(named),
        ..wire::Step::default()
    };
    with_content(shown, step.content)
}

fn with_content(step: wire::Step, content: Content) -> wire::Step {
    let of = move |kind: &str| wire::Step { kind: kind.to_owned(), ..step };
    match content {
        // Mail that was typed, or with which a hook let the turn go on.
        Content::Prompt(text) if session_texts::begins_as_ours(&text.text) => {
            with_text(of("told"), text)
        }
        Content::Prompt(text) => with_text(of("prompt"), text),
        Content::PromptBlocked { words, .. } => with_text(of("prompt-blocked"), words),
        Content::Text(text) => with_text(of("text"), text),
        Content::Thinking => of("thinking"),
        Content::ToolCall { call, tool, arguments } => wire::Step {
            call: Some(call),
            tool: Some(tool),
            cut_bytes: arguments.cut_bytes as u64,
            arguments: match serde_json::from_str(&arguments.text) {
                Ok(whole) => whole,
                Err(_) => Value::String(arguments.text),
            },
            ..of("tool-call")
        },
        Content::ToolResult { call, is_error, text } => wire::Step {
            call: Some(call),
            is_error: Some(is_error),
            ..with_text(of("tool-result"), text)
        },
        // A page has none of these, and of what hooks added only what is ours.
        Content::Usage(_) => of("usage"),
        Content::Added(text) => with_text(of("told"), text),
        Content::Compaction(compaction) => wire::Step {
            trigger: trigger(compaction.trigger).map(str::to_owned),
            tokens_before: compaction.pre_tokens,
            tokens_after: compaction.post_tokens,
            ..of("compaction")
        },
        Content::Error { kind, text, retry_at } => wire::Step {
            error: Some(error(kind).to_owned()),
            until: retry_at.map(rfc3339),
            ..with_text(of("error"), text)
        },
        Content::RateLimit { until, text } | Content::LimitReached { until, text } => {
            wire::Step { until: until.map(rfc3339), ..with_text(of("rate-limit"), text) }
        }
        Content::Interrupted => of("interrupted"),
        Content::ConversationChanged { id } => wire::Step { text: Some(id), ..of("conversation") },
    }
}

fn with_text(step: wire::Step, Excerpt { text, cut_bytes, .. }: Excerpt) -> wire::Step {
    wire::Step { text: Some(text), cut_bytes: cut_bytes as u64, ..step }
}

fn trigger(trigger: CompactionTrigger) -> Option<&'static str> {
    match trigger {
        CompactionTrigger::Automatic => Some("automatic"),
        CompactionTrigger::Manual => Some("manual"),
        CompactionTrigger::Unstated => None,
    }
}

fn error(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Overloaded => "overloaded",
        ErrorKind::Authentication => "authentication",
        ErrorKind::Billing => "billing",
        ErrorKind::ContextOverflow => "context-overflow",
        ErrorKind::Thrashing => "thrashing",
        ErrorKind::InvalidRequest => "invalid-request",
        ErrorKind::Server => "server",
        ErrorKind::Connection => "connection",
        ErrorKind::Unclassified => "unclassified",
    }
}
