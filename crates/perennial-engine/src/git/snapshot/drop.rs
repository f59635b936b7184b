//! Drops a snapshot: its ref, packs that nothing else needs, and refs on base commits that no other snapshot builds on.
//!
//! Invariants
//! - DR1  A ref on a base commit goes after the snapshot does, and only if no other snapshot of the store names it.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::path_text::unescape;
use super::store::{SnapshotStore, pack_indexes};
use crate::git::base_ref;
use crate::git::error::{At, GitError};
use crate::git::object::{EntryMode, ObjectId, ObjectKind, decode_tree, tree_of_commit};
use crate::git::object_store::ObjectStore;
use crate::git::pack_file::PackFile;

/// A base commit and the git directory whose ref keeps it.
type Base = (PathBuf, ObjectId);

pub fn drop_snapshot(store: &SnapshotStore, commit: ObjectId) -> Result<(), GitError> {
    let _lock = store.lock()?;
    let released = bases(store, commit)?;
    store.remove_ref(commit)?;
    let (mut kept, mut needed) = (HashSet::new(), HashSet::new());
    let objects = store.objects()?;
    for other in store.commits()? {
        kept.extend(bases(store, other)?);
        reach(&objects, other, &mut needed)?;
    }
    for path in pack_indexes(&store.packs())? {
        let ids = PackFile::open(&path)?.ids()?;
        if !ids.iter().any(|id| needed.contains(id)) {
            // The index first: without it the pack is not read.
            std::fs::remove_file(&path).at(&path)?;
            let pack = path.with_extension("pack");
            std::fs::remove_file(&pack).at(&pack)?;
        }
    }
    for (repository, base) in released.difference(&kept) {
        base_ref::release(repository, *base)?;
        let _ = std::fs::remove_file(store.base(*base));
    }
    Ok(())
}

fn bases(store: &SnapshotStore, commit: ObjectId) -> Result<HashSet<Base>, GitError> {
    let contents = Contents::open(store, commit)?;
    let units = contents.units.iter();
    Ok(units
        .filter_map(|unit| {
            let path = unescape(unit.state.repository.as_deref()?)?;
            let path = Path::new(std::ffi::OsStr::from_bytes(&path)).to_owned();
            Some((path, ObjectId::parse(unit.state.base.as_deref()?)?))
        })
        .collect())
}

/// What a snapshot is made of, as far as trees can be read.
fn reach(
    objects: &ObjectStore,
    commit: ObjectId,
    found: &mut HashSet<ObjectId>,
) -> Result<(), GitError> {
    found.insert(commit);
    let bytes = objects.read_kind(commit, ObjectKind::Commit)?;
    let mut open: Vec<ObjectId> = tree_of_commit(&bytes).into_iter().collect();
    while let Some(tree) = open.pop() {
        if !found.insert(tree) {
            continue;
        }
        let entries = decode_tree(&objects.read_kind(tree, ObjectKind::Tree)?);
        for entry in entries.ok_or(GitError::Missing(tree))? {
            match entry.mode {
                EntryMode::Directory => open.push(entry.id),
                EntryMode::File | EntryMode::Executable | EntryMode::Symlink => {
                    found.insert(entry.id);
                }
                EntryMode::Repository => {}
            }
        }
    }
    Ok(())
}
