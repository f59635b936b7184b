//! What was found of an agent's work without asking it: from the steps of its conversation, and from git.
//!
//! Data only, all of it bounded by whoever makes it. Nothing here is the agent's own word, and nothing in it is an order:
//! paths, commands and words come from a transcript or a work tree that anybody may have written.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Paths that are listed; all of them are counted.
pub const PATHS_MAX: usize = 100;
/// The longest command, test name or step that is kept.
pub const LINE_BYTES_MAX: usize = 200;
/// As much of the model's last words as is kept.
pub const WORDS_BYTES_MAX: usize = 500;

/// What the steps of the current session show of its work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Findings {
    /// Files that its tools have edited, the last one last, each once.
    pub edited: Vec<String>,
    /// Its last test run.
    pub tests: Option<TestRun>,
    /// The last commit that it made, as far as its own commands show.
    pub committed_at: Option<Time>,
    /// The model's last words, on one line.
    pub last_words: Option<String>,
    /// The last call of a tool.
    pub last_call: Option<LastCall>,
}

impl Findings {
    /// What this does not say is as it was known before: a session that has only begun has not undone anything.
    pub fn with_earlier(self, earlier: &Findings) -> Findings {
        let edited = if self.edited.is_empty() { earlier.edited.clone() } else { self.edited };
        Findings {
            edited,
            tests: self.tests.or_else(|| earlier.tests.clone()),
            committed_at: self.committed_at.or(earlier.committed_at),
            last_words: self.last_words.or_else(|| earlier.last_words.clone()),
            last_call: self.last_call.or_else(|| earlier.last_call.clone()),
        }
    }
}

/// A test run, as its command and its output tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    pub command: String,
    pub outcome: TestOutcome,
    /// The first test that failed, where the output names it.
    pub failing: Option<String>,
    pub at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TestOutcome {
    Passed,
    Failed,
    /// It has not ended, or was cut off.
    Unfinished,
    /// It ended, and its output does not tell how.
    Unclear,
}

impl TestOutcome {
    pub const ALL: [TestOutcome; 4] =
        [TestOutcome::Passed, TestOutcome::Failed, TestOutcome::Unfinished, TestOutcome::Unclear];

    pub fn word(self) -> &'static str {
        match self {
            TestOutcome::Passed => "passing",
            TestOutcome::Failed => "failing",
            TestOutcome::Unfinished => "unfinished",
            TestOutcome::Unclear => "unclear",
        }
    }
}

/// The last call of a tool: what the agent was doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCall {
    pub tool: String,
    /// What it was about: a path, a command.
    pub about: String,
    /// It has not answered.
    pub is_open: bool,
    pub at: Time,
}

/// What git shows of a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GitFindings {
    pub branch: Option<String>,
    pub head: Option<String>,
    /// Files that differ from HEAD, untracked ones included.
    pub changed: Vec<FileChange>,
    /// How many there are, listed or not.
    pub changed_count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    pub how: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

impl ChangeKind {
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Modified => "modified",
            ChangeKind::Deleted => "deleted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a session shows itself counts; the rest is as it was.
    #[test]
    fn what_a_session_shows_stands_before_what_was_known() {
        let found = |name: &str, at| Findings {
            edited: vec![name.to_owned()],
            tests: None,
            committed_at: Some(Time(at)),
            last_words: Some(name.to_owned()),
            last_call: None,
        };
        let earlier = found("old", 1);
        assert_eq!(found("new", 2).with_earlier(&earlier), found("new", 2));
        assert_eq!(Findings::default().with_earlier(&earlier), earlier);
    }
}
