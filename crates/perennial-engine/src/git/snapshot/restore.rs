//! Puts the files of a snapshot back into their work tree, or into another directory.
//!
//! Never HEAD, a branch or a reflog. The caller has taken a snapshot of the present, and knows that no session runs in
//! the work tree.
//!
//! Invariants
//! - RS1  What is replaced or removed is in the snapshot of the present (`obstacles.rs`); otherwise nothing is touched.
//! - RS2  What is removed is judged by the restored ignore rules: a file that they ignore stays.
//! - RS3  What the snapshot left out stays as it is. So do sparse paths, unless the index that expects them not to be
//!   there is restored, too.
//! - RS4  What the snapshot has lost (CN2) stays as it is and is listed; the rest is put back.
//! - RS5  What somebody changes while it goes on stays as it is and is listed: a file is replaced or removed only if it still
//!   is as it is in the snapshot of the present.
//! - RS6  Files are put back into the repository that they were taken of, or one that has its commits; where another one is in
//!   its place, nothing is touched.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::contents::{Contents, StoredFile, permissions};
use super::elsewhere;
use super::obstacles;
use super::path_text::{escape, unescape};
use super::restore_index::IndexLock;
use super::store::SnapshotStore;
use super::take::{TakeOrder, look};
use super::write_file::{Directory, Expected};
use crate::git::base_ref;
use crate::git::error::{At, GitError};
use crate::git::index::Index;
use crate::git::object::{EntryMode, ObjectId};
use crate::git::object_store::ObjectStore;
use crate::git::repository::{self, Repository};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithIndex {
    Yes,
    No,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    pub written: usize,
    pub removed: usize,
    /// Work trees whose index was put back.
    pub indexes: usize,
    /// What was not put back because its content is lost, escaped; a directory ends in `/`.
    pub missing: Vec<String>,
    /// What was left because it was changed while the restore went on, escaped.
    pub changed: Vec<String>,
}

/// A restore that did not come to its end.
#[derive(Debug, thiserror::Error)]
#[error("a restore stopped before its end")]
pub struct Stopped {
    /// Whether anything may have been changed.
    pub has_begun: bool,
    pub restored: Restored,
    /// The files that were not written or not removed and should have been, escaped.
    pub left: Vec<String>,
    #[source]
    pub error: GitError,
}

impl From<GitError> for Box<Stopped> {
    /// Before anything was changed.
    fn from(error: GitError) -> Box<Stopped> {
        let (restored, left) = (Restored::default(), Vec::new());
        Box::new(Stopped { has_begun: false, restored, left, error })
    }
}

type Files = BTreeMap<Vec<u8>, StoredFile>;

/// Restores `target` into the work tree that `order` names by its top directory, of which `present` is the snapshot of this moment.
pub fn restore(
    order: &TakeOrder<'_>,
    target: &Contents,
    present: &Contents,
    with_index: WithIndex,
) -> Result<Restored, Box<Stopped>> {
    let (wanted, there) = (target.files(), present.files());
    let top = repository::find(order.directory)?;
    // Whoever has put a link there since would have us write elsewhere.
    if top.work_tree != order.directory {
        return Err(GitError::Replaced(order.directory.to_owned()).into());
    }
    let (root, locks) = prepared(order, (&top, target), (&wanted, &there), with_index)?;
    let mut doing = Doing {
        root: &root,
        target,
        wanted: &wanted,
        there: &there,
        with_index,
        left: BTreeSet::new(),
    };
    doing.left = doing.changed().chain(doing.extras()).cloned().collect();
    let mut restored = Restored { missing: target.missing(), ..Restored::default() };
    let ended = doing.all(order, present, locks, &mut restored);
    restored.missing.sort();
    restored.missing.dedup();
    match ended {
        Ok(()) => Ok(restored),
        Err(error) => {
            let left = doing.left.iter().map(|path| escape(path)).collect();
            Err(Box::new(Stopped { has_begun: true, restored, left, error }))
        }
    }
}

/// Why a restore would be refused now; nothing is changed.
pub fn check_restore(
    order: &TakeOrder<'_>,
    target: &Contents,
    present: &Contents,
    with_index: WithIndex,
) -> Result<(), GitError> {
    let files = (&target.files(), &present.files());
    let top = repository::find(order.directory)?;
    prepared(order, (&top, target), files, with_index).map(|_| ())
}

/// The work tree and the locks of its indexes, if nothing is in the way.
fn prepared(
    order: &TakeOrder<'_>,
    (top, target): (&Repository, &Contents),
    (wanted, there): (&Files, &Files),
    with_index: WithIndex,
) -> Result<(Directory, Vec<LockedIndex>), GitError> {
    check_repositories(order, top, target)?;
    let root = Directory::open(&top.work_tree).at(&top.work_tree)?;
    let obstacles = obstacles::find(&root, (target, wanted), there)?;
    if !obstacles.is_empty() {
        return Err(GitError::InTheWay(obstacles));
    }
    let locks = match with_index {
        WithIndex::Yes => lock_indexes(top, target)?,
        WithIndex::No => Vec::new(),
    };
    Ok((root, locks))
}

/// RS6. A repository without commits is a new beginning of the one that was lost.
fn check_repositories(
    order: &TakeOrder<'_>,
    top: &Repository,
    target: &Contents,
) -> Result<(), GitError> {
    let store = SnapshotStore::of(order.snapshots, top);
    for unit in &target.units {
        let commit = unit.state.base.as_deref().or(unit.state.head_commit.as_deref());
        let Some(commit) = commit.and_then(ObjectId::parse) else { continue };
        let path = Path::new(std::ffi::OsStr::from_bytes(&unit.prefix));
        let nested = match unit.prefix.is_empty() {
            true => None,
            // A nested repository that is gone is no other one.
            false => match repository::open(&top.work_tree.join(path.components().as_path())) {
                Ok(nested) => Some(nested),
                Err(_) => continue,
            },
        };
        let repository = nested.as_ref().unwrap_or(top);
        let has_commits = repository.head().is_ok_and(|head| head.commit.is_some());
        let is_the_same = !has_commits
            || ObjectStore::open(&repository.objects_dir())?.has(commit)?
            || base_ref::is_kept(repository, &store.lock(&|| (order.go_on)(0))?.owner, commit);
        if !is_the_same {
            return Err(GitError::AnotherRepository(repository.work_tree.clone()));
        }
    }
    Ok(())
}

/// Whether a file was put back.
enum Wrote {
    Yes,
    /// Somebody has changed what is in its place (RS5).
    Changed,
    /// Its content is lost (RS4).
    Missing,
}

/// A restore that goes on, and what it has not come to yet.
struct Doing<'a> {
    root: &'a Directory,
    target: &'a Contents,
    wanted: &'a Files,
    there: &'a Files,
    with_index: WithIndex,
    left: BTreeSet<Vec<u8>>,
}

type LockedIndex = (Repository, IndexLock, usize);

impl<'a> Doing<'a> {
    fn changed(&self) -> impl Iterator<Item = &'a Vec<u8>> + use<'a> {
        let (wanted, there) = (self.wanted, self.there);
        wanted.iter().filter(|(path, file)| there.get(*path) != Some(file)).map(|(path, _)| path)
    }

    fn extras(&self) -> impl Iterator<Item = &'a Vec<u8>> + use<'a> {
        let (wanted, there) = (self.wanted, self.there);
        there.keys().filter(|path| !wanted.contains_key(*path))
    }

    fn all(
        &mut self,
        order: &TakeOrder<'_>,
        present: &Contents,
        locks: Vec<LockedIndex>,
        restored: &mut Restored,
    ) -> Result<(), GitError> {
        let (root, target) = (self.root, self.target);
        clear(root, (self.wanted, self.there), &mut self.left, restored).at(&root.path)?;
        for path in self.changed() {
            match self.write(path)? {
                Wrote::Yes => restored.written += 1,
                Wrote::Missing => restored.missing.push(escape(path)),
                Wrote::Changed => restored.changed.push(escape(path)),
            }
            self.left.remove(path);
        }
        for (repository, lock, at) in locks {
            restored.missing.extend(lock.put(&repository, target, &target.units[at])?);
            restored.indexes += 1;
        }
        self.remove_extras(order, restored)?;
        settle_directories(root, target, Some(present)).at(&root.path)
    }

    fn write(&self, path: &Vec<u8>) -> Result<Wrote, GitError> {
        let (root, Some(file)) = (self.root, self.wanted.get(path)) else {
            return Ok(Wrote::Yes);
        };
        let shown = root.path.join(Path::new(std::ffi::OsStr::from_bytes(path)));
        let same_content = self.there.get(path).is_some_and(|old| {
            old.id == file.id
                && (old.mode == EntryMode::Symlink) == (file.mode == EntryMode::Symlink)
        });
        if same_content {
            root.set_mode(path, file.permissions).at(&shown)?;
            return Ok(Wrote::Yes);
        }
        let bytes = match self.target.read(file.id) {
            Ok(bytes) => bytes,
            Err(GitError::Missing(_)) => return Ok(Wrote::Missing),
            Err(other) => return Err(other),
        };
        let expected = self.there.get(path).map_or(Expected::Nothing, |old| Expected::This(*old));
        let is_written = root.write(path, *file, &bytes, expected).at(&shown)?;
        Ok(if is_written { Wrote::Yes } else { Wrote::Changed })
    }

    /// RS2 and RS3.
    fn remove_extras(
        &mut self,
        order: &TakeOrder<'_>,
        restored: &mut Restored,
    ) -> Result<(), GitError> {
        let (root, left_out) = (self.root, left_out(self.target));
        let sparse = match self.with_index {
            WithIndex::Yes => HashSet::new(),
            WithIndex::No => sparse_paths(self.target)?,
        };
        let now = look(order)?.files();
        for path in self.extras() {
            let is_left_out = left_out.contains(&**path)
                || left_out.contains(&b""[..])
                || (0..path.len()).any(|at| path[at] == b'/' && left_out.contains(&path[..at]));
            let old = self.there.get(path).filter(|_| now.contains_key(path));
            if let Some(old) = old.filter(|_| !is_left_out && !sparse.contains(path)) {
                let shown = root.path.join(Path::new(std::ffi::OsStr::from_bytes(path)));
                if !root.remove(path, *old).at(&shown)? {
                    restored.changed.push(escape(path));
                    self.left.remove(path);
                    continue;
                }
                restored.removed += 1;
                for at in (0..path.len()).rev().filter(|at| path[*at] == b'/') {
                    if !root.remove_empty(&path[..at]) {
                        break;
                    }
                }
            }
            self.left.remove(path);
        }
        Ok(())
    }
}

/// Writes the files of a snapshot of `work_tree` into a directory elsewhere that is empty or does not exist.
pub fn restore_to(
    directory: &Path,
    work_tree: &Path,
    target: &Contents,
) -> Result<Restored, GitError> {
    elsewhere::check(directory, work_tree)?;
    std::fs::create_dir_all(directory).at(directory)?;
    if std::fs::read_dir(directory).at(directory)?.next().is_some() {
        return Err(GitError::NotEmpty(directory.to_owned()));
    }
    let path = std::fs::canonicalize(directory).at(directory)?;
    let root = Directory::open(&path).at(&path)?;
    let mut restored = Restored { missing: target.missing(), ..Restored::default() };
    for (path, file) in target.files() {
        let shown = root.path.join(Path::new(std::ffi::OsStr::from_bytes(&path)));
        let Ok(bytes) = target.read(file.id) else {
            restored.missing.push(escape(&path));
            continue;
        };
        match root.write(&path, file, &bytes, Expected::Nothing).at(&shown)? {
            true => restored.written += 1,
            false => restored.changed.push(escape(&path)),
        }
    }
    settle_directories(&root, target, None).at(&root.path)?;
    Ok(restored)
}

/// The locks of all indexes that the snapshot has, before anything is changed.
fn lock_indexes(top: &Repository, target: &Contents) -> Result<Vec<LockedIndex>, GitError> {
    let mut locks = Vec::new();
    for (at, unit) in target.units.iter().enumerate().filter(|(_, unit)| unit.index.is_some()) {
        let path = unit.prefix.strip_suffix(b"/").unwrap_or(&unit.prefix);
        let work_tree = top.work_tree.join(Path::new(std::ffi::OsStr::from_bytes(path)));
        let work_tree = if path.is_empty() { top.work_tree.clone() } else { work_tree };
        match repository::open(&work_tree) {
            Ok(repository) => {
                let lock = IndexLock::take(&repository)?;
                locks.push((repository, lock, at));
            }
            // A nested repository that is gone has no index to restore.
            Err(_) if !path.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(locks)
}

/// Removes files of the present that stand where a directory has to be, and directories where a file has to be.
fn clear(
    root: &Directory,
    (wanted, there): (&Files, &Files),
    left: &mut BTreeSet<Vec<u8>>,
    restored: &mut Restored,
) -> std::io::Result<()> {
    for (path, old) in there.iter().filter(|(path, _)| !wanted.contains_key(*path)) {
        let above = (0..path.len()).filter(|at| path[*at] == b'/');
        let is_below_a_file = above.clone().any(|at| wanted.contains_key(&path[..at]));
        let inside = [&**path, b"/"].concat();
        let is_above_a_file = wanted
            .range(inside.clone()..)
            .next()
            .is_some_and(|(next, _)| next.starts_with(&inside));
        if is_below_a_file || is_above_a_file {
            left.remove(path);
            if !root.remove(path, *old)? {
                restored.changed.push(escape(path));
                continue;
            }
            restored.removed += 1;
            for at in above.rev() {
                root.remove_empty(&path[..at]);
            }
        }
    }
    // A directory without files in it may still be where a file has to be.
    for path in wanted.keys().filter(|path| !there.contains_key(*path)) {
        root.remove_directories(path)?;
    }
    Ok(())
}

fn full(prefix: &[u8], escaped: &str) -> Option<Vec<u8>> {
    Some([prefix, &unescape(escaped)?].concat())
}

/// What the snapshot does not have, for whichever reason.
fn left_out(target: &Contents) -> HashSet<Vec<u8>> {
    let units = target.units.iter();
    let paths = units.flat_map(|unit| {
        let left = unit.state.left_out.iter().filter_map(|left| full(&unit.prefix, &left.path));
        // All of a nested work tree is its prefix and a `/`.
        let lost = unit.missing.iter().map(|path| match &**path {
            b"/" => unit.prefix.clone(),
            path => [&*unit.prefix, path].concat(),
        });
        left.chain(lost)
    });
    paths.map(|path| path.strip_suffix(b"/").map(<[u8]>::to_vec).unwrap_or(path)).collect()
}

/// Paths that the snapshot's index expected not to be there.
fn sparse_paths(target: &Contents) -> Result<HashSet<Vec<u8>>, GitError> {
    let mut sparse = HashSet::new();
    for unit in &target.units {
        let Some(id) = unit.index else { continue };
        let shared = unit.shared_index.map(|id| target.read(id)).transpose()?;
        let index = Index::parse(Path::new("index"), &target.read(id)?, |_| {
            shared.clone().ok_or(GitError::Missing(id))
        })?;
        let entries = index.entries.into_iter().filter(|entry| entry.skip_worktree);
        sparse.extend(entries.map(|entry| [&*unit.prefix, &entry.path].concat()));
    }
    Ok(sparse)
}

/// Empty directories and the modes of all.
fn settle_directories(
    root: &Directory,
    target: &Contents,
    present: Option<&Contents>,
) -> std::io::Result<()> {
    for unit in &target.units {
        let empty: Vec<Vec<u8>> =
            unit.state.empty_directories.iter().filter_map(|path| unescape(path)).collect();
        for path in &empty {
            root.make_directory(&[&*unit.prefix, path].concat())?;
        }
        let files = unit.files.keys();
        let mut directories: BTreeSet<&[u8]> = files
            .flat_map(|path| (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]))
            .collect();
        directories.extend(empty.iter().map(|path| &**path));
        // The deepest first: one that can't be written to closes behind us.
        for path in directories.into_iter().rev() {
            let wanted = permissions(&unit.state, path, EntryMode::Directory);
            let at = [&*unit.prefix, path].concat();
            if root.stat(&at)?.is_some_and(|stat| stat.st_mode & 0o7777 != wanted) {
                root.set_mode(&at, wanted)?;
            }
        }
    }
    let wanted: HashSet<Vec<u8>> = target
        .units
        .iter()
        .flat_map(|unit| {
            unit.state.empty_directories.iter().filter_map(|it| full(&unit.prefix, it))
        })
        .collect();
    for unit in present.into_iter().flat_map(|present| &present.units) {
        for path in unit.state.empty_directories.iter().rev() {
            if let Some(at) = full(&unit.prefix, path).filter(|at| !wanted.contains(at)) {
                root.remove_empty(&at);
                // It may have been all that was left in those above.
                let above = (0..at.len()).rev().filter(|end| at[*end] == b'/');
                let mut above =
                    above.map(|end| &at[..end]).take_while(|above| !wanted.contains(*above));
                let _ = above.all(|above| root.remove_empty(above));
            }
        }
    }
    Ok(())
}
