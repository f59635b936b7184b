//! Puts an index back: through `index.lock`, as git does, and with its old time, by which git knows which of its
//! entries it may trust.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Timespec, Timestamps};

use super::contents::{Contents, Unit};
use super::path_text::escape;
use crate::git::error::{At, GitError};
use crate::git::index::Index;
use crate::git::object::{EntryMode, ObjectKind};
use crate::git::object_store::{ObjectStore, write_loose};
use crate::git::repository::Repository;

/// The lock of an index. It is taken before any file is touched, and goes away unless the index is put in its place.
/// It has a second name that nobody else uses: by that a lock is known that a killed daemon left, and is taken over.
#[derive(Debug)]
pub struct IndexLock {
    path: PathBuf,
    own: PathBuf,
    file: std::fs::File,
    is_done: bool,
}

impl IndexLock {
    pub fn take(repository: &Repository) -> Result<IndexLock, GitError> {
        let path = repository.git_dir.join("index.lock");
        let own = repository.git_dir.join("perennial-index.lock");
        if is_same_file(&path, &own) {
            std::fs::remove_file(&path).at(&path)?;
        }
        let _ = std::fs::remove_file(&own);
        let file = std::fs::File::options().write(true).create_new(true).open(&own).at(&own)?;
        match std::fs::hard_link(&own, &path) {
            Ok(()) => Ok(IndexLock { path, own, file, is_done: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(GitError::Locked(path))
            }
            Err(error) => Err(error).at(&path),
        }
        .inspect_err(|_| _ = std::fs::remove_file(repository.git_dir.join("perennial-index.lock")))
    }

    /// Writes the index of a snapshot, and the staged objects that the repository has lost meanwhile. Tells which files'
    /// staged content is lost everywhere.
    pub fn put(
        mut self,
        repository: &Repository,
        contents: &Contents,
        unit: &Unit,
    ) -> Result<Vec<String>, GitError> {
        let Some(id) = unit.index else { return Ok(Vec::new()) };
        let bytes = contents.read(id)?;
        let shared = unit.shared_index.map(|id| contents.read(id)).transpose()?;
        let index = Index::parse(&self.path, &bytes, |_| {
            shared
                .clone()
                .ok_or_else(|| GitError::damaged(&self.path, "its shared part is missing"))
        })?;
        let lost = restore_objects(repository, contents, &index, unit)?;
        if let (Some(name), Some(bytes)) = (&index.shared, &shared) {
            write_shared(&repository.git_dir.join(name), bytes)?;
        }
        self.file.write_all(&bytes).at(&self.path)?;
        if let Some(modified) = unit.state.index_modified_ns {
            set_modified(&self.path, modified).at(&self.path)?;
        }
        self.file.sync_all().at(&self.path)?;
        let place = repository.index_path();
        std::fs::rename(&self.path, &place).at(&place)?;
        self.is_done = true;
        Ok(lost)
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = std::fs::remove_file(&self.own);
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = |path: &Path| path.symlink_metadata().ok().map(|it| (it.dev(), it.ino()));
    file(one).is_some_and(|it| file(other) == Some(it))
}

fn restore_objects(
    repository: &Repository,
    contents: &Contents,
    index: &Index,
    unit: &Unit,
) -> Result<Vec<String>, GitError> {
    let mut lost = Vec::new();
    let objects = repository.objects_dir();
    let owners = ObjectStore::open(&objects)?;
    for entry in &index.entries {
        let is_blob = match entry.mode {
            EntryMode::File | EntryMode::Executable | EntryMode::Symlink => true,
            EntryMode::Directory | EntryMode::Repository => false,
        };
        let was_missing = || unit.state.staged_missing.contains(&entry.id.to_string());
        if is_blob && !entry.intent_to_add && !owners.has(entry.id)? && !was_missing() {
            match contents.read(entry.id) {
                Ok(bytes) => _ = write_loose(&objects, ObjectKind::Blob, &bytes)?,
                Err(_) => lost.push(escape(&[&*unit.prefix, &entry.path].concat())),
            }
        }
    }
    Ok(lost)
}

fn write_shared(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    if path.exists() {
        return Ok(());
    }
    let temporary = path.with_extension("perennial");
    std::fs::write(&temporary, bytes).at(&temporary)?;
    std::fs::rename(&temporary, path).at(path)
}

fn set_modified(path: &Path, modified_ns: i64) -> io::Result<()> {
    let time = Timespec {
        tv_sec: modified_ns.div_euclid(1_000_000_000),
        tv_nsec: modified_ns.rem_euclid(1_000_000_000) as _,
    };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(rustix::fs::CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}
