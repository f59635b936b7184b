//! `signals/<time>-<source>-<target>-<kind>.json`: one file for each signal, the newest ones only. Signals that have all of
//! this in common are numbered: `…-<kind>-2.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use perennial_core::time::Time;
use serde_json::{Map, Value, json};

use crate::timestamp::{rfc3339, rfc3339_seconds};

/// At most this many are kept for each project.
const KEPT: usize = 500;
const NAME_BYTES: usize = 64;

/// A signal as its file has it.
#[derive(Debug)]
pub struct SignalPage {
    pub at: Time,
    pub kind: &'static str,
    /// As what it was sent, in the seed's words.
    pub source: &'static str,
    pub target: &'static str,
    /// An agent's name, `operator` or `perennial`.
    pub from: String,
    pub to: String,
    pub payload: Map<String, Value>,
    /// The directory of a session whose last output belongs to the payload.
    pub output_of: Option<PathBuf>,
}

/// The files of each project.
#[derive(Debug, Default)]
pub(super) struct SignalFiles {
    names: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl SignalFiles {
    /// A new file's path; the oldest beyond the limit go. Nothing if a file has this signal already.
    pub fn place(&mut self, project: &Path, page: &SignalPage, text: &str) -> Option<PathBuf> {
        let directory = project.join("signals");
        let names = self.names.entry(directory.clone()).or_insert_with(|| listed(&directory));
        let mut name = file_name(page, 1);
        for number in 2.. {
            if !names.contains(&name) {
                break;
            }
            if fs::read_to_string(directory.join(&name)).is_ok_and(|written| written == text) {
                return None;
            }
            name = file_name(page, number);
        }
        names.insert(name.clone());
        while names.len() > KEPT
            && let Some(oldest) = names.pop_first()
        {
            let _ = fs::remove_file(directory.join(oldest));
        }
        Some(directory.join(name))
    }
}

fn listed(directory: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".json")).collect()
}

/// In the order of time; safe as a file's name whatever agents are called.
fn file_name(page: &SignalPage, number: u32) -> String {
    let time: String = rfc3339(page.at).chars().filter(|c| !"-:".contains(*c)).collect();
    let safe = |name: &str| -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        name.chars().map(safe).take(NAME_BYTES).collect()
    };
    let place = if number > 1 { format!("-{number}") } else { String::new() };
    format!("{time}-{}-{}-{}{place}.json", safe(&page.from), safe(&page.to), page.kind)
}

pub(super) fn text(page: &SignalPage) -> String {
    let mut payload = page.payload.clone();
    if let Some(dir) = &page.output_of {
        payload.insert("last_output".to_owned(), json!(crate::host::recording::last_output(dir)));
    }
    let page = json!({
        "timestamp": rfc3339_seconds(page.at),
        "signal_type": page.kind,
        "source": page.source,
        "target": page.target,
        "from": page.from,
        "to": page.to,
        "payload": payload,
    });
    serde_json::to_string_pretty(&page).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: u64) -> SignalPage {
        SignalPage {
            at: Time(1_700_000_000_000_000 + number),
            kind: "GUIDANCE",
            source: "guardian",
            target: "runner",
            from: "../../etc/passwd".to_owned(),
            to: "b\u{1b}b".to_owned(),
            payload: Map::new(),
            output_of: None,
        }
    }

    /// The file's name, if it is a new one.
    fn put(files: &mut SignalFiles, directory: &Path, page: &SignalPage) -> Option<String> {
        let text = text(page);
        let path = files.place(directory, page, &text)?;
        assert_eq!(path.parent(), Some(&*directory.join("signals")));
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, text).expect("written");
        path.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    /// A task and its last part may be verified by one decision: two signals, and two files.
    #[test]
    fn signals_of_one_moment_have_a_file_each() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut files = SignalFiles::default();
        let of = |node: &str| {
            let payload = Map::from_iter([("node_id".to_owned(), json!(node))]);
            SignalPage { payload, ..page(0) }
        };
        let names = ["part", "whole", "part", "whole"]
            .map(|node| put(&mut files, directory.path(), &of(node)));
        assert!(names[0].as_ref().is_some_and(|name| name.ends_with("-GUIDANCE.json")));
        assert!(names[1].as_ref().is_some_and(|name| name.ends_with("-GUIDANCE-2.json")));
        assert_eq!(names[2..], [None, None], "what is written already");
        // Nor does the next daemon write them again.
        assert_eq!(put(&mut SignalFiles::default(), directory.path(), &of("whole")), None);
    }

    #[test]
    fn names_are_safe_and_old_files_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut files = SignalFiles::default();
        for number in 0..KEPT as u64 + 3 {
            put(&mut files, directory.path(), &page(number)).expect("a new file");
        }
        let left = listed(&directory.path().join("signals"));
        assert_eq!(left.len(), KEPT);
        assert!(
            left.iter().all(|name| name.contains("-______etc_passwd-b_b-GUIDANCE")),
            "{left:?}"
        );
    }
}
