//! The items of an answer on OpenAI's wire: what the model thought, said and called, each as it
//! begins, in its pieces and whole.

use serde_json::{Value, json};

use super::side;
use crate::ids::Ids;
use crate::request::Request;
use crate::turn::{ToolCall, Turn};
use crate::wire::pieces;

/// Opaque to clients; they only send it back.
const ENCRYPTED: &str = "dW5kZXJzdHVkeQ==";

/// One item. Its text is given whole; the client hears it in pieces.
#[derive(Debug)]
pub struct Item {
    id: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Reasoning {
        summary: String,
    },
    Message {
        text: String,
    },
    /// A call whose input is JSON.
    Function {
        call: Call,
        arguments: String,
    },
    /// A call whose input is free text, such as a patch or a program.
    Custom {
        call: Call,
        input: String,
    },
    /// A search among the tools that were not offered; the client makes it.
    ToolSearch {
        id: String,
        arguments: Value,
    },
    /// The conversation, compacted.
    Compaction {
        summary: String,
    },
}

#[derive(Debug)]
struct Call {
    id: String,
    namespace: Option<String>,
    name: String,
}

/// An event of the stream, without its number; and whether it is a piece of what the model says.
pub type Event = (Value, bool);

/// `answer`: what the answer is known by; it is in the id of each of its items.
pub fn items(turn: &Turn, request: &Request, answer: &str, ids: &Ids) -> Vec<Item> {
    let thinking = turn.thinking.iter().map(|text| Kind::Reasoning { summary: text.clone() });
    let text = turn.text.iter().map(|text| Kind::Message { text: text.clone() });
    let tools = turn.tools.iter().map(|tool| call(tool, ids));
    let kinds: Vec<Kind> = if side::wants_item(request) {
        vec![Kind::Compaction { summary: turn.text.clone().unwrap_or_default() }]
    } else {
        thinking.chain(text).chain(tools).collect()
    };
    let item = |(number, kind): (usize, Kind)| {
        let what = match &kind {
            Kind::Reasoning { .. } => "rs",
            Kind::Message { .. } => "msg",
            Kind::Function { .. } => "fc",
            Kind::Custom { .. } => "ctc",
            Kind::ToolSearch { .. } => "tsc",
            Kind::Compaction { .. } => "cmp",
        };
        Item { id: format!("{what}_{answer}_{number}"), kind }
    };
    kinds.into_iter().enumerate().map(item).collect()
}

fn call(ToolCall { name, input, id }: &ToolCall, ids: &Ids) -> Kind {
    let id = id.clone().unwrap_or_else(|| ids.next("call"));
    if name == "tool_search" {
        return Kind::ToolSearch { id, arguments: input.clone() };
    }
    let (namespace, name) = match name.split_once('.') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name.to_owned()),
        None => (None, name.clone()),
    };
    let call = Call { id, namespace, name };
    match input.as_str() {
        Some(text) => Kind::Custom { call, input: text.into() },
        None => Kind::Function { call, arguments: input.to_string() },
    }
}

impl Item {
    pub fn whole(&self) -> Value {
        let text = match &self.kind {
            Kind::Reasoning { summary } | Kind::Compaction { summary } => summary,
            Kind::Message { text } => text,
            Kind::Function { arguments, .. } => arguments,
            Kind::Custom { input, .. } => input,
            Kind::ToolSearch { .. } => "",
        };
        self.with(text, "completed")
    }

    /// What the client hears of it, from its beginning to its end.
    pub fn events(&self, index: usize, turn: &Turn) -> Vec<Event> {
        let added = json!({ "type": "response.output_item.added", "output_index": index,
            "item": self.with("", "in_progress") });
        let done = json!({ "type": "response.output_item.done", "output_index": index,
            "item": self.whole() });
        let mut events = vec![(added, false)];
        events.extend(self.inner(turn).into_iter().map(|(mut event, is_piece)| {
            event["item_id"] = self.id.as_str().into();
            event["output_index"] = index.into();
            (event, is_piece)
        }));
        events.push((done, false));
        events
    }

    fn with(&self, text: &str, status: &str) -> Value {
        let is_begun = status == "in_progress";
        let mut item = match &self.kind {
            Kind::Reasoning { .. } => {
                let summary = json!([{ "type": "summary_text", "text": text }]);
                let summary = if is_begun { json!([]) } else { summary };
                return json!({ "type": "reasoning", "id": self.id, "summary": summary,
                    "encrypted_content": ENCRYPTED });
            }
            Kind::Compaction { .. } => {
                return json!({ "type": "compaction", "id": self.id, "encrypted_content": text });
            }
            Kind::Message { .. } => {
                let content = if is_begun { json!([]) } else { json!([output_text(text)]) };
                json!({ "type": "message", "role": "assistant", "content": content })
            }
            Kind::Function { call, .. } => {
                let mut item = call.item("function_call");
                item["arguments"] = text.into();
                item
            }
            Kind::Custom { call, .. } => {
                let mut item = call.item("custom_tool_call");
                item["input"] = text.into();
                item
            }
            Kind::ToolSearch { id, arguments } => json!({ "type": "tool_search_call",
                "call_id": id, "execution": "client", "arguments": arguments }),
        };
        item["id"] = self.id.as_str().into();
        item["status"] = status.into();
        item
    }

    /// The events between the item's beginning and its end.
    fn inner(&self, turn: &Turn) -> Vec<Event> {
        let said = |what: &str, at: &Value, text: &str| -> Vec<Event> {
            let event = |suffix: &str, key: &str, text: &str| {
                let mut event = at.clone();
                event["type"] = format!("response.{what}.{suffix}").into();
                event[key] = text.into();
                event
            };
            let pieces = pieces(text, turn.chunk_chars.0);
            let deltas = pieces.iter().map(|piece| (event("delta", "delta", piece), true));
            let key = match what {
                "function_call_arguments" => "arguments",
                "custom_tool_call_input" => "input",
                _ => "text",
            };
            deltas.chain([(event("done", key, text), false)]).collect()
        };
        // A text stands in a part, which begins and ends as well.
        let within = |what: &str, at: &Value, part: &dyn Fn(&str) -> Value, text: &str, said| {
            let event = |suffix: &str, text: &str| {
                let mut event = at.clone();
                event["type"] = format!("response.{what}.{suffix}").into();
                event["part"] = part(text);
                vec![(event, false)]
            };
            [event("added", ""), said, event("done", text)].concat()
        };
        match &self.kind {
            Kind::Reasoning { summary } => {
                let at = json!({ "summary_index": 0 });
                let said = said("reasoning_summary_text", &at, summary);
                let part = |text: &str| json!({ "type": "summary_text", "text": text });
                within("reasoning_summary_part", &at, &part, summary, said)
            }
            Kind::Message { text } => {
                let at = json!({ "content_index": 0 });
                let said = said("output_text", &at, text);
                within("content_part", &at, &output_text, text, said)
            }
            Kind::Function { arguments, .. } => {
                said("function_call_arguments", &json!({}), arguments)
            }
            Kind::Custom { input, .. } => said("custom_tool_call_input", &json!({}), input),
            Kind::ToolSearch { .. } | Kind::Compaction { .. } => Vec::new(),
        }
    }
}

impl Call {
    fn item(&self, kind: &str) -> Value {
        let mut item = json!({ "type": kind, "call_id": self.id, "name": self.name });
        if let Some(namespace) = &self.namespace {
            item["namespace"] = namespace.as_str().into();
        }
        item
    }
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}
