//! The vendors' wires: Anthropic Messages, OpenAI Responses and Gemini. Each reads its requests into
//! [`crate::Request`] and speaks a [`crate::Turn`]; nothing else of the crate knows a vendor.
//!
//! A wire is a module with the functions `read`, `itself` (how a side request is answered), `reply`,
//! `refusal` and, where clients ask for it, `count`. [`Endpoint`] chooses among them, and has no rule
//! of its own.

pub mod anthropic;
pub mod gemini;
pub mod openai;
mod schema;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde::Serialize;

use crate::ids::Ids;
use crate::request::{Kind, Request};
use crate::turn::Turn;

/// What the main loop hears when nothing is scripted.
const NO_LINE: &str = "The understudy has no line here.";

const STREAM: &str = "text/event-stream; charset=utf-8";

/// Where a request came to: a vendor and one of its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    Anthropic(anthropic::Path),
    OpenAi,
    Gemini(gemini::Call),
}

impl Endpoint {
    pub fn read(&self, headers: &HeaderMap, body: &[u8]) -> Result<Request, serde_json::Error> {
        match self {
            Endpoint::Anthropic(path) => anthropic::read(*path, headers, body),
            Endpoint::OpenAi => openai::read(headers, body),
            Endpoint::Gemini(call) => gemini::read(call, headers, body),
        }
    }

    /// The answer to a request that no script answers.
    pub fn itself(&self, request: &Request) -> Turn {
        match self {
            Endpoint::Anthropic(_) => anthropic::itself(request.kind),
            Endpoint::OpenAi => openai::itself(request),
            Endpoint::Gemini(_) => gemini::itself(request),
        }
    }

    /// `bytes`: how large the request was.
    pub fn reply(&self, turn: &Turn, request: &Request, bytes: usize, ids: &Ids) -> Reply {
        let is_count = request.kind == Kind::TokenCount && turn.status.is_none();
        match self {
            Endpoint::Anthropic(_) if is_count => anthropic::count(bytes),
            Endpoint::Gemini(_) if is_count => gemini::count(bytes),
            Endpoint::Anthropic(_) => anthropic::reply(turn, request, ids),
            Endpoint::OpenAi => openai::reply(turn, request, ids),
            Endpoint::Gemini(_) => gemini::reply(turn, request, ids),
        }
    }

    /// The server's own refusal, for example of a program that is not valid.
    pub fn refusal(&self, message: &str, ids: &Ids) -> Reply {
        match self {
            Endpoint::Anthropic(_) => anthropic::refusal(message, ids),
            Endpoint::OpenAi => openai::refusal(message),
            Endpoint::Gemini(_) => gemini::refusal(message),
        }
    }

    /// The header in which the vendor names each answer.
    pub fn id_header(&self) -> &'static str {
        match self {
            Endpoint::Anthropic(_) => "request-id",
            Endpoint::OpenAi | Endpoint::Gemini(_) => "x-request-id",
        }
    }
}

/// An answer, ready to be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub frames: Vec<Frame>,
}

/// As much as is said at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub text: String,
    /// A piece of what the model says, not of the frame around it.
    pub is_piece: bool,
}

/// JSON in two halves, so that there is a middle to be cut in.
fn whole(status: u16, body: &impl Serialize) -> Reply {
    let text = json_of(body);
    let middle = text.floor_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(middle);
    let frames = [first, second].map(|half| Frame { text: half.into(), is_piece: false });
    Reply { status, content_type: "application/json", frames: frames.into() }
}

/// Our own types have only string keys and finite numbers.
fn json_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("own types become JSON")
}

/// A text in pieces of this many characters.
fn pieces(text: &str, chunk: std::num::NonZeroUsize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(chunk.get()).map(|piece| piece.iter().collect()).collect()
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn chosen(headers: &HeaderMap, names: &[&str]) -> BTreeMap<String, String> {
    names.iter().filter_map(|name| Some(((*name).into(), header(headers, name)?))).collect()
}
