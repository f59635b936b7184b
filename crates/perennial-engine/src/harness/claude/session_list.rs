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
    status: Option<String>,
    status_updated_at: Option<u64>,
    waiting_for: Option<String>,
}

/// What the file says; `None` for what is torn. The vendor writes it first without a status.
pub fn listing(input: &[u8]) -> Option<Listing> {
    let entry: Entry = serde_json::from_slice(bounded(input)).ok()?;
    let process = Process { pid: entry.pid, start_ticks: entry.proc_start.parse().ok()? };
    let conversation: Option<ConversationId> =
        entry.session_id.as_ref().and_then(|id| id.parse().ok());
    let since = entry.status_updated_at.and_then(|at| at.checked_mul(1000)).map(Time);
    let fact = listed(&entry).zip(since).map(|(listed, since)| {
        let fact = Fact::new(Origin::List, Seen::Listed(listed));
        fact.within(conversation.clone()).at(Some(since))
    });
    Some(Listing { process, conversation, fact })
}

fn listed(entry: &Entry) -> Option<Listed> {
    match (entry.status.as_deref()?, entry.waiting_for.as_deref()) {
        ("busy", _) => Some(Listed::Busy),
        ("idle", _) => Some(Listed::Idle),
        ("waiting", Some("permission prompt" | "sandbox request" | "worker request")) => {
            Some(Listed::Permission)
        }
        ("waiting", Some("dialog open")) => Some(Listed::Menu),
        // For what is not known yet, but for somebody.
        ("waiting", _) => Some(Listed::Question),
        _ => None,
    }
}
