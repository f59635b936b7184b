//! OpenAI Responses: `POST /v1/responses`, as Codex 0.166.0 uses it.
//!
//! Lenient in what it reads (unknown fields and items are no error), exact in what it says. Never
//! speaks over a websocket: the server refuses it, and the client goes on over HTTP.

mod item;
mod read;
mod say;
mod side;

pub use read::read;
pub use say::{refusal, reply};
pub use side::itself;

use serde_json::{Value, json};

/// The last item of a request that wants the conversation compacted by the server.
const COMPACTION_TRIGGER: &str = "compaction_trigger";

/// `GET /v1/models`: none but those that the client knows.
pub fn models() -> Value {
    json!({ "object": "list", "data": [], "models": [] })
}
