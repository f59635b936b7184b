//! Whether the client could take a conversation up again: it resumes a file only if something is left in it
//! that was said, by its own measure.
//!
//! Every start, a resume included, leaves a file with the client's own words first, and some never get more.
//! A history that is written anew takes the place of what was said before: a first prompt that was cancelled
//! is gone with it. Lines that are no JSON are passed over, as the client does; what is of a form that is not
//! known counts as said.

use std::collections::BTreeMap;

use super::content;
use super::line::Line;
use crate::transcript::field::Name;
use crate::transcript::step::StepId;
use crate::transcript::tail::lines;

/// Whether a whole transcript holds something that the client resumes, or did so before a resume that was
/// cut off.
pub fn is_begun(transcript: &[u8]) -> bool {
    let mut history = History::default();
    lines(&transcript[..cut_off_at(transcript).unwrap_or(transcript.len())])
        .for_each(|line| history.take(line));
    history.is_resumable()
}

/// Where a resume begins that was cut off. Within a minute the client goes on in the same file: it writes a
/// beginning with its own words only, and the conversation's history a second later. Killed in between, it
/// finds no conversation there any more.
pub fn cut_off_at(transcript: &[u8]) -> Option<usize> {
    let whole = memchr::memrchr(b'\n', transcript).map_or(0, |end| end + 1);
    let mut history = History::default();
    let (mut at, mut was_resumable, mut begins_anew) = (0, false, None);
    for line in transcript[..whole].split_inclusive(|byte| *byte == b'\n') {
        if was_resumable && is_beginning(line) {
            begins_anew = begins_anew.or(Some(at));
        }
        history.take(line);
        if begins_anew.is_none() {
            was_resumable = history.is_resumable();
        } else if brings_something(line) {
            (was_resumable, begins_anew) = (true, None);
        }
        at += line.len();
    }
    begins_anew
}

fn is_beginning(line: &[u8]) -> bool {
    let line: Result<Line<'_>, _> = serde_json::from_slice(line);
    line.is_ok_and(|line| line.session_id.is_some() && line.set.is_none() && line.kind.is_none())
}

fn brings_something(line: &[u8]) -> bool {
    let mut alone = History::default();
    alone.take(line);
    alone.is_resumable()
}

/// What the conversation holds after some of its lines, as the client reads them.
#[derive(Debug, Default)]
struct History {
    /// Messages in their order.
    order: Vec<StepId>,
    resumable: BTreeMap<StepId, bool>,
    /// There is something that nobody here understands.
    is_in_doubt: bool,
}

impl History {
    fn is_resumable(&self) -> bool {
        self.is_in_doubt || self.resumable.values().any(|is| *is)
    }

    fn take(&mut self, line: &[u8]) {
        let Ok(parsed) = serde_json::from_slice::<Line<'_>>(line) else {
            // What is JSON and yet not understood is of a form that is not known.
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
            self.is_in_doubt |= is_json;
            return;
        };
        if let Some(set) = &parsed.set {
            if let Some(messages) = &set.messages {
                self.forget(0);
                messages.iter().for_each(|raw| match serde_json::from_str(raw.get()) {
                    Ok(message) => self.add(&message),
                    Err(_) => self.is_in_doubt = true,
                });
            }
        } else if let Some(first) = &parsed.rewind_to {
            let first = StepId::of(first.as_str());
            self.forget(self.order.iter().position(|id| *id == first).unwrap_or(0));
        } else if parsed.id.is_some() {
            self.add(&parsed);
        } else {
            self.is_in_doubt |= parsed.session_id.is_none();
        }
    }

    fn forget(&mut self, from: usize) {
        for id in self.order.drain(from..) {
            self.resumable.remove(&id);
        }
    }

    fn add(&mut self, message: &Line<'_>) {
        let Some(id) = message.id.as_ref().map(|id| StepId::of(id.as_str())) else { return };
        if self.resumable.insert(id, is_resumed(message)).is_none() {
            self.order.push(id);
        }
    }
}

/// Whether the client takes a conversation up for the sake of this message. In doubt it does.
fn is_resumed(message: &Line<'_>) -> bool {
    let has_some = |raw: Option<&serde_json::value::RawValue>| {
        raw.is_some_and(|raw| !matches!(raw.get().trim(), "null" | "[]" | ""))
    };
    match message.kind.as_ref().map(Name::as_str) {
        Some("user") => content::is_resumed_prompt(message).unwrap_or(true),
        Some("gemini") => {
            let says = content::text(message).map_or(true, |text| !text.trim().is_empty());
            says || has_some(message.tool_calls) || has_some(message.thoughts)
        }
        // Notes of the client are shown to a person only.
        Some("info" | "warning" | "error") => false,
        Some(_) | None => true,
    }
}
