//! What `doctor` says of the journal: what the daemon says, and what its file says. Reads only.

use std::path::Path;

use perennial_api::answer::Health;
use perennial_store::SqliteJournal;
use perennial_store::sqlite::Inspection;

use super::{Finding, Verdict, counted, finding, told};
use crate::daemon::showing::sentences::history::records_lost;

/// Checks the journal's file and its whole chain; `None` if there is no journal.
pub fn journal(path: &Path) -> Option<Finding> {
    if !path.exists() {
        return None;
    }
    let shown = path.display();
    let finding = match SqliteJournal::inspect(path) {
        Ok(Inspection { file_faults, records, messages, lost }) => {
            let unreadable = records.unreadable.iter().map(ToString::to_string);
            let lost = lost.map(|lost| records_lost(lost.known, lost.found));
            let messages = messages.iter().map(ToString::to_string);
            let faults = file_faults.into_iter().chain(unreadable).chain(messages).chain(lost);
            let faults = faults.collect::<Vec<_>>();
            match faults.first() {
                None => {
                    let text = format!("{shown}: all {} records are intact", records.head);
                    finding("store", Verdict::Ok, text)
                }
                Some(first) => {
                    let text = format!(
                        "{shown}: {}; the first: {first}",
                        counted(faults.len() as u64, "fault")
                    );
                    finding("store", Verdict::Fail, text)
                        .next("keep a copy of the file before you do anything else")
                }
            }
        }
        Err(error) => finding("store", Verdict::Fail, told(&error))
            .next("keep a copy of the file before you do anything else"),
    };
    Some(finding)
}

/// What the daemon says, and what its file says: a daemon reads old records when they are asked for, so their damage is
/// found by looking at all of them, whatever else is wrong.
pub fn beside_daemon(health: &Health, path: &Path) -> Vec<Finding> {
    let told = told_by(health);
    // While a file is moved away, opening the journal would put a new one in its place.
    let is_whole = health.store.read_only.is_none();
    let damage = is_whole.then(|| journal(path)).flatten();
    let damage = damage.filter(|found| found.verdict != Verdict::Ok);
    let is_sound = told.verdict == Verdict::Ok;
    let told = (!is_sound || damage.is_none()).then_some(told);
    told.into_iter().chain(damage).collect()
}

/// What unreadable records mean for agents, texts and notifications.
const UNREADABLE: &str = "affected agents are held (perennial ls --state unknown); affected texts are \
    not delivered (perennial sent, perennial unsend); affected notifications are not repeated";

/// What lost records mean for the same.
const LOST: &str = "what they said is undone: agents that may be affected are held (perennial ls --state \
    unknown), texts that waited are not delivered (perennial sent); running sessions are all listed";

fn told_by(health: &Health) -> Finding {
    let store = &health.store;
    if let Some(why) = &store.read_only {
        return finding("store", Verdict::Fail, format!("{}: read-only: {why}", store.path)).next(
            "sessions keep running; free disk space, mend the disk, put back what was moved",
        );
    }
    if let Some(lost) = &store.lost {
        let text = format!("{}: {lost}", store.path);
        return finding("store", Verdict::Warn, text).next(LOST);
    }
    if !store.unreadable.is_empty() {
        let text = format!(
            "{}: {} can't be read; the first: {}",
            store.path,
            counted(store.unreadable.len() as u64, "record"),
            store.unreadable[0]
        );
        return finding("store", Verdict::Warn, text).next(UNREADABLE);
    }
    let verdict = if store.ok { Verdict::Ok } else { Verdict::Fail };
    finding("store", verdict, store.path.clone())
}
