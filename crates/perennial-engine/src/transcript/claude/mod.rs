//! The lines of Claude Code: `<projects>/<directory>/<conversation>.jsonl`.
//!
//! The format is the vendor's own and moves: what is not known is ignored and counted, what is
//! broken is counted as damage, and nothing is guessed.
//!
//! Facts that shape the reader (measured with versions 2.1.38, 2.1.39 and 2.1.325)
//! - Each content block of a message has a line of its own, all with the same message id; the
//!   first lines may hold a preliminary count of output.
//! - Lines form a tree: going back writes nothing, the next line hangs off an older one.
//! - A fork is a copy, with the same ids for lines and messages.
//! - `<synthetic>` messages come from the CLI, not from a model.
//! - Text may hold half a surrogate pair, where the CLI cut a string within a character.

mod begun;
mod content;
mod failure;
mod files;
mod line;
mod model_name;
mod reader;
mod tree;
mod usage;

pub use begun::is_begun;
pub use failure::THRASHING;
pub use files::{subagent_directories, subagents};
pub use model_name::model_name;
pub use reader::Reader;
pub use usage::usages;

/// The name that the CLI writes where no model spoke.
const SYNTHETIC: &str = "<synthetic>";
