//! What a snapshot shows of a work tree against its HEAD: branch, commit, and the files that differ. No git process.
//!
//! Trees are compared by their ids, so what did not change is not read. Bytes are compared, as they are stored (SN1): a
//! file that a filter or a conversion of line ends changes at checkout counts as changed.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use perennial_core::work::{ChangeKind, FileChange, GitFindings, PATHS_MAX};

use super::path_text::{escape, unescape};
use super::state_file::StateFile;
use super::store::SnapshotStore;
use crate::git::error::GitError;
use crate::git::index::Index;
use crate::git::object::{EntryMode, ObjectId, ObjectKind, TreeEntry, decode_tree, tree_of_commit};
use crate::git::object_store::ObjectStore;

/// Of trees in trees; no path of a file system is so deep.
const MOST_DEPTH: usize = 250;
/// Files beyond this are not counted: somebody made a tree to keep us busy.
const MOST_COUNTED: u64 = 1_000_000;
/// Changes beyond this are counted, and not held against what is not expected in the work tree.
const MOST_KEPT: usize = 10_000;

/// The findings of the top work tree. Repositories in it are their own matter.
pub fn against_head(store: &SnapshotStore, commit: ObjectId) -> Result<GitFindings, GitError> {
    let mut stores = vec![store.objects()?];
    let root = tree(&stores, commit)?;
    let entries = entries(&stores, root)?;
    let find = |name: &str| {
        entries.iter().find(|entry| entry.name == name.as_bytes()).map(|entry| entry.id)
    };
    let state = read(&stores, find("state").ok_or(GitError::Missing(root))?, ObjectKind::Blob)?;
    let state: StateFile = serde_json::from_slice(&state).map_err(|_| GitError::Missing(root))?;
    // Where nothing could be borrowed, the owner has the commit all the same.
    let owners = state.repository.as_deref().and_then(unescape).map(|path| {
        use std::os::unix::ffi::OsStringExt;
        PathBuf::from(std::ffi::OsString::from_vec(path)).join("objects")
    });
    stores.extend(owners.and_then(|path| ObjectStore::open(&path).ok()));
    let head = state.head_commit.as_deref().and_then(ObjectId::parse);
    let before = head.map(|head| tree(&stores, head)).transpose()?;
    let mut comparison = Comparison { stores: &stores, changes: Vec::new(), count: 0 };
    comparison.trees(before, find("work"), &mut Vec::new(), 0)?;
    let Comparison { changes, count, .. } = comparison;
    let has_deletions = changes.iter().any(|(_, how)| *how == ChangeKind::Deleted);
    let not_expected = match has_deletions {
        true => NotExpected::of(&stores, &state, (find("index"), find("sharedindex"))),
        false => NotExpected::default(),
    };
    let total = changes.len() as u64;
    let changed: Vec<FileChange> = changes
        .into_iter()
        .filter(|(path, how)| *how != ChangeKind::Deleted || !not_expected.has(path))
        .map(|(path, how)| FileChange { path: escape(&path), how })
        .collect();
    let changed_count = count - (total - changed.len() as u64);
    let changed = changed.into_iter().take(PATHS_MAX).collect();
    Ok(GitFindings {
        branch: state.head.as_deref().and_then(branch),
        head: state.head_commit,
        changed,
        changed_count,
    })
}

/// The branch that HEAD names.
fn branch(head: &str) -> Option<String> {
    let name = head.strip_prefix("ref:")?.trim();
    Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
}

fn read(stores: &[ObjectStore], id: ObjectId, kind: ObjectKind) -> Result<Vec<u8>, GitError> {
    let mut missing = GitError::Missing(id);
    for store in stores {
        match store.read_kind(id, kind) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => missing = error,
        }
    }
    Err(missing)
}

fn tree(stores: &[ObjectStore], commit: ObjectId) -> Result<ObjectId, GitError> {
    let bytes = read(stores, commit, ObjectKind::Commit)?;
    tree_of_commit(&bytes).ok_or(GitError::Missing(commit))
}

fn entries(stores: &[ObjectStore], tree: ObjectId) -> Result<Vec<TreeEntry>, GitError> {
    decode_tree(&read(stores, tree, ObjectKind::Tree)?).ok_or(GitError::Missing(tree))
}

struct Comparison<'a> {
    stores: &'a [ObjectStore],
    /// In the order of their paths.
    changes: Vec<(Vec<u8>, ChangeKind)>,
    count: u64,
}

impl Comparison<'_> {
    fn trees(
        &mut self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), GitError> {
        if before == after || depth > MOST_DEPTH || self.count > MOST_COUNTED {
            return Ok(());
        }
        let read = |id: Option<ObjectId>| match id {
            Some(id) => entries(self.stores, id),
            None => Ok(Vec::new()),
        };
        let (before, after) = (read(before)?, read(after)?);
        let mut pairs: BTreeMap<&[u8], (Option<&TreeEntry>, Option<&TreeEntry>)> = BTreeMap::new();
        before.iter().for_each(|entry| pairs.entry(&entry.name).or_default().0 = Some(entry));
        after.iter().for_each(|entry| pairs.entry(&entry.name).or_default().1 = Some(entry));
        for (old, new) in pairs.into_values() {
            self.pair(old, new, path, depth)?;
        }
        Ok(())
    }

    fn pair(
        &mut self,
        old: Option<&TreeEntry>,
        new: Option<&TreeEntry>,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), GitError> {
        let Some(name) = new.or(old).map(|entry| &entry.name) else { return Ok(()) };
        let length = path.len();
        path.extend_from_slice(name);
        let file = |entry: Option<&TreeEntry>| entry.filter(|entry| is_file(entry.mode)).map(key);
        let directory = |entry: Option<&TreeEntry>| {
            entry.filter(|entry| entry.mode == EntryMode::Directory).map(|entry| entry.id)
        };
        match (file(old), file(new)) {
            (Some(before), Some(after)) if before != after => {
                self.add(path, ChangeKind::Modified);
            }
            (None, Some(_)) => self.add(path, ChangeKind::Added),
            (Some(_), None) => self.add(path, ChangeKind::Deleted),
            (Some(_), Some(_)) | (None, None) => {}
        }
        path.push(b'/');
        self.trees(directory(old), directory(new), path, depth + 1)?;
        path.truncate(length);
        Ok(())
    }

    fn add(&mut self, path: &[u8], how: ChangeKind) {
        self.count += 1;
        if self.changes.len() < MOST_KEPT {
            self.changes.push((path.to_owned(), how));
        }
    }
}

fn is_file(mode: EntryMode) -> bool {
    match mode {
        EntryMode::File | EntryMode::Executable | EntryMode::Symlink => true,
        EntryMode::Directory | EntryMode::Repository => false,
    }
}

fn key(entry: &TreeEntry) -> (EntryMode, ObjectId) {
    (entry.mode, entry.id)
}

/// What is not in a work tree and was not deleted: sparse paths, and what was left out.
#[derive(Default)]
struct NotExpected {
    paths: HashSet<Vec<u8>>,
    /// Of a sparse index, each with a `/` at its end.
    directories: Vec<Vec<u8>>,
}

impl NotExpected {
    fn of(
        stores: &[ObjectStore],
        state: &StateFile,
        (index, shared): (Option<ObjectId>, Option<ObjectId>),
    ) -> NotExpected {
        let left_out = state.left_out.iter().filter_map(|one| unescape(&one.path));
        let mut found = NotExpected { paths: left_out.collect(), directories: Vec::new() };
        let bytes = index.and_then(|id| read(stores, id, ObjectKind::Blob).ok());
        let Some(bytes) = bytes else { return found };
        let parsed = Index::parse(Path::new("index"), &bytes, |_| {
            let id =
                shared.ok_or_else(|| GitError::damaged(Path::new("index"), "a part is missing"))?;
            read(stores, id, ObjectKind::Blob)
        });
        // An index that can't be read hides no change.
        for entry in parsed.map(|index| index.entries).unwrap_or_default() {
            if entry.skip_worktree {
                match entry.path.ends_with(b"/") {
                    true => found.directories.push(entry.path),
                    false => _ = found.paths.insert(entry.path),
                }
            }
        }
        found
    }

    fn has(&self, path: &[u8]) -> bool {
        self.paths.contains(path)
            || self.directories.iter().any(|directory| path.starts_with(directory))
    }
}
