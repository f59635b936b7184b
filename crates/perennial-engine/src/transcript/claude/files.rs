//! Where the files of a conversation's subagents are.
//!
//! Lists, and reads none of them. Links are not followed, and depth is bounded.

use std::fs;
use std::path::{Path, PathBuf};

/// Subagents may be sorted into directories below theirs, so deep.
const SUBAGENT_DEPTH: usize = 4;

/// The files of a conversation's subagents, in the order of their names.
pub fn subagents(conversation: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![conversation.with_extension("").join("subagents")];
    for _ in 0..SUBAGENT_DEPTH {
        let paths: Vec<PathBuf> = level.iter().flat_map(|directory| entries(directory)).collect();
        let (transcripts, others): (Vec<_>, Vec<_>) =
            paths.into_iter().partition(|path| is_transcript(path));
        found.extend(transcripts);
        level = others;
    }
    found.sort();
    found
}

/// The directory of subagents, and those that they are sorted into.
pub fn subagent_directories(conversation: &Path) -> Vec<PathBuf> {
    let directory = conversation.with_extension("").join("subagents");
    let sorted = entries(&directory).filter(|path| path.is_dir()).collect::<Vec<_>>();
    sorted.into_iter().chain([directory]).collect()
}

/// What is in a directory, links aside; nothing if it is none.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_own = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
    entries.filter(is_own).map(|entry| entry.path())
}

fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}
