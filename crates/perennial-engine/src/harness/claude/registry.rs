//! `sessions/<pid>.json` of the vendor's directory: busy, idle or waiting, also for what no hook
//! tells (an interrupt by Esc). Undocumented: another opinion, never the only one.

use perennial_core::observation::{Sign, Wait};
use serde::Deserialize;

use super::bounded;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    status: String,
    waiting_for: Option<String>,
}

/// What the file says; `None` for what is torn or not known.
pub fn registry(input: &[u8]) -> Option<Sign> {
    let entry: Entry = serde_json::from_slice(bounded(input)).ok()?;
    match (entry.status.as_str(), entry.waiting_for.as_deref()) {
        ("busy", _) => Some(Sign::TurnBegan),
        ("idle", _) => Some(Sign::Waits(Wait::Input)),
        ("waiting", Some("permission prompt" | "sandbox request" | "worker request")) => {
            Some(Sign::Waits(Wait::Permission))
        }
        ("waiting", Some("input needed" | "goal proposal")) => Some(Sign::Waits(Wait::Answer)),
        // A dialog that a person opened, or one that is not known yet: somebody is needed.
        ("waiting", _) => Some(Sign::Waits(Wait::Input)),
        _ => None,
    }
}
