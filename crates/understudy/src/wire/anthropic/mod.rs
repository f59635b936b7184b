//! Anthropic Messages: `POST /v1/messages` and `/v1/messages/count_tokens`.
//!
//! Lenient in what it reads (unknown fields and blocks are no error), exact in what it says.

mod read;
mod say;
mod side;

pub use read::read;
pub use say::{refusal, reply};
pub use side::itself;

use serde_json::json;

use super::{Frame, Reply};

/// Which of the two addresses a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    Messages,
    CountTokens,
}

/// About four bytes make a token: near enough for a client that plans ahead.
pub fn count(bytes: usize) -> Reply {
    let text = json!({ "input_tokens": bytes.div_ceil(4) }).to_string();
    let frames = vec![Frame { text, is_piece: false }];
    Reply { status: 200, content_type: "application/json", frames }
}
