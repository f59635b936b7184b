//! Gemini: `POST /v1beta/models/MODEL:streamGenerateContent`, `:generateContent` and `:countTokens`,
//! as Gemini CLI 0.61.0 uses them.
//!
//! Lenient in what it reads (unknown fields and parts are no error), exact in what it says. A stream
//! is always one of server-sent events; the JSON array that the API has without `alt=sse` is not
//! spoken.

mod read;
mod say;
mod side;

pub use read::read;
pub use say::{refusal, reply};
pub use side::itself;

use serde_json::json;

use super::{Reply, whole};

/// What the address asks for: `MODEL:METHOD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub model: String,
    pub method: Method,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Stream,
    Generate,
    CountTokens,
}

impl Call {
    /// None if the method is not one that is spoken here.
    pub fn parse(address: &str) -> Option<Call> {
        let (model, method) = address.rsplit_once(':')?;
        let method = match method {
            "streamGenerateContent" => Method::Stream,
            "generateContent" => Method::Generate,
            "countTokens" => Method::CountTokens,
            _ => return None,
        };
        Some(Call { model: model.into(), method })
    }
}

/// About four bytes make a token: near enough for a client that plans ahead.
pub fn count(bytes: usize) -> Reply {
    whole(200, &json!({ "totalTokens": bytes.div_ceil(4) }))
}
