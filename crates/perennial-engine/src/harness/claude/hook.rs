//! What one call of a hook says, and how to answer it.
//!
//! A hook is called in a moment of the vendor's choice and knows nothing of the one before: what a
//! sign changes is for the core to say.

use std::fmt;

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::observation::{Sign, Wait};
use perennial_core::time::Time;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use super::{NotUnderstood, bounded};

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The main one; a subagent's call says nothing of it.
    pub conversation: Option<ConversationId>,
    /// In their order.
    pub signs: Vec<Sign>,
    /// Tool calls of the main conversation that are over with it.
    pub tool_calls: u32,
    /// Whether a reply reaches the model without a turn of its own.
    pub may_reply: bool,
    /// The input broke off or was not well formed: there may have been more.
    pub is_partial: bool,
}

/// Reads what a hook was given on its standard input.
pub fn hook(event: &str, input: &[u8]) -> Result<Heard, NotUnderstood> {
    let (fields, is_whole) = Fields::read(input)?;
    let conversation = fields.text("session_id").and_then(|id| id.parse().ok());
    let in_subagent = fields.text("agent_id").is_some();
    let signs = match event {
        "SessionStart" => {
            let conversation = conversation.clone().ok_or(NotUnderstood::NoConversation)?;
            vec![Sign::Began { conversation, how: followed(fields.text("source")) }]
        }
        "UserPromptSubmit" if !in_subagent => vec![Sign::TurnBegan],
        // It comes for a question of the model's too, whatever the permission mode.
        "PermissionRequest" if fields.text("tool_name") == Some("AskUserQuestion") => {
            vec![Sign::Waits(Wait::Answer)]
        }
        "PermissionRequest" => vec![Sign::Waits(Wait::Permission)],
        // A subagent in the background works on while the main conversation waits for input.
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" if in_subagent => {
            vec![Sign::Progressed]
        }
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" => {
            vec![Sign::TurnBegan, Sign::Progressed]
        }
        "Notification" => notified(fields.text("notification_type")),
        "Stop" if !in_subagent => vec![Sign::Waits(Wait::Input)],
        "StopFailure" if !in_subagent => vec![Sign::Waits(failed(&fields))],
        "PostCompact" => vec![Sign::Compacted],
        _ => Vec::new(),
    };
    let tool_calls = match event {
        "PostToolUse" | "PostToolUseFailure" if !in_subagent => 1,
        // A batch whose list could not be read had at least one.
        "PostToolBatch" if !in_subagent => fields.tool_calls.unwrap_or(1),
        _ => 0,
    };
    Ok(Heard {
        conversation: conversation.filter(|_| !in_subagent),
        signs,
        tool_calls,
        may_reply: !in_subagent && is_read_in_turn(event),
        is_partial: !is_whole,
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

fn notified(kind: Option<&str>) -> Vec<Sign> {
    match kind {
        Some("worker_permission_prompt") => vec![Sign::Waits(Wait::Permission)],
        // A reminder, a minute after the turn: why that turn ended is known better.
        Some("idle_prompt") => vec![Sign::StillIdle],
        Some("elicitation_dialog") => vec![Sign::Waits(Wait::Answer)],
        // `permission_prompt` also comes for a question, and seconds after the request that said so.
        Some(_) | None => Vec::new(),
    }
}

fn failed(fields: &Fields) -> Wait {
    match fields.text("error") {
        Some("rate_limit") => {
            Wait::LimitReached(fields.text("last_assistant_message").and_then(reset))
        }
        Some(_) | None => Wait::Failure,
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
    tool_calls: Option<u32>,
}

/// Others can be as long as a file that was written.
const TEXTS: [&str; 7] = [
    "session_id",
    "agent_id",
    "source",
    "tool_name",
    "notification_type",
    "error",
    "last_assistant_message",
];

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
                    self.0.texts.push((name, text));
                }
            } else if name == "tool_calls" {
                let calls: Vec<IgnoredAny> = map.next_value()?;
                self.0.tool_calls = u32::try_from(calls.len()).ok();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
