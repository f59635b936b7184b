//! Whether anything of a conversation was written: every start, a resume included, leaves a file with the
//! client's own words first, and some never get more. The client resumes no such file.
//!
//! In doubt it was begun.

use super::content;
use super::line::Line;
use super::usage::Damaged;
use crate::transcript::field::Name;
use crate::transcript::tail::lines;

/// Whether a whole transcript holds something of a conversation.
pub fn is_begun(transcript: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', transcript).map_or(0, |end| end + 1);
    lines(&transcript[..whole]).any(|line| holds(line).unwrap_or(true))
}

fn holds(line: &[u8]) -> Result<bool, Damaged> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| Damaged)?;
    if let Some(set) = &line.set {
        let messages = set.messages.iter().flatten();
        let said = messages.map(|raw| {
            let message: Line<'_> = serde_json::from_str(raw.get()).map_err(|_| Damaged)?;
            is_said(&message)
        });
        return said.into_iter().try_fold(false, |any, said| Ok(any || said?));
    }
    match line.kind {
        Some(_) => is_said(&line),
        None => Ok(line.session_id.is_none() && line.rewind_to.is_none()),
    }
}

fn is_said(message: &Line<'_>) -> Result<bool, Damaged> {
    match message.kind.as_ref().map(Name::as_str) {
        Some("user") => Ok(content::of_person(message)?.is_some()),
        // Notes of the client are shown to a person only.
        Some("info" | "warning" | "error") => Ok(false),
        Some(_) | None => Ok(true),
    }
}
