//! `sessions/<pid>.json` of the vendor's directory: busy, idle or waiting, also for what no hook
//! tells (an interrupt by Esc, a permission just given). Undocumented: another opinion, never the
//! only one.

use perennial_core::conversation::ConversationId;
use perennial_core::fact::{Fact, Listed, Origin, Seen};
use perennial_core::session::Process;
use perennial_core::time::Time;
use serde::Deserialize;

use crate::harness::dialect::{Listing, bounded};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    pid: i32,
    session_id: Option<String>,
    proc_start: String,
    status: String,
    status_updated_at: u64,
    waiting_for: Option<String>,
}

/// What the file says; `None` for what is torn, not known, or does not say it yet.
pub fn listing(input: &[u8]) -> Option<Listing> {
    let entry: Entry = serde_json::from_slice(bounded(input)).ok()?;
    let listed = match (entry.status.as_str(), entry.waiting_for.as_deref()) {
        ("busy", _) => Listed::Busy,
        ("idle", _) => Listed::Idle,
        ("waiting", Some("permission prompt" | "sandbox request" | "worker request")) => {
            Listed::Permission
        }
        ("waiting", Some("dialog open")) => Listed::Menu,
        // For what is not known yet, but for somebody.
        ("waiting", _) => Listed::Question,
        _ => return None,
    };
    let process = Process { pid: entry.pid, start_ticks: entry.proc_start.parse().ok()? };
    let since = Time(entry.status_updated_at.checked_mul(1000)?);
    let conversation: Option<ConversationId> = entry.session_id.and_then(|id| id.parse().ok());
    let fact = Fact::new(Origin::List, Seen::Listed(listed)).within(conversation).at(Some(since));
    Some(Listing { process, fact })
}
