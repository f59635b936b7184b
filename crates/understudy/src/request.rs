//! What the model is asked, in a form that no vendor owns: roles, texts, tool calls and results.
//!
//! Only what was sent: nothing is added, completed or guessed here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request as a wire read it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Request {
    pub kind: Kind,
    /// The client's own id of the conversation, where it sends one.
    pub session: Option<String>,
    pub model: String,
    /// Whether the answer is wanted as a stream.
    pub stream: bool,
    pub system: Vec<String>,
    pub messages: Vec<Message>,
    /// How many of the messages, counted from the first, come from before a compaction or from the
    /// agent that started this one. A program in them does not run here.
    pub inherited: usize,
    /// The names of the tools that are offered; `NAMESPACE.NAME` where the wire has namespaces.
    pub tools: Vec<String>,
    /// How tools are described that stand for others, where the wire has such: servers are told of there.
    #[serde(skip)]
    pub descriptions: Vec<String>,
    /// The JSON schema that the answer has to fit, where the client sends one.
    pub schema: Option<Value>,
    /// Those that say something of the client.
    pub headers: BTreeMap<String, String>,
}

/// What a request is for. Only `Main` takes turns of a script, unless a turn says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The agent's own loop, a subagent's included.
    #[default]
    Main,
    /// A summary that will replace the conversation.
    Compaction,
    /// A name for the conversation.
    Title,
    /// What the person may want to type next.
    Suggestion,
    /// What the agent's last words mean: whether it is done, goes on or needs somebody.
    Classifier,
    /// Which model is to answer the prompt.
    Routing,
    /// Whether a tool call may run without asking a person.
    Review,
    /// Notes for later conversations.
    Memory,
    /// How long a prompt is.
    TokenCount,
    /// Few tools and none of the above: a probe of some sort.
    Probe,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    /// Words of the client itself, between the others.
    System,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    Thinking(String),
    /// Words that the client put in the model's mouth, for example after a crash.
    Filler(String),
    Call {
        id: String,
        name: String,
        input: Value,
    },
    Result {
        id: String,
        text: String,
        failed: bool,
    },
    /// A block that is not read: its type.
    Unread(String),
}

impl Part {
    /// The words in it that the model reads, if it has any.
    pub fn words(&self) -> Option<&str> {
        match self {
            Part::Text(text)
            | Part::Thinking(text)
            | Part::Filler(text)
            | Part::Result { text, .. } => Some(text),
            Part::Call { .. } | Part::Unread(_) => None,
        }
    }
}

impl Message {
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::words).collect::<Vec<_>>().join("\n")
    }

    /// Typed by somebody, not only results of tools.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User && self.parts.iter().any(|part| matches!(part, Part::Text(_)))
    }
}

impl Request {
    /// The newest prompt and everything after it.
    pub fn since_prompt(&self) -> &[Message] {
        let from = self.messages.iter().rposition(Message::is_prompt).unwrap_or(0);
        &self.messages[from..]
    }

    /// The newest prompt's text.
    pub fn prompt(&self) -> Option<String> {
        self.messages.iter().rfind(|message| message.is_prompt()).map(Message::text)
    }

    /// Whether the answer has to be JSON with this field.
    pub(crate) fn asks_for(&self, field: &str) -> bool {
        self.schema.as_ref().is_some_and(|schema| !schema["properties"][field].is_null())
    }

    /// Whether a tool's description has these words.
    pub fn is_described(&self, words: &str) -> bool {
        self.descriptions.iter().any(|text| text.contains(words))
    }

    /// Whether these words are anywhere in the conversation or the system texts.
    pub fn contains(&self, words: &str) -> bool {
        self.system.iter().any(|text| text.contains(words))
            || self.messages.iter().any(|message| message.text().contains(words))
    }
}
