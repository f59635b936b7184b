//! Whether anything was said: a client that is killed early may leave a file with settings only, and a
//! conversation that is taken up from it would miss its first prompt.
//!
//! In doubt it was begun.

use super::line::{Event, Item, Line, ResponseItem, SessionMeta, parse};
use crate::transcript::tail::lines;

/// Whether a whole transcript holds something that was said.
pub fn is_begun(transcript: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', transcript).map_or(0, |end| end + 1);
    lines(&transcript[..whole]).any(|line| match serde_json::from_slice::<Line<'_>>(line) {
        Ok(line) => says(&line),
        Err(_) => true,
    })
}

fn says(line: &Line<'_>) -> bool {
    let Some(payload) = line.payload else { return true };
    match &*line.kind {
        // A fork begins with what its original has.
        "session_meta" => {
            parse::<SessionMeta<'_>>(payload).map_or(true, |meta| meta.forked_from_id.is_some())
        }
        "turn_context" | "world_state" => false,
        "event_msg" => match parse::<Event<'_>>(payload) {
            Ok(event) if event.kind == "item_completed" => {
                let item = event.item.and_then(|item| parse::<Item<'_>>(item).ok());
                item.is_none_or(|item| item.kind == "UserMessage")
            }
            Ok(_) => false,
            Err(_) => true,
        },
        "response_item" => match parse::<ResponseItem<'_>>(payload) {
            Ok(item) => {
                let kinds = item.origin.iter().flat_map(|origin| &origin.content_item_kinds);
                item.kind != "message" || kinds.into_iter().any(|kind| kind == "user.text")
            }
            Err(_) => true,
        },
        _ => true,
    }
}
