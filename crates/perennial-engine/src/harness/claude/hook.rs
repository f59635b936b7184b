//! What one call of a hook says, as a fact, and how to answer it.
//!
//! A hook is called in a moment of the vendor's choice and knows nothing of the one before: what
//! comes of a fact is for the core to say.

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{CallName, Fact, Failure, Origin, Seen};
use perennial_core::time::Time;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess};
use serde_json::json;

use crate::harness::dialect::{Call, NotUnderstood};
use crate::harness::hook_fields::{HookFields, Structured};
use crate::harness::mail_texts::brought;
use crate::harness::typing::{fingerprint, older_fingerprint};
use crate::transcript::claude::THRASHING;
use crate::transcript::step::ID_BYTES;

/// Reads what a hook was given on its standard input.
pub fn hook(event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
    let mut lists = Lists::default();
    let (fields, is_whole) = HookFields::read(input, &TEXTS, &mut lists)?;
    let conversation: Option<ConversationId> =
        fields.text("session_id").and_then(|id| id.parse().ok());
    let in_subagent = fields.text("agent_id").is_some();
    if event == "SessionStart" && conversation.is_none() {
        return Err(NotUnderstood::NoConversation);
    }
    let prompt = fields.text("prompt").filter(|_| event == "UserPromptSubmit");
    let fact = seen(event, (&fields, &lists), in_subagent).map(|seen| Fact {
        older_text: prompt.and_then(older_fingerprint),
        mentions: prompt.map(brought).unwrap_or_default(),
        conversation: conversation.filter(|_| !in_subagent),
        is_answerable: !in_subagent && is_read_in_turn(event),
        may_go_on: !in_subagent && event == "Stop",
        ..Fact::new(Origin::Hook, seen)
    });
    Ok(Call { fact, is_partial: !is_whole })
}

fn seen(event: &str, (fields, lists): (&HookFields, &Lists), in_subagent: bool) -> Option<Seen> {
    Some(match event {
        "SessionStart" => Seen::SessionBegan(followed(fields.text("source"))),
        "UserPromptSubmit" if !in_subagent => {
            Seen::PromptSubmitted { text: fingerprint(fields.text("prompt").unwrap_or_default()) }
        }
        // It comes for a question of the model's too, whatever the permission mode.
        "PermissionRequest" if fields.text("tool_name") == Some("AskUserQuestion") => {
            Seen::QuestionAsked
        }
        "PermissionRequest" => {
            Seen::PermissionAsked { tool: fields.text("tool_name").map(str::to_owned) }
        }
        // A subagent in the background works on while the main conversation waits for input.
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" => {
            Seen::ToolsFinished { calls: calls(fields, lists), in_subagent }
        }
        "Notification" => notified(fields.text("notification_type"))?,
        "Stop" if !in_subagent => {
            Seen::ReplyEnded { background_tasks: lists.background_tasks.unwrap_or(0) }
        }
        "StopFailure" if !in_subagent => Seen::CallFailed(failure(fields)),
        // The compaction waits for the reply; a subagent's is no matter of the main conversation.
        "PreCompact" if !in_subagent => Seen::CompactionAnnounced { is_certain: true },
        "PostCompact" => Seen::Compacted,
        _ => return None,
    })
}

/// The text as the answer to this event, in the form that reaches the model; `None` if none does.
pub fn reply(event: &str, text: &str) -> Option<Vec<u8>> {
    let specific = json!({ "hookEventName": event, "additionalContext": text });
    let reply = json!({ "hookSpecificOutput": specific });
    // As a reason to block, the model would read it as an error, and a batch would end its turn.
    (is_read_in_turn(event) || event == "Stop").then(|| reply.to_string().into_bytes())
}

/// Whether the reply is read with the next request of the turn. The one to `Stop` makes the turn go
/// on: a request more.
fn is_read_in_turn(event: &str) -> bool {
    matches!(
        event,
        "SessionStart"
            | "UserPromptSubmit"
            | "PostToolUse"
            | "PostToolUseFailure"
            | "PostToolBatch"
    )
}

fn followed(source: Option<&str>) -> Followed {
    match source {
        Some("startup") => Followed::Started,
        Some("clear") => Followed::Cleared,
        Some("compact") => Followed::Compacted,
        Some("fork") => Followed::Forked,
        // A source that is not known yet must not begin a window.
        Some(_) | None => Followed::Resumed,
    }
}

fn notified(kind: Option<&str>) -> Option<Seen> {
    match kind {
        Some("worker_permission_prompt") => Some(Seen::PermissionAsked { tool: None }),
        Some("idle_prompt") => Some(Seen::IdleTold),
        Some("elicitation_dialog") => Some(Seen::QuestionAsked),
        // `permission_prompt` also comes for a question, and seconds after the request that said so.
        Some(_) | None => None,
    }
}

fn failure(fields: &HookFields) -> Failure {
    let told = fields.text("last_assistant_message").unwrap_or_default();
    match fields.text("error") {
        _ if told.starts_with(THRASHING) => Failure::Thrash,
        Some("rate_limit") => Failure::RateLimit { until: reset(told) },
        Some("authentication_failed" | "oauth_org_not_allowed" | "billing_error") => {
            Failure::Refused
        }
        Some("overloaded") => Failure::Overloaded,
        Some(_) | None => Failure::Other,
    }
}

/// The end of a limit where the text has it as `|SECONDS`; a time of day without a date is no time.
fn reset(text: &str) -> Option<Time> {
    let (_, after) = text.split_once('|')?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    let seconds: u64 = digits.parse().ok()?;
    let plausible = (1_500_000_000..10_000_000_000).contains(&seconds);
    plausible.then_some(Time(seconds * 1_000_000))
}

const TEXTS: [&str; 9] = [
    "session_id",
    "agent_id",
    "source",
    "prompt",
    "tool_name",
    "tool_use_id",
    "notification_type",
    "error",
    "last_assistant_message",
];

/// What a hook lists: the calls of a batch, and how many tasks run in the background.
#[derive(Debug, Default)]
struct Lists {
    calls: Vec<String>,
    background_tasks: Option<u32>,
}

/// A call of a batch. What it was given and what it answered is passed over.
#[derive(Deserialize)]
struct BatchedCall {
    tool_use_id: Option<String>,
}

impl Structured for Lists {
    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        map: &mut A,
        _: &mut HookFields,
    ) -> Result<bool, A::Error> {
        match name {
            "tool_calls" => {
                let calls: Vec<BatchedCall> = map.next_value()?;
                self.calls.extend(calls.into_iter().filter_map(|call| call.tool_use_id));
            }
            "background_tasks" => {
                let tasks: Vec<IgnoredAny> = map.next_value()?;
                self.background_tasks = u32::try_from(tasks.len()).ok();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The calls that a hook is about, one or a batch.
fn calls(fields: &HookFields, lists: &Lists) -> Vec<CallName> {
    let all = fields.text("tool_use_id").into_iter().chain(lists.calls.iter().map(String::as_str));
    all.filter(|id| id.len() <= ID_BYTES).map(|id| CallName(id.to_owned())).collect()
}
