//! Whose transcript a file is, and where a lost one belongs: names hold a minute and eight digits only.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use perennial_core::conversation::ConversationId;

use super::line::Line;

/// A longer first line is none that the client wrote.
const HEADER_BYTES_MAX: u64 = 16 << 10;

/// A project's directory has one file with the path that it is of.
const PROJECT_ROOT: &str = ".project_root";

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header<'a> {
    start_time: &'a str,
}

/// The conversation that the first line names.
pub fn conversation_of(transcript: &Path) -> Option<ConversationId> {
    let header = first_line(transcript)?;
    let line: Line<'_> = serde_json::from_slice(&header).ok()?;
    line.session_id?.as_str().parse().ok()
}

/// The path that the client would have given to a conversation of this directory, which our copy is of;
/// `None` if the client has never worked there.
pub fn place(
    vendor_home: &Path,
    dir: &str,
    conversation: &ConversationId,
    ours: &Path,
) -> Option<PathBuf> {
    let header = first_line(ours)?;
    let header: Header<'_> = serde_json::from_slice(&header).ok()?;
    // `2026-11-17T07:46:16.121Z`; a path is made of it.
    let minute = header.start_time.get(..16)?.replace(':', "-");
    let is_minute = minute.bytes().all(|byte| byte.is_ascii_digit() || b"-T".contains(&byte));
    let digits: String = conversation.as_str().chars().take(8).collect();
    let chats = project(vendor_home, dir)?.join("chats");
    is_minute.then(|| chats.join(format!("session-{minute}-{digits}.jsonl")))
}

fn project(vendor_home: &Path, dir: &str) -> Option<PathBuf> {
    // The client names the directory as the kernel does, without links.
    let physical = fs::canonicalize(dir).ok();
    let is_it = |root: &str| root == dir || physical.as_deref() == Some(Path::new(root));
    let projects = fs::read_dir(vendor_home.join(".gemini/tmp")).ok()?;
    projects.flatten().map(|entry| entry.path()).find(|project| {
        let root = fs::read_to_string(project.join(PROJECT_ROOT));
        root.is_ok_and(|root| is_it(root.trim()))
    })
}

fn first_line(path: &Path) -> Option<Vec<u8>> {
    let file =
        File::open(path).ok().filter(|file| file.metadata().is_ok_and(|meta| meta.is_file()))?;
    let mut line = Vec::new();
    BufReader::new(file.take(HEADER_BYTES_MAX)).read_until(b'\n', &mut line).ok()?;
    line.ends_with(b"\n").then_some(line)
}
