//! What one call of a hook says, as a fact, and how to answer it.
//!
//! A hook is called in a moment of the vendor's choice and knows nothing of the one before: what
//! comes of a fact is for the core to say.

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{Fact, Origin, Seen};
use serde::de::MapAccess;
use serde_json::{Value, json};

use crate::harness::dialect::{Call, NotUnderstood};
use crate::harness::hook_fields::{HookFields, Structured};
use crate::harness::mail_texts::brought;
use crate::harness::typing::{fingerprint, older_fingerprint};

/// What stands for the answer of a turn that brought none: the call failed, or was cancelled before the
/// first word. The transcript says which.
const NO_RESPONSE: &str = "[no response text]";

/// Reads what a hook was given on its standard input.
pub fn hook(event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
    let (fields, is_whole) = HookFields::read(input, &TEXTS, &mut Details)?;
    let conversation: Option<ConversationId> =
        fields.text("session_id").and_then(|id| id.parse().ok());
    if event == "SessionStart" && conversation.is_none() {
        return Err(NotUnderstood::NoConversation);
    }
    let prompt = fields.text("prompt").filter(|_| event == "BeforeAgent");
    let is_cancelled = fields.text("prompt_response") == Some(NO_RESPONSE);
    let fact = seen(event, &fields).map(|seen| Fact {
        older_text: prompt.and_then(older_fingerprint),
        mentions: prompt.map(brought).unwrap_or_default(),
        conversation,
        is_answerable: is_read_in_turn(event),
        may_go_on: event == "AfterAgent" && !is_cancelled,
        ..Fact::new(Origin::Hook, seen)
    });
    Ok(Call { fact, is_partial: !is_whole })
}

fn seen(event: &str, fields: &HookFields) -> Option<Seen> {
    Some(match event {
        "SessionStart" => Seen::SessionBegan(followed(fields.text("source"))),
        "BeforeAgent" => {
            Seen::PromptSubmitted { text: fingerprint(fields.text("prompt").unwrap_or_default()) }
        }
        "BeforeTool" => Seen::ToolBegan,
        "AfterTool" => Seen::ToolsFinished { calls: Vec::new(), in_subagent: false },
        "Notification" => notified(fields)?,
        // The program calls it before every request, to look whether there is too much; by a person's command it means it.
        "PreCompress" => {
            Seen::CompactionAnnounced { is_certain: fields.text("trigger") == Some("manual") }
        }
        "AfterAgent" if fields.text("prompt_response") == Some(NO_RESPONSE) => Seen::TurnOver,
        "AfterAgent" => Seen::ReplyEnded { background_tasks: 0 },
        _ => return None,
    })
}

/// The text as the answer to this event, in the form that reaches the model; `None` if none does. What
/// is said when a session starts is gone at its next resume.
pub fn reply(event: &str, text: &str) -> Option<Vec<u8>> {
    let specific = json!({ "hookEventName": event, "additionalContext": text });
    let reply = match event {
        // The turn goes on with the text as its next prompt.
        "AfterAgent" => json!({ "decision": "deny", "reason": text }),
        _ => json!({ "hookSpecificOutput": specific }),
    };
    let is_read = is_read_in_turn(event) || event == "AfterAgent";
    is_read.then(|| reply.to_string().into_bytes())
}

/// Whether the reply is read with the next request of the turn.
fn is_read_in_turn(event: &str) -> bool {
    matches!(event, "BeforeAgent" | "AfterTool")
}

fn followed(source: Option<&str>) -> Followed {
    match source {
        Some("startup") => Followed::Started,
        Some("clear") => Followed::Cleared,
        // A source that is not known yet must not begin a window.
        Some(_) | None => Followed::Resumed,
    }
}

fn notified(fields: &HookFields) -> Option<Seen> {
    match (fields.text("notification_type"), fields.text("details.type")) {
        (Some("ToolPermission"), Some("ask_user")) => Some(Seen::QuestionAsked),
        (Some("ToolPermission"), _) => {
            Some(Seen::PermissionAsked { tool: fields.text("details.title").map(str::to_owned) })
        }
        (Some(_) | None, _) => None,
    }
}

const TEXTS: [&str; 6] =
    ["session_id", "source", "prompt", "prompt_response", "notification_type", "trigger"];

/// Those of the details of a notification.
const DETAILS: [&str; 2] = ["type", "title"];

/// The details of a notification, as texts of their own.
struct Details;

impl Structured for Details {
    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        map: &mut A,
        texts: &mut HookFields,
    ) -> Result<bool, A::Error> {
        if name != "details" {
            return Ok(false);
        }
        let details: Value = map.next_value()?;
        for detail in DETAILS {
            if let Some(text) = details.get(detail).and_then(Value::as_str) {
                texts.keep(format!("{name}.{detail}"), text.to_owned());
            }
        }
        Ok(true)
    }
}
