//! What git writes down of the moves of HEAD (`logs/HEAD`): where that is, and which lines tell of a new commit.
//!
//! Reads; writes nothing. The words are git's own, and the same in every language.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::GitError;
use super::repository::{self, Repository};
use crate::regular_file::{self, Links};

/// The moves that bring a new commit into a work tree. Others (`checkout:`, `reset:`, `clone:`) go to one that was there.
const COMMITS: [&str; 7] =
    ["commit", "merge", "revert", "cherry-pick", "am", "pull", "rebase (finish)"];
/// As much as one look reads: of more moves at once the last ones.
const READ_BYTES_MAX: u64 = 64 << 10;

/// Where the log of a work tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Whether or not it is there yet.
    pub logs: PathBuf,
    /// Git's own directory, above that.
    pub git_dir: PathBuf,
    /// The top of the work tree.
    pub work_tree: PathBuf,
}

/// Of the work tree that a directory is in.
pub fn place(of: &Path) -> Result<Place, GitError> {
    let Repository { git_dir, work_tree, .. } = repository::find(of)?;
    Ok(Place { logs: git_dir.join("logs"), git_dir, work_tree })
}

/// The log of one work tree, and how far it was read.
#[derive(Debug)]
pub struct Reflog {
    path: PathBuf,
    read: u64,
}

impl Reflog {
    /// What is there already was done by earlier sessions, or by others.
    pub fn at_end(logs: &Path) -> Reflog {
        let path = logs.join("HEAD");
        let read = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        Reflog { path, read }
    }

    /// All of it is new.
    pub fn at_beginning(logs: &Path) -> Reflog {
        Reflog { path: logs.join("HEAD"), read: 0 }
    }

    /// Whether a new commit was written down since the last look.
    pub fn has_commit(&mut self) -> io::Result<bool> {
        let mut file = regular_file::open(&self.path, Links::Follow)?;
        let length = file.metadata()?.len();
        // Git has written it anew, without old lines: what is new in it can't be told.
        let from = self.read.min(length).max(length.saturating_sub(READ_BYTES_MAX));
        file.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        file.take(length - from).read_to_end(&mut text)?;
        // A line that is not written to its end is read with the next look.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.read = from + whole as u64;
        Ok(text[..whole].split(|byte| *byte == b'\n').any(is_commit))
    }
}

/// Whether a line tells of a new commit: `OLD NEW WHO TIME ZONE<tab>commit (amend): subject`.
fn is_commit(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let Some((moved, told)) = line.split_once('\t') else { return false };
    let mut commits = moved.split(' ');
    let has_moved = commits.next() != commits.next();
    let is_work = |word: &&str| {
        told.strip_prefix(*word).is_some_and(|rest| rest.starts_with([':', ' ', '(']))
    };
    // Commits are put on top of each other until it has finished.
    let is_underway = told.contains("(start)") || told.contains("(pick)");
    has_moved && !is_underway && COMMITS.iter().any(is_work)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn line(told: &str) -> String {
        let (old, new) = ("0".repeat(40), "1".repeat(40));
        format!("{old} {new} Ada <ada@example.org> 1763481600 +0000\t{told}\n")
    }

    #[test]
    fn commits_are_told_from_other_moves() {
        for told in [
            "commit (initial): first",
            "commit: more",
            "commit (amend): more",
            "commit (merge): Merge branch 'x'",
            "merge x: Fast-forward",
            "revert: Revert \"more\"",
            "cherry-pick: more",
            "am: a patch",
            "pull: Fast-forward",
            "pull --rebase (finish): returning to refs/heads/main",
            "rebase (finish): returning to refs/heads/main",
        ] {
            assert!(is_commit(line(told).trim_end().as_bytes()), "{told}");
        }
        for told in [
            "checkout: moving from main to x",
            "reset: moving to HEAD~1",
            "clone: from /tmp/x",
            "rebase (start): checkout main",
            "rebase (pick): more",
            "pull --rebase (start): checkout 1a2b3c4",
            "pull --rebase (pick): more",
            "committed to it",
            "",
        ] {
            assert!(!is_commit(line(told).trim_end().as_bytes()), "{told}");
        }
        assert!(!is_commit(b"no line of git's"));
        let same = line("commit: more").replace(&"1".repeat(40), &"0".repeat(40));
        assert!(!is_commit(same.trim_end().as_bytes()), "{same}");
    }

    #[test]
    fn each_line_counts_once_and_a_half_written_one_with_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("HEAD");
        std::fs::write(&path, line("commit (initial): first")).unwrap();
        let mut reflog = Reflog::at_end(dir.path());
        assert!(!reflog.has_commit().unwrap(), "it was there before");
        let append = |text: &str| {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let (begun, rest) = ("commit: second".to_owned(), line("commit: second"));
        let (half, end) = rest.split_at(rest.len() - begun.len());
        append(half);
        assert!(!reflog.has_commit().unwrap());
        append(end);
        assert!(reflog.has_commit().unwrap());
        assert!(!reflog.has_commit().unwrap());
        append(&line("reset: moving to HEAD~1"));
        assert!(!reflog.has_commit().unwrap());
        // Written anew and shorter: git has dropped old lines.
        std::fs::write(&path, line("commit: third")).unwrap();
        assert!(!reflog.has_commit().unwrap());
        append(&line("commit: fourth"));
        assert!(reflog.has_commit().unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(reflog.has_commit().is_err());
    }
}
