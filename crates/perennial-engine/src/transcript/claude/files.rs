//! Where the files of conversations are.
//!
//! Lists, and reads none of them. Links are not followed, and depth is bounded.

use std::fs;
use std::path::{Path, PathBuf};

/// Subagents may be sorted into directories below theirs, so deep.
const SUBAGENT_DEPTH: usize = 4;

/// One file of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    /// The vendor's id.
    pub conversation: String,
    /// Written by a subagent of the conversation.
    pub is_subagent: bool,
}

/// All files of all conversations below a `projects` directory, conversations in the order in
/// which they were begun: a fork comes after its original. What can't be listed is left out.
pub fn files(projects: &Path) -> Vec<File> {
    let mut conversations: Vec<_> = entries(projects)
        .flat_map(|directory| entries(&directory).collect::<Vec<_>>())
        .filter(|path| is_transcript(path))
        .map(|path| {
            let found = fs::metadata(&path);
            (found.and_then(|found| found.created().or_else(|_| found.modified())).ok(), path)
        })
        .collect();
    conversations.sort();
    conversations.into_iter().flat_map(|(_, path)| with_subagents(path)).collect()
}

fn with_subagents(path: PathBuf) -> Vec<File> {
    let conversation =
        path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let subagents = subagents(&path);
    let file = |path, is_subagent| File { path, conversation: conversation.clone(), is_subagent };
    let own = [file(path, false)];
    own.into_iter().chain(subagents.into_iter().map(|path| file(path, true))).collect()
}

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

/// What is in a directory, links aside; nothing if it is none.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_own = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
    entries.filter(is_own).map(|entry| entry.path())
}

fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}
