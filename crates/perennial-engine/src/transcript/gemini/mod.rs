//! The lines of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<minute>-<first 8 of the id>.jsonl`.
//!
//! The format is the vendor's own and moves: what is not known is ignored and counted, what is
//! broken is counted as damage, and nothing is guessed.
//!
//! Facts that shape the reader (measured with 0.61.0)
//! - A message is written again under its id, with its tool calls, when these have ended.
//! - `{"$set":{"messages":[…]}}` replaces the whole history: at the start, at a resume, after Esc, after
//!   an error (without the prompt that failed) and after a compression (the rest under new ids).
//! - What the client itself tells the model begins with `<session_context>`; after Esc in a dialog it is
//!   written once more, with the prompt in the same message.
//! - A resume begins another file under the same id, which holds that context only.
//! - Texts of hooks stand in `<hook_context>`, with `<`, `>` and `&` escaped.

mod begun;
mod content;
mod failure;
mod files;
mod line;
mod reader;
mod usage;

pub use begun::{cut_off_at, is_begun};
pub use files::conversation_of;
pub use reader::Reader;
pub use usage::usages;
