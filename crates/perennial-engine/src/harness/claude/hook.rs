//! What one call of a hook says, as a fact, and how to answer it.
//!
//! A hook is called in a moment of the vendor's choice and knows nothing of the one before: what
//! comes of a fact is for the core to say.

use std::fmt;

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{CallName, Fact, Failure, Origin, Seen};
use perennial_core::time::Time;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::harness::dialect::{Call, NotUnderstood, bounded};
use crate::harness::typing::{fingerprint, older_fingerprint};
use crate::transcript::step::{EXCERPT_BYTES, ID_BYTES};

/// Reads what a hook was given on its standard input.
pub fn hook(event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
    let (fields, is_whole) = Fields::read(input)?;
    let conversation: Option<ConversationId> =
        fields.text("session_id").and_then(|id| id.parse().ok());
    let in_subagent = fields.text("agent_id").is_some();
    if event == "SessionStart" && conversation.is_none() {
        return Err(NotUnderstood::NoConversation);
    }
    let prompt = fields.text("prompt").filter(|_| event == "UserPromptSubmit");
    let fact = seen(event, &fields, in_subagent).map(|seen| Fact {
        older_text: prompt.and_then(older_fingerprint),
        conversation: conversation.filter(|_| !in_subagent),
        is_answerable: !in_subagent && is_read_in_turn(event),
        ..Fact::new(Origin::Hook, seen)
    });
    Ok(Call { fact, is_partial: !is_whole })
}

fn seen(event: &str, fields: &Fields, in_subagent: bool) -> Option<Seen> {
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
            Seen::ToolsFinished { calls: fields.calls.clone(), in_subagent }
        }
        "Notification" => notified(fields.text("notification_type"))?,
        "Stop" if !in_subagent => {
            Seen::ReplyEnded { background_tasks: fields.background_tasks.unwrap_or(0) }
        }
        "StopFailure" if !in_subagent => Seen::CallFailed(failure(fields)),
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

fn failure(fields: &Fields) -> Failure {
    match fields.text("error") {
        Some("rate_limit") => {
            Failure::RateLimit { until: fields.text("last_assistant_message").and_then(reset) }
        }
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

/// The fields that are of use.
#[derive(Debug, Default)]
struct Fields {
    texts: Vec<(String, String)>,
    calls: Vec<CallName>,
    background_tasks: Option<u32>,
}

/// Others can be as long as a file that was written.
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

/// A call of a batch. What it was given and what it answered is passed over.
#[derive(Deserialize)]
struct BatchedCall {
    tool_use_id: Option<String>,
}

impl Fields {
    /// What can be read, and whether that is all of it.
    fn read(input: &[u8]) -> Result<(Fields, bool), NotUnderstood> {
        let kept = bounded(input);
        let starts = kept.iter().find(|byte| !byte.is_ascii_whitespace());
        if starts != Some(&b'{') {
            return Err(NotUnderstood::NotAnObject);
        }
        let mut fields = Fields::default();
        let mut reader = serde_json::Deserializer::from_slice(kept);
        let read = Collect(&mut fields).deserialize(&mut reader).and_then(|()| reader.end());
        Ok((fields, read.is_ok() && kept.len() == input.len()))
    }

    fn keep(&mut self, name: String, mut text: String) {
        if name == "tool_use_id" {
            return self.called(text);
        }
        // A prompt is recognised by all of it.
        if name != "prompt" {
            text.truncate(text.floor_char_boundary(EXCERPT_BYTES));
        }
        self.texts.push((name, text));
    }

    fn called(&mut self, id: String) {
        if id.len() <= ID_BYTES {
            self.calls.push(CallName(id));
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        let named = |pair: &&(String, String)| pair.0 == name;
        self.texts.iter().find(named).map(|(_, text)| text.as_str())
    }
}

/// Fills the fields as they come, so that what stands before a break is kept.
struct Collect<'f>(&'f mut Fields);

impl<'de> DeserializeSeed<'de> for Collect<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if TEXTS.contains(&name.as_str()) {
                if let Value::String(text) = map.next_value()? {
                    self.0.keep(name, text);
                }
            } else if name == "tool_calls" {
                let calls: Vec<BatchedCall> = map.next_value()?;
                calls
                    .into_iter()
                    .filter_map(|call| call.tool_use_id)
                    .for_each(|id| self.0.called(id));
            } else if name == "background_tasks" {
                let tasks: Vec<IgnoredAny> = map.next_value()?;
                self.0.background_tasks = u32::try_from(tasks.len()).ok();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
