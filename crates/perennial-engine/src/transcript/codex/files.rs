//! What a file of a conversation says of others: the original of a fork.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use perennial_core::conversation::ConversationId;

use super::line::{Line, SessionMeta, parse};
use crate::regular_file::{self, Links};

/// The first line has the program's instructions in it, too.
const FIRST_LINE_BYTES_MAX: u64 = 4 << 20;

/// The conversation that a fork refers to: its file has none of the original's lines.
pub fn parent_of(transcript: &Path) -> Option<ConversationId> {
    let file = regular_file::open(transcript, Links::Follow).ok()?;
    let mut first = Vec::new();
    BufReader::new(file).take(FIRST_LINE_BYTES_MAX).read_until(b'\n', &mut first).ok()?;
    let line: Line<'_> = serde_json::from_slice(&first).ok()?;
    let meta: SessionMeta<'_> =
        parse(line.payload.filter(|_| line.kind == "session_meta")?).ok()?;
    meta.forked_from_id?.parse().ok()
}
