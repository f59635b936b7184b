//! `sessions/<pid>.json` of the vendor's directory: busy, idle or waiting, also for what no hook
//! tells (an interrupt by Esc, a permission just given). Undocumented: another opinion, never the
//! only one.

use perennial_core::observation::Wait;
use perennial_core::session::Process;
use perennial_core::time::Time;
use serde::Deserialize;

use super::bounded;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    pid: i32,
    proc_start: String,
    status: String,
    status_updated_at: u64,
    waiting_for: Option<String>,
}

/// One line of the vendor's list of live sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing {
    pub process: Process,
    /// `None`: it is in a turn.
    pub wait: Option<Wait>,
    pub since: Time,
}

/// What the file says; `None` for what is torn, not known, or does not say it yet.
pub fn registry(input: &[u8]) -> Option<Listing> {
    let entry: Entry = serde_json::from_slice(bounded(input)).ok()?;
    let wait = match (entry.status.as_str(), entry.waiting_for.as_deref()) {
        ("busy", _) => None,
        ("idle", _) => Some(Wait::Input),
        ("waiting", Some("permission prompt" | "sandbox request" | "worker request")) => {
            Some(Wait::Permission)
        }
        ("waiting", Some("input needed" | "goal proposal")) => Some(Wait::Answer),
        // A person opened it, and knows.
        ("waiting", Some("dialog open")) => return None,
        // For what is not known yet, but for somebody.
        ("waiting", _) => Some(Wait::Answer),
        _ => return None,
    };
    let process = Process { pid: entry.pid, start_ticks: entry.proc_start.parse().ok()? };
    Some(Listing { process, wait, since: Time(entry.status_updated_at.checked_mul(1000)?) })
}
