//! Takes a snapshot. Whoever needs one, by a verb or on its own account, calls `take`.
//!
//! Invariants
//! - TK1  Nothing is written to the store if nothing changed since the last snapshot of the same work tree.
//! - TK2  A snapshot that comes to nothing, because its work tree can't be read to its end, not in time, or because the store
//!   can't be written, leaves nothing behind, no ref among it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::pack_writer::PackWriter;
use super::stat_cache::{CachedFiles, Last, NewStatCache, StatCache};
use super::store::{SnapshotStore, StoreLock};
use super::unit::UnitTaken;
use super::{LeftOut, MOST_FILE_BYTES, MOST_NEW_BYTES};
use crate::git::base_ref::{self, RefOwner};
use crate::git::error::GitError;
use crate::git::id_set::IdSet;
use crate::git::object::{ObjectId, ObjectKind};
use crate::git::object_store::ObjectStore;
use crate::git::repository;

/// What a snapshot is taken of, and how.
pub struct TakeOrder<'a> {
    /// Any directory in the work tree.
    pub directory: &'a Path,
    /// Where the stores are.
    pub snapshots: &'a Path,
    /// The owner's own ignore file (`ignore::owners_file`).
    pub owners_ignore_file: Option<PathBuf>,
    /// Who holds the snapshot, in letters, digits and dashes; it is there until all who hold it have dropped it.
    pub holder: Option<&'a str>,
    /// For the date of the commit: nanoseconds since 1970.
    pub now_ns: i64,
    pub most_file_bytes: u64,
    pub most_new_bytes: u64,
    /// Told how many files have been seen, now and then; `false` ends it with `Interrupted`.
    pub go_on: &'a (dyn Fn(usize) -> bool + Sync),
}

impl std::fmt::Debug for TakeOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TakeOrder").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl<'a> TakeOrder<'a> {
    pub fn new(directory: &'a Path, snapshots: &'a Path, now_ns: i64) -> TakeOrder<'a> {
        TakeOrder {
            directory,
            snapshots,
            owners_ignore_file: None,
            holder: None,
            now_ns,
            most_file_bytes: MOST_FILE_BYTES,
            most_new_bytes: MOST_NEW_BYTES,
            go_on: &|_| true,
        }
    }
}

/// A snapshot that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub store: PathBuf,
    pub work_tree: PathBuf,
    pub commit: ObjectId,
    pub base: Option<ObjectId>,
    /// It is the last snapshot, because nothing changed since.
    pub is_same: bool,
    pub files: usize,
    /// Files that had to be read.
    pub read: usize,
    /// Objects and bytes that were added to the store.
    pub objects: usize,
    pub bytes: u64,
    /// Repositories in the work tree.
    pub nested: usize,
    pub left_out: Vec<LeftOut>,
    pub torn: Vec<String>,
}

/// What goes on while a snapshot is taken, across its work trees.
pub(super) struct Taking<'a> {
    pub order: &'a TakeOrder<'a>,
    pub store: &'a SnapshotStore,
    pub pack: PackWriter,
    /// Objects that need no copy.
    pub known: IdSet,
    pub cached: CachedFiles<'a>,
    pub old_cache: &'a StatCache,
    pub cache: NewStatCache,
    /// An index was read that is not in the cache as it is.
    pub has_new_index: bool,
    pub files: usize,
    pub read: usize,
    pub nested: usize,
    pub left_out: Vec<LeftOut>,
    pub torn: Vec<String>,
    /// The repositories that it borrows from.
    pub borrowed: HashSet<PathBuf>,
    /// Refs that were written for it: git directory and commit.
    pub new_refs: Vec<(PathBuf, ObjectId)>,
    /// Whose refs those are.
    pub owner: RefOwner,
}

impl<'a> Taking<'a> {
    fn begin(
        order: &'a TakeOrder<'a>,
        (store, lock): (&'a SnapshotStore, &StoreLock),
        cache: &'a StatCache,
        pack: PackWriter,
    ) -> Result<Taking<'a>, GitError> {
        Ok(Taking {
            order,
            store,
            pack,
            known: store.own_ids()?,
            cached: cache.files(),
            old_cache: cache,
            cache: NewStatCache::begin(lock.now_ns),
            has_new_index: false,
            files: 0,
            read: 0,
            nested: 0,
            left_out: Vec::new(),
            torn: Vec::new(),
            borrowed: HashSet::new(),
            new_refs: Vec::new(),
            owner: lock.owner.clone(),
        })
    }

    /// Nothing comes of it: what was written for it goes (TK2).
    fn give_up(self, error: GitError) -> GitError {
        self.pack.discard();
        release(self.new_refs, &self.owner);
        error
    }

    /// Adds an object, unless it is there or reachable from the base.
    pub fn put(
        &mut self,
        kind: ObjectKind,
        bytes: &[u8],
        base: &IdSet,
    ) -> Result<ObjectId, GitError> {
        let id = crate::git::object::hash(kind, bytes);
        if self.needs_no_copy(id, base) { Ok(id) } else { self.pack.add(kind, bytes) }
    }

    pub fn needs_no_copy(&self, id: ObjectId, base: &IdSet) -> bool {
        base.contains(&id) || self.known.contains(&id) || self.pack.has(id)
    }

    pub fn see_file(&mut self) -> Result<(), GitError> {
        self.files += 1;
        if self.files.is_multiple_of(256) { self.go_on() } else { Ok(()) }
    }

    /// Asked before each file or object that is read: it may be a large one.
    pub fn go_on(&self) -> Result<(), GitError> {
        match (self.order.go_on)(self.files) {
            true => Ok(()),
            false => Err(GitError::Interrupted),
        }
    }
}

fn release(refs: Vec<(PathBuf, ObjectId)>, owner: &RefOwner) {
    for (common_dir, commit) in refs {
        if let Err(error) = base_ref::release(&common_dir, owner, commit) {
            tracing::warn!(%error, "a ref of a snapshot that failed can't be removed");
        }
    }
}

/// Takes a snapshot of a work tree. When it returns, the snapshot is durable.
pub fn take(order: &TakeOrder<'_>) -> Result<Taken, GitError> {
    let repository = repository::find(order.directory)?;
    let store = SnapshotStore::of(order.snapshots, &repository);
    let lock = store.lock(&|| (order.go_on)(0))?;
    let cache_path = store.cache(&repository.work_tree);
    let cache = StatCache::load(&cache_path);
    let pack = PackWriter::new(store.packs(), order.most_new_bytes);
    let mut taking = Taking::begin(order, (&store, &lock), &cache, pack)?;
    let unit = match taking.unit(&repository.work_tree, b"", Ok(&repository), 0) {
        Ok(unit) => unit,
        Err(error) => return Err(taking.give_up(error)),
    };
    let same = cache
        .last()
        .filter(|last| last.tree == unit.tree && last.base == unit.base && store.has(last.commit));
    let (known, has_new_index) = (taking.cached.len(), taking.has_new_index);
    let Taking { pack, cache: new_cache, files, read, nested, left_out, torn, new_refs, .. } =
        taking;
    let written = match same {
        Some(last) => again(&store, order.holder, last.commit, pack),
        None => written(&store, order, &unit, pack),
    };
    let (commit, objects, bytes) = written.inspect_err(|_| release(new_refs, &lock.owner))?;
    let last = Last { commit, tree: unit.tree, base: unit.base };
    // Nothing was read and nothing is gone: it is the cache that there is.
    let is_same_cache =
        read == 0 && !has_new_index && new_cache.len() == known && cache.last() == Some(last);
    // A snapshot is no worse without its cache.
    if !is_same_cache && let Err(error) = new_cache.save(&cache_path, last) {
        tracing::warn!(%error, "the cache of a snapshot can't be written");
    }
    Ok(Taken {
        store: store.path().to_owned(),
        work_tree: repository.work_tree,
        commit,
        base: unit.base,
        is_same: same.is_some(),
        files,
        read,
        objects,
        bytes,
        nested,
        left_out,
        torn,
    })
}

/// It is the last snapshot once more.
fn again(
    store: &SnapshotStore,
    holder: Option<&str>,
    commit: ObjectId,
    pack: PackWriter,
) -> Result<(ObjectId, usize, u64), GitError> {
    pack.discard();
    match store.holds(holder, commit) {
        true => store.renew_ref(holder, commit)?,
        false => store.add_ref(holder, commit)?,
    }
    Ok((commit, 0, 0))
}

/// Writes what is new, and tells how many objects and bytes that was.
fn written(
    store: &SnapshotStore,
    order: &TakeOrder<'_>,
    unit: &UnitTaken,
    mut pack: PackWriter,
) -> Result<(ObjectId, usize, u64), GitError> {
    let text = commit_text(unit.tree, unit.base, order.now_ns);
    let commit = pack.add(ObjectKind::Commit, text.as_bytes())?;
    let (objects, bytes) = (pack.count(), pack.pack_bytes());
    pack.finish()?;
    store.add_ref(order.holder, commit)?;
    Ok((commit, objects, bytes))
}

/// Reads a work tree, so that its next snapshot finds most files in the cache. Nothing else is written. One that is ended
/// early keeps what it has come to.
pub fn fill_cache(order: &TakeOrder<'_>) -> Result<(), GitError> {
    let repository = repository::find(order.directory)?;
    let store = SnapshotStore::of(order.snapshots, &repository);
    let lock = store.lock(&|| (order.go_on)(0))?;
    let cache_path = store.cache(&repository.work_tree);
    let cache = StatCache::load(&cache_path);
    let mut taking = Taking::begin(order, (&store, &lock), &cache, PackWriter::fill())?;
    let ended = taking.unit(&repository.work_tree, b"", Ok(&repository), 0).map(|_| ());
    let is_more = ended.is_ok() || taking.cache.len() > taking.cached.len();
    let none = ObjectId([0; 20]);
    let last = cache.last().unwrap_or(Last { commit: none, tree: none, base: None });
    if is_more {
        taking.cache.save(&cache_path, last)?;
    }
    ended
}

/// What a snapshot would hold now; nothing is written but caches.
pub fn look(order: &TakeOrder<'_>) -> Result<Contents, GitError> {
    let repository = repository::find(order.directory)?;
    let store = SnapshotStore::of(order.snapshots, &repository);
    let lock = store.lock(&|| (order.go_on)(0))?;
    let cache = StatCache::load(&store.cache(&repository.work_tree));
    let mut taking = Taking::begin(order, (&store, &lock), &cache, PackWriter::look())?;
    let unit = taking.unit(&repository.work_tree, b"", Ok(&repository), 0)?;
    let overlay = taking.pack.into_overlay();
    drop(lock);
    // The base's objects may not be borrowed yet.
    let owners = ObjectStore::open(&repository.objects_dir())?;
    Contents::of_tree(vec![store.objects()?, owners], overlay, unit.tree)
}

/// An identity of its own: the owner's configuration has no say, and may have none.
fn commit_text(tree: ObjectId, base: Option<ObjectId>, now_ns: i64) -> String {
    let parent = base.map(|base| format!("parent {base}\n")).unwrap_or_default();
    let who = format!("Perennial <perennial@localhost> {} +0000", now_ns.div_euclid(1_000_000_000));
    format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\nsnapshot of a work tree\n")
}
