//! Claude Code: what its hooks, its status line and its registry of live sessions mean, and the
//! form of an answer that reaches its model. Measured with 2.1.325.
//!
//! Its input is hostile: the agent's own processes can write it. It is cut at `INPUT_BYTES`, what
//! breaks off is read as far as it goes, and fields that nobody knows are passed over.

mod hook;
mod registry;
pub(super) mod settings;
mod status_line;

pub use hook::{Call, hook, reply};
pub use registry::{Listing, registry};
pub use status_line::status_line;

/// Of one input no more than this is read.
pub const INPUT_BYTES: usize = 1 << 20;

/// An input that is not what the vendor writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotUnderstood {
    #[error("not a JSON object")]
    NotAnObject,
    #[error("it names no conversation")]
    NoConversation,
}

fn bounded(input: &[u8]) -> &[u8] {
    &input[..input.len().min(INPUT_BYTES)]
}
