//! Which objects need no copy, because the commit that a snapshot builds on reaches them and a ref keeps that commit.
//!
//! Invariants
//! - BS1  An id is in the set only if its object was there after the ref was: an object that a partial clone lacks is
//!   copied, and one that nothing reaches is copied too.

use std::collections::HashMap;
use std::path::Path;

use super::stat_cache::checksum;
use crate::git::base_ref::Kept;
use crate::git::error::{At, GitError};
use crate::git::id_set::{self, IdSet};
use crate::git::object::{EntryMode, ObjectId, ObjectKind, decode_tree, tree_of_commit};
use crate::git::object_store::ObjectStore;
use crate::git::repository::read_optional;

const MAGIC: &[u8; 8] = b"PerBS 3\n";
/// Of the checksum at the end.
const SUM: usize = 8;
const MOST_BYTES: u64 = 1 << 30;
/// Of trees in trees; no path of a file system is so deep.
const MOST_DEPTH: usize = 1000;

/// The blobs and trees below a commit, and whether they were known; `None` if the commit itself can't be read. `go_on` is asked
/// for each tree.
pub fn reachable(
    objects: &ObjectStore,
    commit: ObjectId,
    (kept, cache): (Kept, &Path),
    go_on: &dyn Fn() -> bool,
) -> Result<Option<(IdSet, bool)>, GitError> {
    // A ref that was gone may have let objects go with it.
    if kept == Kept::Before
        && let Some(ids) = load(cache)
    {
        return Ok(Some((ids, true)));
    }
    let read = objects.read_kind(commit, ObjectKind::Commit);
    let Some(tree) = read.ok().and_then(|bytes| tree_of_commit(&bytes)) else { return Ok(None) };
    let (mut ids, mut open, mut lacks) = (IdSet::default(), vec![tree], false);
    while let Some(tree) = open.pop() {
        if ids.contains(&tree) {
            continue;
        }
        if !go_on() {
            return Err(GitError::Interrupted);
        }
        let read = objects.read_kind(tree, ObjectKind::Tree);
        let Some(entries) = read.ok().and_then(|bytes| decode_tree(&bytes)) else {
            lacks = true;
            continue;
        };
        ids.insert(tree);
        for (at, entry) in entries.into_iter().enumerate() {
            if at % 256 == 255 && !go_on() {
                return Err(GitError::Interrupted);
            }
            match entry.mode {
                EntryMode::Directory => open.push(entry.id),
                EntryMode::Repository => {}
                EntryMode::File | EntryMode::Executable | EntryMode::Symlink => {
                    // Of a pack that can't be searched we know nothing.
                    if ids.contains(&entry.id) || objects.has(entry.id).unwrap_or(false) {
                        ids.insert(entry.id);
                    } else {
                        lacks = true;
                    }
                }
            }
        }
    }
    if lacks {
        let mut judged = HashMap::new();
        keep_whole(objects, tree, &ids, &mut judged, 0);
        ids.retain(|id| judged.get(id) != Some(&false));
    }
    save(cache, &ids)?;
    Ok(Some((ids, false)))
}

/// Judges which trees have all that is below them: only such a tree needs no copy.
fn keep_whole(
    objects: &ObjectStore,
    tree: ObjectId,
    ids: &IdSet,
    judged: &mut HashMap<ObjectId, bool>,
    depth: usize,
) -> bool {
    if let Some(is_whole) = judged.get(&tree) {
        return *is_whole;
    }
    let entries = objects
        .read_kind(tree, ObjectKind::Tree)
        .ok()
        .filter(|_| depth < MOST_DEPTH)
        .and_then(|bytes| decode_tree(&bytes));
    let is_whole = entries.is_some_and(|entries| {
        // Every entry is looked at, so that every tree is judged.
        entries.into_iter().fold(true, |is_whole, entry| {
            is_whole
                & match entry.mode {
                    EntryMode::Directory => keep_whole(objects, entry.id, ids, judged, depth + 1),
                    EntryMode::Repository => true,
                    EntryMode::File | EntryMode::Executable | EntryMode::Symlink => {
                        ids.contains(&entry.id)
                    }
                }
        })
    });
    judged.insert(tree, is_whole);
    is_whole
}

fn load(path: &Path) -> Option<IdSet> {
    let bytes = read_optional(path, MOST_BYTES).ok()??;
    let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM)?)?;
    let ids = body.strip_prefix(MAGIC)?;
    if checksum(body) != *sum {
        return None;
    }
    let mut set = id_set::with_capacity(ids.len() / 20);
    set.extend(ids.chunks_exact(20).filter_map(ObjectId::from_slice));
    Some(set)
}

fn save(path: &Path, ids: &IdSet) -> Result<(), GitError> {
    let mut bytes = MAGIC.to_vec();
    ids.iter().for_each(|id| bytes.extend_from_slice(&id.0));
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, &bytes).at(&temporary)?;
    std::fs::rename(&temporary, path).at(path)
}
