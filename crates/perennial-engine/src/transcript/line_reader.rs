//! What turns the lines of one transcript into steps: the port, and what every reader tells besides.
//!
//! Called once for each line, never for each byte; a line is borrowed, not copied.

use std::fmt;

use super::step::Step;

/// Reads the lines of one transcript in their order.
pub trait LineReader: fmt::Debug + Send {
    fn read(&mut self, line: &[u8], each: &mut dyn FnMut(Step));

    /// The file begins anew. What was told stays told.
    fn restart(&mut self);

    /// A line was left out because of its length.
    fn oversized(&mut self);

    /// What was read since the beginning of the file.
    fn notes(&self) -> Notes;

    fn context(&self) -> ContextUse;

    /// How much the window holds, where the transcript says so.
    fn window(&self) -> Option<u64> {
        None
    }
}

/// What was read, since the beginning of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notes {
    pub lines: u64,
    /// Of a kind that the reader has never heard of.
    pub unknown: u64,
    /// Cut, broken, over the limit, or saying what can't be.
    pub damaged: u64,
}

/// How much of the context is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextUse {
    /// No answer yet.
    Unknown,
    /// As the model counted it with its last answer.
    Measured { tokens: u64 },
    /// Compacted, and no answer since; the tokens are the CLI's own estimate.
    Compacted { tokens: Option<u64> },
}
