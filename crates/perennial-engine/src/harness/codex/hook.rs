//! What one call of a hook says, as a fact, and how to answer it.

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{CallName, Fact, Origin, Seen};
use serde_json::json;

use crate::harness::dialect::{Call, NotUnderstood};
use crate::harness::hook_fields::HookFields;
use crate::harness::mail_texts::brought;
use crate::harness::typing::{fingerprint, older_fingerprint};
use crate::transcript::step::ID_BYTES;

/// The program's word at the end of a turn. Also for a conversation of its own in which it makes up a
/// title: so it says nothing but that there is something to read.
const NOTIFIED: &str = "notify";
/// The tool by which the model asks its person.
const QUESTION: &str = "request_user_input";

pub fn hook(event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
    let (fields, is_whole) = HookFields::read(input, &TEXTS, &mut ())?;
    let is_partial = !is_whole;
    if event == NOTIFIED {
        return Ok(Call { fact: None, is_partial });
    }
    let conversation: Option<ConversationId> =
        fields.text("session_id").and_then(|id| id.parse().ok());
    if event == "SessionStart" && conversation.is_none() {
        return Err(NotUnderstood::NoConversation);
    }
    let prompt = fields.text("prompt").filter(|_| event == "UserPromptSubmit");
    let fact = seen(event, &fields).map(|seen| Fact {
        older_text: prompt.and_then(older_fingerprint),
        mentions: prompt.map(brought).unwrap_or_default(),
        conversation,
        is_answerable: is_read_in_turn(event),
        may_go_on: event == "Stop",
        ..Fact::new(Origin::Hook, seen)
    });
    Ok(Call { fact, is_partial })
}

fn seen(event: &str, fields: &HookFields) -> Option<Seen> {
    Some(match event {
        "SessionStart" => Seen::SessionBegan(followed(fields.text("source"))),
        "UserPromptSubmit" => {
            Seen::PromptSubmitted { text: fingerprint(fields.text("prompt").unwrap_or_default()) }
        }
        "PreToolUse" if fields.text("tool_name") == Some(QUESTION) => Seen::QuestionAsked,
        "PermissionRequest" => {
            Seen::PermissionAsked { tool: fields.text("tool_name").map(str::to_owned) }
        }
        "PostToolUse" => {
            let call = fields.text("tool_use_id").filter(|call| call.len() <= ID_BYTES);
            let calls = call.map(|call| CallName(call.to_owned())).into_iter().collect();
            Seen::ToolsFinished { calls, in_subagent: false }
        }
        "Stop" => Seen::ReplyEnded { background_tasks: 0 },
        "Interrupt" => Seen::Interrupted,
        // The compaction waits for the reply.
        "PreCompact" => Seen::CompactionAnnounced { is_certain: true },
        "PostCompact" => Seen::Compacted,
        _ => return None,
    })
}

/// The text as the answer to this event, in the form that reaches the model; `None` if none does. At
/// the end of a turn only a refusal to end does.
pub fn reply(event: &str, text: &str) -> Option<Vec<u8>> {
    let specific = json!({ "hookEventName": event, "additionalContext": text });
    let reply = match event {
        "Stop" => json!({ "decision": "block", "reason": text }),
        _ => json!({ "hookSpecificOutput": specific }),
    };
    (is_read_in_turn(event) || event == "Stop").then(|| reply.to_string().into_bytes())
}

fn is_read_in_turn(event: &str) -> bool {
    matches!(event, "SessionStart" | "UserPromptSubmit" | "PostToolUse")
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

const TEXTS: [&str; 5] = ["session_id", "source", "prompt", "tool_name", "tool_use_id"];
