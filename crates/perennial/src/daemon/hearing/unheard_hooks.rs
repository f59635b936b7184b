//! Hooks that no daemon heard: they failed open, and are counted when a daemon comes back.
//!
//! What they said is gone; that they were called is told once, in the log and by `doctor`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use perennial_api::home::HOOKS_MISSED_BYTES_MAX;
use perennial_engine::regular_file::{self, Links};
use serde::Deserialize;

/// What is read of the file at the most. Hooks that write at the same time may pass the limit, each by
/// one line.
const LONGEST: u64 = 2 * HOOKS_MISSED_BYTES_MAX;

#[derive(Deserialize)]
struct Missed {
    #[serde(default)]
    session: String,
}

/// Takes the file away and says how many calls of which session it holds.
pub fn take(path: &Path) -> Vec<String> {
    let counted = match regular_file::open(path, Links::Refuse) {
        Ok(file) => count(BufReader::new(file.take(LONGEST))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            tracing::warn!(%error, "the note of missed hooks can't be read");
            return Vec::new();
        }
    };
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(%error, "the note of missed hooks can't be taken away");
    }
    let told = |(session, calls): (String, u64)| {
        let session: String = session.chars().filter(|c| !c.is_control()).take(64).collect();
        format!("{calls} hook calls of session {session} were lost because no daemon was running")
    };
    counted.into_iter().map(told).collect()
}

fn count(lines: impl BufRead) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    for line in lines.split(b'\n').map_while(Result::ok) {
        if let Ok(missed) = serde_json::from_slice::<Missed>(&line) {
            *counted.entry(missed.session).or_default() += 1;
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_calls_are_told_once_by_session() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missed");
        assert_eq!(take(&path), Vec::<String>::new());
        let line = |session| format!("{{\"event\":\"Stop\",\"session\":\"{session}\"}}\n");
        std::fs::write(&path, line("a.1") + &line("a.1") + "garbage\n" + &line("b.2")).unwrap();
        let told = take(&path);
        assert_eq!(told.len(), 2);
        let lost = "2 hook calls of session a.1 were lost because no daemon was running";
        assert_eq!(told[0], lost);
        assert_eq!(take(&path), Vec::<String>::new());
    }
}
