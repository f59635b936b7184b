//! A scripted model server on loopback: real agent CLIs run against it without a network.
//!
//! ```no_run
//! use understudy::{Script, Turn, Understudy};
//!
//! let model = Understudy::start(Script::default()).unwrap();
//! model.script("alice", [Turn::tool("Bash", serde_json::json!({ "command": "ls" })).gate("lunch"),
//!     Turn::text("Nothing here.")]);
//! // Start a client with ANTHROPIC_BASE_URL set to model.url_of("alice"), then:
//! model.wait_until_held("lunch").unwrap();
//! model.release("lunch");
//! let seen = model.wait_for(|record| record.request.contains("no output"), understudy::PATIENCE);
//! ```
//!
//! One server speaks to all clients at once, each in its vendor's own way:
//!
//! | client | setting | value |
//! |---|---|---|
//! | Claude Code | `ANTHROPIC_BASE_URL` | `url_of(name)` |
//! | Codex | `base_url` of a model provider | `url_of(name)` and `/v1` |
//! | Gemini CLI | `GOOGLE_GEMINI_BASE_URL` | `url_of(name)` |
//!
//! Turns come from a program in the prompt ([`MARK`]), a script per name or session, or a script
//! for everybody ([`Script`]); `routes.rs` has the same over HTTP. It knows no model, calls nobody
//! and keeps nothing on disk.

mod gates;
mod ids;
mod inline;
mod log;
mod play;
mod prompter;
mod request;
mod routes;
mod script;
mod server;
mod time;
mod turn;
mod wire;

pub use inline::MARK;
pub use log::{Answer, End, Record};
pub use request::{Kind, Message, Part, Request, Role};
pub use script::{Script, ScriptError};
pub use server::{Late, PATIENCE, StartError, Understudy};
pub use turn::{Chunk, GateAt, Repeat, RepeatWord, ToolCall, Turn, Usage};
