//! `signals/<time>-<source>-<target>-<kind>.json`: one file for each signal, the newest ones only. Signals that have all of
//! this in common are numbered: `…-<kind>-2.json`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use perennial_core::time::Time;
use serde_json::{Map, Value, json};

use super::directory::MirrorDirectory;
use crate::timestamp::{rfc3339, rfc3339_seconds};

pub(super) const DIRECTORY: &str = "signals";

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
    /// A new file's name in the directory of a path; the oldest beyond the limit go. Nothing if a file has this signal
    /// already.
    pub fn place(
        &mut self,
        (path, directory): (&Path, &MirrorDirectory),
        page: &SignalPage,
        text: &str,
    ) -> io::Result<Option<String>> {
        let names = match self.names.entry(path.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(listed(directory)?),
        };
        let mut name = file_name(page, 1);
        for number in 2.. {
            if !names.contains(&name) {
                break;
            }
            let written = directory.read_text(&name, text.len() as u64);
            if written.is_ok_and(|written| written == text) {
                return Ok(None);
            }
            name = file_name(page, number);
        }
        names.insert(name.clone());
        while names.len() > KEPT
            && let Some(oldest) = names.pop_first()
        {
            let _ = directory.remove(&oldest);
        }
        Ok(Some(name))
    }
}

fn listed(directory: &MirrorDirectory) -> io::Result<BTreeSet<String>> {
    Ok(directory.names()?.into_iter().filter(|name| name.ends_with(".json")).collect())
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
        let (text, path) = (text(page), directory.join(DIRECTORY));
        let open = MirrorDirectory::make(directory, &path).expect("made");
        let name = files.place((&path, &open), page, &text).expect("placed")?;
        open.replace(&name, &text).expect("written");
        Some(name)
    }

    #[test]
    fn a_pipe_under_the_name_of_a_signal_is_no_signal() {
        let directory = tempfile::tempdir().expect("a directory");
        let signals = directory.path().join(DIRECTORY);
        std::fs::create_dir(&signals).expect("made");
        let pipe = signals.join(file_name(&page(0), 1));
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RUSR).expect("a pipe");
        let (told, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            told.send(put(&mut SignalFiles::default(), directory.path(), &page(0)))
        });
        let name = heard.recv_timeout(std::time::Duration::from_secs(20)).expect("no wait");
        assert!(name.is_some_and(|name| name.ends_with("-2.json")));
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
        let left = MirrorDirectory::open(directory.path(), &directory.path().join(DIRECTORY));
        let left = listed(&left.expect("open")).expect("listed");
        assert_eq!(left.len(), KEPT);
        assert!(
            left.iter().all(|name| name.contains("-______etc_passwd-b_b-GUIDANCE")),
            "{left:?}"
        );
    }
}
