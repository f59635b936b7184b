//! The one thing that a snapshot writes to the owner's repository: a ref on the commit that it builds on, so that
//! `git gc` keeps that commit's objects. While its branch has the commit, the ref brings nothing else with it; after an amend
//! or a rebase it keeps the abandoned commit: `git log --all` shows it, and `git push --mirror` publishes it.
//!
//! No reflog is written and no hook runs. The ref names the store that needs it (`refs/perennial/base/<store>/<commit>`).
//! Earlier versions wrote `refs/perennial/base/<commit>`, which says nothing about who needs it.
//!
//! Invariants
//! - BR1  Links below the git directory are not followed: the ref is written in this repository or not at all.
//! - BR2  A ref that is there has its own commit as its value; it is never moved.
//! - BR3  A store removes refs under its own name only, and those without a name only if it comes from a version that wrote them.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};

use super::error::{At, GitError};
use super::object::ObjectId;
use super::repository::{MOST_REFS, Repository, read_optional};
use crate::regular_file::{self, Links};

const PLACE: [&str; 3] = ["refs", "perennial", "base"];

/// Whose refs these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefOwner {
    /// A name of one store, in hexadecimal digits; shorter than a commit, so that it is none.
    pub name: String,
    /// Whether its store has snapshots of a version whose refs named nobody.
    pub has_earlier: bool,
}

fn name(owner: Option<&str>, commit: ObjectId) -> String {
    let owner = owner.map(|owner| format!("{owner}/")).unwrap_or_default();
    format!("{}/{owner}{commit}", PLACE.join("/"))
}

/// Whether the ref was there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Before,
    Now,
}

/// Makes sure that the repository keeps a commit.
pub fn keep(repository: &Repository, owner: &RefOwner, commit: ObjectId) -> Result<Kept, GitError> {
    if repository.resolve(&name(Some(&owner.name), commit))? == Some(commit) {
        return Ok(Kept::Before);
    }
    keep_in(&repository.common_dir, owner, commit)?;
    Ok(Kept::Now)
}

/// The same by the git directory, whether the ref is there or not.
pub fn keep_in(common_dir: &Path, owner: &RefOwner, commit: ObjectId) -> Result<(), GitError> {
    let shown = common_dir.join(name(Some(&owner.name), commit));
    let directory = place(common_dir, Some(&owner.name), true).at(&shown)?;
    write(&directory, commit).at(&shown)
}

/// Whether the ref is there: then it is a repository that this store has kept the commit in.
pub fn is_kept(repository: &Repository, owner: &RefOwner, commit: ObjectId) -> bool {
    let names =
        [Some(name(Some(&owner.name), commit)), owner.has_earlier.then(|| name(None, commit))];
    let is_there =
        |name: String| repository.resolve(&name).is_ok_and(|found| found == Some(commit));
    names.into_iter().flatten().any(is_there)
}

/// Takes the ref away, wherever git has it. BR3
pub fn release(common_dir: &Path, owner: &RefOwner, commit: ObjectId) -> Result<(), GitError> {
    remove(common_dir, Some(&owner.name), commit)?;
    if owner.has_earlier {
        remove(common_dir, None, commit)?;
    }
    // Empty directories of ours go too; one that is not empty stays.
    let base = common_dir.join(PLACE.join("/"));
    let _ = std::fs::remove_dir(base.join(&owner.name));
    let _ = std::fs::remove_dir(base);
    let _ = std::fs::remove_dir(common_dir.join("refs/perennial"));
    Ok(())
}

fn remove(common_dir: &Path, owner: Option<&str>, commit: ObjectId) -> Result<(), GitError> {
    let name = name(owner, commit);
    let shown = common_dir.join(&name);
    // The packed one first: it would come back to life when the loose one is gone.
    unpack(common_dir, &name, commit)?;
    match place(common_dir, owner, false) {
        Ok(directory) => {
            match rustix::fs::unlinkat(&directory, commit.to_string(), AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
                Err(error) => Err(error).at(&shown),
            }
        }
        // Git removes directories that became empty when it packs refs.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).at(&shown),
    }
}

fn place(common_dir: &Path, owner: Option<&str>, may_make: bool) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let mut at = rustix::fs::open(common_dir, flags, Mode::empty())?;
    for part in PLACE.into_iter().chain(owner) {
        if may_make {
            match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        at = rustix::fs::openat(&at, part, flags, Mode::empty())?;
    }
    Ok(at)
}

fn write(directory: &OwnedFd, commit: ObjectId) -> io::Result<()> {
    let lock = format!("{commit}.lock");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = match rustix::fs::openat(directory, &lock, flags, Mode::from_raw_mode(0o666)) {
        // Left by a daemon that was killed: only we write here, and what would be written is always the same.
        Err(rustix::io::Errno::EXIST) => {
            rustix::fs::unlinkat(directory, &lock, AtFlags::empty())?;
            rustix::fs::openat(directory, &lock, flags, Mode::from_raw_mode(0o666))?
        }
        opened => opened?,
    };
    let mut file = std::fs::File::from(opened);
    writeln!(file, "{commit}")?;
    file.sync_all()?;
    rustix::fs::renameat(directory, &lock, directory, commit.to_string())?;
    rustix::fs::fsync(directory)?;
    Ok(())
}

/// Takes the ref out of `packed-refs`, by git's own lock.
fn unpack(common_dir: &Path, name: &str, commit: ObjectId) -> Result<(), GitError> {
    let path = common_dir.join("packed-refs");
    let line = format!("{commit} {name}\n").into_bytes();
    let holds = |bytes: &[u8]| memchr::memmem::find(bytes, &line);
    if read_optional(&path, MOST_REFS)?.is_none_or(|bytes| holds(&bytes).is_none()) {
        return Ok(());
    }
    let lock = common_dir.join("packed-refs.lock");
    let mut file = match std::fs::OpenOptions::new().write(true).create_new(true).open(&lock) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(GitError::Locked(lock));
        }
        opened => opened.at(&lock)?,
    };
    let written = (|| -> io::Result<()> {
        // Read again: somebody may have packed refs before we had the lock.
        let bytes = regular_file::read(&path, Links::Refuse, MOST_REFS)?;
        let Some(at) = holds(&bytes) else { return std::fs::remove_file(&lock) };
        let mut end = at + line.len();
        // A peeled value belongs to the line before it.
        if bytes.get(end) == Some(&b'^') {
            end += bytes[end..].iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        }
        file.write_all(&bytes[..at])?;
        file.write_all(&bytes[end..])?;
        file.set_permissions(std::fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        std::fs::rename(&lock, &path)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&lock);
    }
    written.at(&path)
}
