//! Snapshots of an agent's work tree as clients see them.

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

/// One of `GET /v1/agents/{target}/snapshots`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Snapshot {
    /// From 1, for each agent.
    pub number: u32,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// `asked`, `before-restore`, `planned-end`, `crash`, `reboot`, `phase-change`, `commit` or `checkpoint`.
    pub why: String,
    /// Why it is not there any more, `number` or `age`, if it was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// The top directory of the work tree.
    pub work_tree: String,
    /// The bare repository that holds it; `git` can read it.
    pub repository: String,
    pub commit: String,
    /// The commit that it builds on.
    pub base: Option<String>,
    pub files: u64,
    /// What the repository grew by.
    pub bytes: u64,
    /// Submodules and other repositories in the work tree, each with its own part of the snapshot.
    pub nested: u32,
    /// How many files were left out.
    pub left_out: u32,
    /// Files that changed while they were read.
    pub torn: u32,
}

/// `POST /v1/agents/{target}/snapshots`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SnapshotTaken {
    pub snapshot: Snapshot,
    /// Nothing changed since this snapshot, so no other was taken.
    pub is_same: bool,
    /// What was left out now.
    pub left_out: Vec<LeftOutFile>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeftOutFile {
    pub path: String,
    /// `secret`, `too_large`, `special`, `unreadable` or `too_deep`.
    pub why: String,
}

/// `GET /v1/agents/{target}/snapshot`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SnapshotCard {
    pub snapshot: Snapshot,
    /// The work trees in it, the top one first.
    pub work_trees: Vec<SnapshotWorkTree>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SnapshotWorkTree {
    /// Below the top; empty for the top itself.
    pub path: String,
    /// As in the file HEAD.
    pub head: Option<String>,
    pub head_commit: Option<String>,
    /// `rebase`, `merge`, `cherry-pick`, `revert` or `bisect`, if one was not done.
    pub operation: Option<String>,
    pub files: u64,
    pub has_index: bool,
    pub left_out: Vec<LeftOutFile>,
    /// Files that changed while they were read.
    pub torn: Vec<String>,
    /// What can't be restored, because the project's repository has lost it; a directory ends in `/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// `GET /v1/agents/{target}/snapshot/diff`: what changed since the snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SnapshotDiff {
    pub number: u32,
    pub changes: Vec<FileChange>,
    /// A unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// The diff was too long to be shown as a whole.
    pub is_cut: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FileChange {
    pub path: String,
    /// `added`, `deleted`, `modified` or `mode`.
    pub change: String,
}

/// `POST /v1/agents/{target}/restore`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SnapshotRestored {
    pub number: u32,
    /// The snapshot of what was there before; none when another directory was written to.
    pub present: Option<u32>,
    /// The directory that was written to.
    pub directory: String,
    pub written: u64,
    pub removed: u64,
    /// Work trees whose index was restored.
    pub indexes: u64,
    /// How many files and directories were not restored, because the project's repository has lost them …
    pub missing_count: u64,
    /// … and the first of them; a directory ends in `/`.
    pub missing: Vec<String>,
    /// How many files were left as they are, because somebody changed them while the restore went on …
    pub changed_count: u64,
    /// … and the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The repositories in the work tree, the top one first: HEAD, branches and unfinished operations stay as they are. Nothing
    /// when another directory was written to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub work_trees: Vec<RestoredWorkTree>,
}

/// What a restore did not change: where a repository was at the snapshot, and where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RestoredWorkTree {
    /// Below the top; empty for the top itself.
    pub path: String,
    /// Nothing if there was no repository.
    pub then: Option<RepositoryState>,
    /// Nothing if there is none.
    pub now: Option<RepositoryState>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RepositoryState {
    /// As in the file HEAD.
    pub head: Option<String>,
    pub head_commit: Option<String>,
    /// `rebase`, `merge`, `cherry-pick`, `revert` or `bisect`, if one is not done.
    pub operation: Option<String>,
}
