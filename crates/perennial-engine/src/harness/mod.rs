//! Agent CLIs: how each is started, resumed and read, so that the rest need not know which one runs.
//!
//! `preset` says in data what a harness is started with; `prepare` makes a session's argv,
//! environment and files of it; `dialect` is the port to one vendor's words, `vendors` lists those
//! that are built in, each in a directory of its own; `session_texts` are our own texts; `typing`
//! makes of a text what can be typed into an input line, which `input` describes. The owner's files
//! are read and never written, but for a lost conversation that is put back. `conformance` says how a
//! harness is run with a scripted model.
//!
//! Invariants
//! - A1  An argv is a list from beginning to end; no text of a person or a model meets a shell.
//! - A2  What a harness tells is bounded before it is read, and never a reason to panic.

pub mod announcement;
pub mod claude;
pub mod codex;
pub mod conformance;
pub mod conversation;
pub mod copies;
pub mod dialect;
pub mod fork;
pub mod gemini;
pub mod handoff_texts;
mod hook_fields;
pub mod input;
pub mod mail_texts;
pub mod open_conversations;
pub mod path_rule;
pub mod plain;
pub mod prepare;
pub mod preset;
pub mod round_texts;
pub mod session_texts;
pub mod template;
pub mod typing;
pub mod vendors;

pub use dialect::Dialect;
pub use prepare::{FirstWords, Prepared, SessionFiles, Unprepared, prepare};
pub use preset::{Preset, PresetError};
