//! Which repositories a store borrows objects from: `objects/info/alternates`, and `shallow`, the ends of their history.
//!
//! Invariants
//! - BO1  Every repository that a snapshot in the store borrows from is listed.
//! - BO2  Neither list ends snapshots, however many repositories an agent makes and whatever is in their `shallow`: one that is
//!   full, or can't be read, is made again of what is needed. Where there is no room for a nested repository, nothing is
//!   borrowed from it, and everything is copied.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::drop::bases;
use super::store::{SnapshotStore, write_durably};
use crate::git::error::GitError;
use crate::git::object::ObjectId;
use crate::git::repository::{Repository, read_optional};

/// Of each file.
const MOST_LIST: u64 = 1 << 20;
/// Each is looked through for an object that is not found before it.
const MOST_BORROWED: usize = 60;
/// In the store.
const ALTERNATES: &str = "objects/info/alternates";

/// Borrows the objects of a repository from now on. `false` if that can't be written in the list. `taking` are those
/// that are borrowed from for the snapshot that is being taken.
pub fn borrow(
    store: &SnapshotStore,
    repository: &Repository,
    taking: &mut HashSet<PathBuf>,
) -> Result<bool, GitError> {
    let objects = repository.objects_dir();
    let line = objects.as_os_str().as_bytes();
    if line.contains(&b'\n') || line.starts_with(b"\"") || line.starts_with(b"#") {
        return Ok(false);
    }
    let listed = listed(store);
    let is_listed = listed.as_ref().is_some_and(|all| all.contains(&objects));
    if !is_listed {
        let is_full = |all: &Vec<PathBuf>| all.len() >= MOST_BORROWED;
        let mut all = match listed {
            Some(all) if !is_full(&all) => all,
            Some(_) | None => needed(store, taking)?,
        };
        // The first of a snapshot is the project's own: it always has its place.
        if is_full(&all) && !taking.is_empty() {
            return Ok(false);
        }
        all.push(objects.clone());
        write(store, &all)?;
    }
    taking.insert(objects);
    list_shallow(store, repository)?;
    Ok(true)
}

/// Forgets repositories that nothing in the store borrows from any more.
pub fn forget_others(store: &SnapshotStore, common_dirs: &HashSet<&Path>) -> Result<(), GitError> {
    let Some(all) = listed(store) else { return Ok(()) };
    let is_needed = |objects: &Path| objects.parent().is_some_and(|it| common_dirs.contains(it));
    let left: Vec<PathBuf> = all.iter().filter(|one| is_needed(one)).cloned().collect();
    if left.len() == all.len() { Ok(()) } else { write(store, &left) }
}

/// The list; `None` if it can't be read.
fn listed(store: &SnapshotStore) -> Option<Vec<PathBuf>> {
    let bytes = read_optional(&store.path().join(ALTERNATES), MOST_LIST).ok()?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Some(lines.map(|line| PathBuf::from(OsStr::from_bytes(line))).collect())
}

/// BO1
fn needed(store: &SnapshotStore, taking: &HashSet<PathBuf>) -> Result<Vec<PathBuf>, GitError> {
    let (objects, mut found) = (store.objects()?, HashSet::new());
    for commit in store.commits()? {
        bases(&objects, commit, &mut found)?;
    }
    let mut all: HashSet<PathBuf> =
        found.into_iter().map(|(common_dir, _)| common_dir.join("objects")).collect();
    all.extend(taking.iter().cloned());
    let mut all: Vec<PathBuf> = all.into_iter().collect();
    all.sort();
    Ok(all)
}

fn write(store: &SnapshotStore, all: &[PathBuf]) -> Result<(), GitError> {
    let lines = all.iter().flat_map(|one| [one.as_os_str().as_bytes(), b"\n"]);
    write_durably(&store.path().join(ALTERNATES), &lines.collect::<Vec<_>>().concat())
}

/// Where the owner's history ends, ours does too. Only git reads it, and only where somebody looks at the store with git.
fn list_shallow(store: &SnapshotStore, repository: &Repository) -> Result<(), GitError> {
    let read = |path: &Path| read_optional(path, MOST_LIST).ok().flatten().unwrap_or_default();
    let commits = |bytes: Vec<u8>| -> Vec<ObjectId> {
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| ObjectId::parse(std::str::from_utf8(line).ok()?)).collect()
    };
    let theirs = commits(read(&repository.common_dir.join("shallow")));
    if theirs.is_empty() {
        return Ok(());
    }
    let path = store.path().join("shallow");
    let before = commits(read(&path));
    let known: HashSet<ObjectId> = before.iter().copied().collect();
    let new: Vec<ObjectId> = theirs.iter().filter(|one| !known.contains(one)).copied().collect();
    if new.is_empty() {
        return Ok(());
    }
    let most = usize::try_from(MOST_LIST / 41).unwrap_or(usize::MAX);
    // BO2: those of the repository at hand are what is needed.
    let all = if before.len() + new.len() <= most { [before, new].concat() } else { theirs };
    let lines: String = all.iter().take(most).map(|one| format!("{one}\n")).collect();
    write_durably(&path, lines.as_bytes())
}
