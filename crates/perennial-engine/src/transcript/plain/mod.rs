//! Conversations in our own form, for programs of no vendor's: a JSON object in each line, with the words
//! that `logs --json` has for a step (docs/adding-a-vendor.md).
//!
//! Lines are only added, and each has an id that no other line has, in any of the files.

mod line;
mod reader;

use std::sync::LazyLock;

use memchr::memmem::Finder;
use perennial_core::time::Time;

use self::line::Line;
use super::step::{Content, Usage};
use super::tail::lines;

pub use reader::Reader;

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));

/// Hands out the usages in whole lines; returns how many lines were damaged. Only lines that may hold
/// one are read as JSON; the others are not checked beyond their first and last byte.
pub fn usages(whole: &[u8], each: &mut dyn FnMut(Usage, Option<Time>)) -> u64 {
    let mut damaged = 0;
    for text in lines(whole) {
        let text = text.trim_ascii();
        let is_object = text.first() == Some(&b'{') && text.last() == Some(&b'}');
        let is_read = USAGE.find(text).is_none()
            || Line::read(text).is_ok_and(|line| {
                let content = line.content();
                if let Ok(Some(Content::Usage(usage))) = &content {
                    each(usage.clone(), line.time());
                }
                content.is_ok()
            });
        damaged += u64::from(!(is_object && is_read));
    }
    damaged
}

/// Whether a transcript has a whole line: whatever it says, it was said.
pub fn is_begun(transcript: &[u8]) -> bool {
    memchr::memchr(b'\n', transcript).is_some()
}
