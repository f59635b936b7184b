//! Whose transcript a file is: names hold a minute and eight digits only.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use perennial_core::conversation::ConversationId;

use super::line::Line;
use crate::regular_file::{self, Links};

/// A longer first line is none that the client wrote.
const HEADER_BYTES_MAX: u64 = 16 << 10;

/// The conversation that the first line names.
pub fn conversation_of(transcript: &Path) -> Option<ConversationId> {
    let header = first_line(transcript)?;
    let line: Line<'_> = serde_json::from_slice(&header).ok()?;
    line.session_id?.as_str().parse().ok()
}

fn first_line(path: &Path) -> Option<Vec<u8>> {
    let file = regular_file::open(path, Links::Follow).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(HEADER_BYTES_MAX)).read_until(b'\n', &mut line).ok()?;
    line.ends_with(b"\n").then_some(line)
}
