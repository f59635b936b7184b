//! Drops snapshots: their refs, packs that nothing else needs, and refs on base commits that no other snapshot builds on.
//! What is left in many packs, or in packs that hold little else, is written again as one.
//!
//! Invariants
//! - DR1  A ref of ours on a base commit goes after the snapshots do, and only if no other snapshot of the store names it.
//! - DR2  A snapshot that somebody else holds stays.
//! - DR3  A pack is removed once everything in it that is needed is in another one, durably.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::borrowing;
use super::pack_writer::PackWriter;
use super::path_text::unescape;
use super::stat_cache::StatCache;
use super::state_file::StateFile;
use super::store::{SnapshotStore, pack_indexes};
use crate::git::base_ref;
use crate::git::error::{At, GitError};
use crate::git::object::{EntryMode, ObjectId, ObjectKind, TreeEntry, decode_tree, tree_of_commit};
use crate::git::object_store::ObjectStore;
use crate::git::pack_file::PackFile;
use crate::git::repository::is_absent;
use crate::host::monotonic;

/// A snapshot that is being written is waited for so long; what can't be removed now is removed another time.
const LOCKED_WITHIN: Duration = Duration::from_secs(60);
/// With more packs than this, small ones are written again as one.
const MOST_PACKS: usize = 40;
/// At most this much is written again at a time; a snapshot that is wanted meanwhile has to wait for it.
const MOST_FOLDED: u64 = 64 << 20;
/// Of repositories in repositories, and more.
const MOST_DEPTH: usize = 16;
const NO_COMMIT: ObjectId = ObjectId([0; 20]);

/// A base commit and the git directory whose ref keeps it.
pub type Base = (PathBuf, ObjectId);

/// A pack of the store, by the path of its index.
struct StoredPack {
    path: PathBuf,
    bytes: u64,
    ids: Vec<ObjectId>,
}

/// Drops snapshots that `holder` has; tells how many bytes that freed.
pub fn drop_snapshots(
    store: &SnapshotStore,
    holder: Option<&str>,
    commits: &[ObjectId],
) -> Result<u64, GitError> {
    drop_chosen(store, holder, || Ok(commits.to_vec()))
}

/// Drops snapshots of `holder` that nobody recorded, if they were taken, or found unchanged, in a time (in nanoseconds since
/// 1970). Tells how many there were.
pub fn drop_unrecorded(
    store: &SnapshotStore,
    holder: Option<&str>,
    recorded: &HashSet<ObjectId>,
    within_ns: (i64, i64),
) -> Result<usize, GitError> {
    let chosen = || unrecorded(store, holder, recorded, within_ns);
    // A store in which there is nothing to do is not waited for.
    let count = chosen()?.len();
    if count > 0 {
        drop_chosen(store, holder, chosen)?;
    }
    Ok(count)
}

/// Those snapshots, of which nothing is changed.
pub fn unrecorded(
    store: &SnapshotStore,
    holder: Option<&str>,
    recorded: &HashSet<ObjectId>,
    within_ns: (i64, i64),
) -> Result<Vec<ObjectId>, GitError> {
    let mut found = store.refs_within(holder, within_ns)?;
    found.retain(|commit| !recorded.contains(commit));
    Ok(found)
}

fn drop_chosen(
    store: &SnapshotStore,
    holder: Option<&str>,
    choose: impl FnOnce() -> Result<Vec<ObjectId>, GitError>,
) -> Result<u64, GitError> {
    let latest = monotonic::now() + LOCKED_WITHIN;
    let lock = store.lock(&|| monotonic::now() < latest)?;
    let packs = stored_packs(store)?;
    let own: HashSet<ObjectId> = packs.iter().flat_map(|pack| &pack.ids).copied().collect();
    let objects = store.objects()?;
    let mut released = HashSet::new();
    for commit in choose()? {
        bases(&objects, commit, &mut released)?;
        store.remove_ref(holder, commit)?;
    }
    let (mut kept, mut needed) = (HashSet::new(), HashSet::new());
    for other in store.commits()? {
        bases(&objects, other, &mut kept)?;
        reach(&objects, other, &own, &mut needed)?;
    }
    let (left, unneeded): (Vec<_>, Vec<_>) =
        packs.into_iter().partition(|pack| pack.ids.iter().any(|id| needed.contains(id)));
    let mut freed = 0;
    for pack in &unneeded {
        remove_pack(&pack.path)?;
        freed += pack.bytes;
    }
    freed += fold(store, &objects, left, &needed)?;
    for (repository, base) in released.difference(&kept) {
        base_ref::release(repository, &lock.owner, *base)?;
        let _ = std::fs::remove_file(store.base(*base));
    }
    let borrowed = kept.iter().map(|(repository, _)| &**repository).collect();
    borrowing::forget_others(store, &borrowed)?;
    forget_caches(store)?;
    Ok(freed)
}

/// The newest snapshot of a work tree is the last one to go: without it, what is known of the tree's files serves nobody.
fn forget_caches(store: &SnapshotStore) -> Result<(), GitError> {
    let caches = store.path().join("stat-cache");
    for entry in std::fs::read_dir(&caches).at(&caches)?.flatten() {
        let cache = StatCache::load(&entry.path());
        // One that was filled before the first snapshot names none.
        let last = cache.last().filter(|last| last.commit != NO_COMMIT);
        if last.is_some_and(|last| !store.has(last.commit)) {
            std::fs::remove_file(entry.path()).at(&entry.path())?;
        }
    }
    Ok(())
}

fn stored_packs(store: &SnapshotStore) -> Result<Vec<StoredPack>, GitError> {
    let mut packs = Vec::new();
    for path in pack_indexes(&store.packs())? {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |it| it.len());
        let bytes = size(&path) + size(&path.with_extension("pack"));
        let ids = PackFile::open(&path)?.ids()?;
        packs.push(StoredPack { path, bytes, ids });
    }
    Ok(packs)
}

fn remove_pack(index: &Path) -> Result<(), GitError> {
    // The index first: without it the pack is not read.
    for path in [index.to_owned(), index.with_extension("pack")] {
        match std::fs::remove_file(&path) {
            Err(error) if is_absent(&error) => {}
            removed => removed.at(&path)?,
        }
    }
    Ok(())
}

/// DR3. Tells how many bytes it freed.
fn fold(
    store: &SnapshotStore,
    objects: &ObjectStore,
    mut packs: Vec<StoredPack>,
    needed: &HashSet<ObjectId>,
) -> Result<u64, GitError> {
    packs.sort_by_key(|pack| pack.bytes);
    let (mut folded, mut small) = (Vec::new(), 0);
    let are_many = packs.len() > MOST_PACKS;
    for pack in packs {
        let is_needed = pack.ids.iter().filter(|id| needed.contains(id)).count();
        let is_mostly_waste = is_needed * 2 <= pack.ids.len();
        if is_mostly_waste || (are_many && small + pack.bytes <= MOST_FOLDED) {
            small += if is_mostly_waste { 0 } else { pack.bytes };
            folded.push((pack, is_mostly_waste));
        }
    }
    // A single pack is not worth it, unless most of it is waste and it is large.
    let waste: u64 = folded.iter().filter(|(_, waste)| *waste).map(|(pack, _)| pack.bytes).sum();
    if !are_many && waste < MOST_FOLDED {
        return Ok(0);
    }
    let mut writer = PackWriter::new(store.packs(), MOST_FOLDED * 4);
    for id in folded.iter().flat_map(|(pack, _)| &pack.ids).filter(|id| needed.contains(id)) {
        let added = objects.read(*id).and_then(|(kind, bytes)| writer.add(kind, &bytes));
        if let Err(error) = added {
            writer.discard();
            return match error {
                // It is left as it is: the next drop finds less to do.
                GitError::TooManyBytes(_) => Ok(0),
                error => Err(error),
            };
        }
    }
    let written = writer.pack_bytes();
    let new = writer.finish()?;
    let before: u64 = folded.iter().map(|(pack, _)| pack.bytes).sum();
    for (pack, _) in folded.iter().filter(|(pack, _)| Some(&pack.path) != new.as_ref()) {
        remove_pack(&pack.path)?;
    }
    Ok(before.saturating_sub(written))
}

fn entries(objects: &ObjectStore, tree: ObjectId) -> Result<HashMap<Vec<u8>, TreeEntry>, GitError> {
    let bytes = objects.read_kind(tree, ObjectKind::Tree)?;
    let entries = decode_tree(&bytes).ok_or(GitError::Missing(tree))?;
    Ok(entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect())
}

/// The base commits that a snapshot names; nothing of one that is gone.
pub fn bases(
    objects: &ObjectStore,
    commit: ObjectId,
    found: &mut HashSet<Base>,
) -> Result<(), GitError> {
    let bytes = match objects.read_kind(commit, ObjectKind::Commit) {
        Err(GitError::Missing(_)) => return Ok(()),
        bytes => bytes?,
    };
    let mut open: Vec<(ObjectId, usize)> =
        tree_of_commit(&bytes).into_iter().map(|it| (it, 0)).collect();
    while let Some((tree, depth)) = open.pop() {
        let entries = entries(objects, tree)?;
        if let Some(state) = entries.get(&b"state"[..]) {
            let bytes = objects.read_kind(state.id, ObjectKind::Blob)?;
            let state = serde_json::from_slice(&bytes).map_err(|_| GitError::Missing(tree))?;
            found.extend(base_of(&state));
        }
        if let Some(nested) = entries.get(&b"nested"[..]).filter(|_| depth < MOST_DEPTH) {
            let below = self::entries(objects, nested.id)?;
            open.extend(below.into_values().map(|entry| (entry.id, depth + 1)));
        }
    }
    Ok(())
}

fn base_of(state: &StateFile) -> Option<Base> {
    let path = unescape(state.repository.as_deref()?)?;
    let path = Path::new(std::ffi::OsStr::from_bytes(&path)).to_owned();
    Some((path, ObjectId::parse(state.base.as_deref()?)?))
}

/// What a snapshot needs of the store's own objects. Below a tree that is borrowed, everything is.
fn reach(
    objects: &ObjectStore,
    commit: ObjectId,
    own: &HashSet<ObjectId>,
    found: &mut HashSet<ObjectId>,
) -> Result<(), GitError> {
    found.insert(commit);
    let bytes = objects.read_kind(commit, ObjectKind::Commit)?;
    let mut open: Vec<ObjectId> = tree_of_commit(&bytes).into_iter().collect();
    while let Some(tree) = open.pop() {
        if !own.contains(&tree) || !found.insert(tree) {
            continue;
        }
        for entry in entries(objects, tree)?.into_values() {
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
