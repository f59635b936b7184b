//! The end of a conversation: what was said and done last, from the last part of its file.
//!
//! Reads a bounded part, whatever the file's length. A line that this part begins in the middle of is left out.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::step::{Content, Step};
use super::tail::lines;
use crate::briefing::{Utterance, Voice};
use crate::harness::Dialect;

/// As much of a file as is read: some fifty steps, and a millisecond's work.
const READ_BYTES: u64 = 256 << 10;
/// As many utterances as a briefing has room for.
const UTTERANCES: usize = 24;

/// The last utterances, oldest first; none if the file is not there.
pub fn recent(dialect: &dyn Dialect, path: &Path) -> io::Result<Vec<Utterance>> {
    // Nonblocking, so that a pipe in the file's place can't hold us.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok(Vec::new());
    }
    let from = found.len().saturating_sub(READ_BYTES);
    let mut bytes = vec![0; (found.len() - from) as usize];
    file.read_exact_at(&mut bytes, from)?;
    let whole = match from {
        0 => &bytes[..],
        _ => memchr::memchr(b'\n', &bytes).map_or(&[][..], |end| &bytes[end + 1..]),
    };
    let mut reader = dialect.line_reader();
    let mut all = Vec::new();
    for line in lines(whole) {
        reader.read(line, &mut |step| all.extend(utterance(step)));
    }
    Ok(all.split_off(all.len().saturating_sub(UTTERANCES)))
}

fn utterance(step: Step) -> Option<Utterance> {
    if step.is_subagent {
        return None;
    }
    let (voice, text) = match step.content {
        Content::Prompt(text) => (Voice::Prompt, text.text),
        Content::Text(text) => (Voice::Agent, text.text),
        Content::ToolCall { tool, arguments, .. } => {
            (Voice::Call, format!("{tool} {}", arguments.text))
        }
        Content::PromptBlocked { .. }
        | Content::Added(_)
        | Content::Thinking
        | Content::ToolResult { .. }
        | Content::Usage(_)
        | Content::Compaction(_)
        | Content::Error { .. }
        | Content::RateLimit { .. }
        | Content::LimitReached { .. }
        | Content::Interrupted
        | Content::ConversationChanged { .. } => return None,
    };
    Some(Utterance { voice, text })
}
