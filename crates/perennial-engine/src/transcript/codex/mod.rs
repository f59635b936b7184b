//! The lines of Codex: `<sessions>/YYYY/MM/DD/rollout-<time>-<conversation>.jsonl`.
//!
//! The format is the vendor's own and moves: what is not known is ignored and counted, what is
//! broken is counted as damage, and nothing is guessed.
//!
//! Facts that shape the reader (measured with 0.166.0)
//! - Lines are only added, and each has its number (`ordinal`). A resumed conversation goes on in its
//!   own file; a fork begins a file that refers to its original and copies nothing.
//! - What the model was sent stands in `response_item`, what a person saw in `item_completed`: one
//!   thing is often in both. Prompts are read from the second, where the program's own texts are not.
//! - `token_usage_record` is written when an answer ends, and has the tokens of that answer only; the
//!   input includes what came from the cache. `token_count` comes once the answer's tools have
//!   finished, and repeats. The model is named by the last `turn_context`.
//! - A call that failed for good ends its turn: `task_complete` has the error. Attempts before that
//!   leave no line.

mod begun;
mod failure;
mod files;
mod line;
mod reader;
mod usage;

pub use begun::is_begun;
pub use files::parent_of;
pub use reader::Reader;
pub use usage::usages;
