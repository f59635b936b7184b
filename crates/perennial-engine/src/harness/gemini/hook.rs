//! What one call of a hook says, as a fact, and how to answer it.
//!
//! A hook is called in a moment of the vendor's choice and knows nothing of the one before: what
//! comes of a fact is for the core to say.

use std::fmt;

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{Fact, Origin, Seen};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::harness::dialect::{Call, NotUnderstood, bounded};
use crate::harness::typing::{fingerprint, older_fingerprint};
use crate::transcript::step::EXCERPT_BYTES;

/// What stands for the answer of a turn that brought none: the call failed, or was cancelled before the
/// first word. The transcript says which.
const NO_RESPONSE: &str = "[no response text]";

/// Reads what a hook was given on its standard input.
pub fn hook(event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
    let (fields, is_whole) = Fields::read(input)?;
    let conversation: Option<ConversationId> =
        fields.text("session_id").and_then(|id| id.parse().ok());
    if event == "SessionStart" && conversation.is_none() {
        return Err(NotUnderstood::NoConversation);
    }
    let prompt = fields.text("prompt").filter(|_| event == "BeforeAgent");
    let fact = seen(event, &fields).map(|seen| Fact {
        older_text: prompt.and_then(older_fingerprint),
        conversation,
        is_answerable: is_read_in_turn(event),
        ..Fact::new(Origin::Hook, seen)
    });
    Ok(Call { fact, is_partial: !is_whole })
}

fn seen(event: &str, fields: &Fields) -> Option<Seen> {
    Some(match event {
        "SessionStart" => Seen::SessionBegan(followed(fields.text("source"))),
        "BeforeAgent" => {
            Seen::PromptSubmitted { text: fingerprint(fields.text("prompt").unwrap_or_default()) }
        }
        "BeforeTool" => Seen::ToolBegan,
        "AfterTool" => Seen::ToolsFinished { calls: Vec::new(), in_subagent: false },
        "Notification" => notified(fields)?,
        "AfterAgent" if fields.text("prompt_response") == Some(NO_RESPONSE) => Seen::TurnOver,
        "AfterAgent" => Seen::ReplyEnded { background_tasks: 0 },
        _ => return None,
    })
}

/// The text as the answer to this event, in the form that reaches the model; `None` if none does. What
/// is said when a session starts is gone at its next resume.
pub fn reply(event: &str, text: &str) -> Option<Vec<u8>> {
    let specific = json!({ "hookEventName": event, "additionalContext": text });
    let reply = json!({ "hookSpecificOutput": specific });
    is_read_in_turn(event).then(|| reply.to_string().into_bytes())
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

fn notified(fields: &Fields) -> Option<Seen> {
    match (fields.text("notification_type"), fields.text("details.type")) {
        (Some("ToolPermission"), Some("ask_user")) => Some(Seen::QuestionAsked),
        (Some("ToolPermission"), _) => {
            Some(Seen::PermissionAsked { tool: fields.text("details.title").map(str::to_owned) })
        }
        (Some(_) | None, _) => None,
    }
}

/// The fields that are of use.
#[derive(Debug, Default)]
struct Fields {
    texts: Vec<(String, String)>,
}

/// Others can be as long as a file that was written.
const TEXTS: [&str; 5] = ["session_id", "source", "prompt", "prompt_response", "notification_type"];

/// Those of the details of a notification.
const DETAILS: [&str; 2] = ["type", "title"];

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
        // A prompt is recognised by all of it.
        if name != "prompt" {
            text.truncate(text.floor_char_boundary(EXCERPT_BYTES));
        }
        self.texts.push((name, text));
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
            } else if name == "details" {
                let details: Value = map.next_value()?;
                for detail in DETAILS {
                    if let Some(text) = details.get(detail).and_then(Value::as_str) {
                        self.0.keep(format!("{name}.{detail}"), text.to_owned());
                    }
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
