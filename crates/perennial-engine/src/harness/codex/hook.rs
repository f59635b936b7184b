//! What one call of a hook says, as a fact, and how to answer it.

use std::fmt;

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{CallName, Fact, Origin, Seen};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::harness::dialect::{Call, NotUnderstood, bounded};
use crate::harness::typing::{fingerprint, older_fingerprint};
use crate::transcript::step::{EXCERPT_BYTES, ID_BYTES};

/// The program's word at the end of a turn. Also for a conversation of its own in which it makes up a
/// title: so it says nothing but that there is something to read.
const NOTIFIED: &str = "notify";
/// The tool by which the model asks its person.
const QUESTION: &str = "request_user_input";

pub fn hook(event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
    let (fields, is_whole) = Fields::read(input)?;
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
        conversation,
        is_answerable: is_read_in_turn(event),
        ..Fact::new(Origin::Hook, seen)
    });
    Ok(Call { fact, is_partial })
}

fn seen(event: &str, fields: &Fields) -> Option<Seen> {
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
        "PostCompact" => Seen::Compacted,
        _ => return None,
    })
}

/// The text as the answer to this event, in the form that reaches the model; `None` if none does. At
/// the end of a turn only a refusal to end would.
pub fn reply(event: &str, text: &str) -> Option<Vec<u8>> {
    let specific = json!({ "hookEventName": event, "additionalContext": text });
    let reply = json!({ "hookSpecificOutput": specific });
    is_read_in_turn(event).then(|| reply.to_string().into_bytes())
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

/// The fields that are of use.
#[derive(Debug, Default)]
struct Fields(Vec<(String, String)>);

/// Others can be as long as a file that was written.
const TEXTS: [&str; 5] = ["session_id", "source", "prompt", "tool_name", "tool_use_id"];

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
        self.0.push((name, text));
    }

    fn text(&self, name: &str) -> Option<&str> {
        let named = |pair: &&(String, String)| pair.0 == name;
        self.0.iter().find(named).map(|(_, text)| text.as_str())
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
            if !TEXTS.contains(&name.as_str()) {
                map.next_value::<IgnoredAny>()?;
            } else if let Value::String(text) = map.next_value()? {
                self.0.keep(name, text);
            }
        }
        Ok(())
    }
}
