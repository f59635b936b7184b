//! The vendors' wires. Each reads its requests into [`crate::Request`] and speaks a
//! [`crate::Turn`]; nothing else of the crate knows a vendor.
//!
//! Anthropic Messages for now. OpenAI Responses and Gemini would be two more modules with the same
//! three functions: `read`, `itself` (how a side request is answered) and `reply`.

pub mod anthropic;

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

/// A text in pieces of so many characters.
fn pieces(text: &str, chunk: std::num::NonZeroUsize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(chunk.get()).map(|piece| piece.iter().collect()).collect()
}
