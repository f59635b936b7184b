//! The bare repository that holds the snapshots of one project, in the state directory. It borrows the objects of
//! the owner's repository; `git` can read it.
//!
//! Invariants
//! - ST1  A snapshot is there once its ref is: the ref is written after the pack, and both are durable.
//! - ST2  One process writes at a time (`writing.lock`). What an earlier one left half done is removed then.

use std::collections::HashSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Timespec, Timestamps};

use super::base_owner;
use super::pack_writer::{TEMPORARY, sync_directory};
use super::walk::FileStat;
use crate::git::base_ref::RefOwner;
use crate::git::error::{At, GitError};
use crate::git::id_set::IdSet;
use crate::git::object::{ObjectId, ObjectKind, hash};
use crate::git::object_store::ObjectStore;
use crate::git::pack_file::PackFile;
use crate::git::repository::{Repository, is_absent, read_optional};
use crate::regular_file;

/// Of the names of stores and caches: enough hexadecimal digits to tell paths apart.
const DIGITS: usize = 12;

/// A lock that somebody has is tried again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n\
                      [receive]\n\tdenyUpdates = true\n";

#[derive(Debug, Clone)]
pub struct SnapshotStore {
    path: PathBuf,
}

impl SnapshotStore {
    /// Where the snapshots of a repository are: work trees of one repository share a store.
    pub fn of(snapshots: &Path, repository: &Repository) -> SnapshotStore {
        let common = repository.common_dir.as_os_str().as_bytes();
        let project = match repository.common_dir.file_name() {
            Some(name) if name != ".git" => repository.common_dir.file_name(),
            _ => repository.common_dir.parent().and_then(Path::file_name),
        };
        let readable: String = project
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' })
            .take(40)
            .collect();
        SnapshotStore { path: snapshots.join(format!("{readable}-{}.git", short(common))) }
    }

    pub fn at(path: impl Into<PathBuf>) -> SnapshotStore {
        SnapshotStore { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn packs(&self) -> PathBuf {
        self.path.join("objects/pack")
    }

    /// The stat cache of a work tree.
    pub fn cache(&self, work_tree: &Path) -> PathBuf {
        self.path.join("stat-cache").join(short(work_tree.as_os_str().as_bytes()))
    }

    /// The ids that a base commit's tree reaches.
    pub fn base(&self, commit: ObjectId) -> PathBuf {
        self.path.join("bases").join(commit.to_string())
    }

    /// Makes the repository, if there is none, and waits until nobody else writes to it, or until `go_on` says no.
    pub fn lock(&self, go_on: &dyn Fn() -> bool) -> Result<StoreLock, GitError> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        for part in
            ["objects/pack", "objects/info", "refs/snapshots", "refs/heads", "stat-cache", "bases"]
        {
            let path = self.path.join(part);
            builder.create(&path).at(&path)?;
        }
        let path = self.path.join("writing.lock");
        let file = regular_file::open_to_append(&path).at(&path)?;
        while let Err(error) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(error).at(&path);
            }
            // Whoever has it may be stuck, and must not hold others with it.
            if !go_on() {
                return Err(GitError::Interrupted);
            }
            std::thread::park_timeout(LOOK_AGAIN);
        }
        for (name, text) in [("config", CONFIG), ("HEAD", "ref: refs/heads/none\n")] {
            let path = self.path.join(name);
            if !path.exists() {
                write_durably(&path, text.as_bytes())?;
            }
        }
        self.remove_leftovers()?;
        let owner = base_owner::of(self)?;
        let now_ns = touch(&file).at(&path)?;
        Ok(StoreLock { now_ns, owner, _file: file })
    }

    /// ST2.
    fn remove_leftovers(&self) -> Result<(), GitError> {
        let packs = self.packs();
        for entry in std::fs::read_dir(&packs).at(&packs)?.flatten() {
            if entry.file_name().as_bytes().starts_with(TEMPORARY.as_bytes()) {
                std::fs::remove_file(entry.path()).at(&entry.path())?;
            }
        }
        Ok(())
    }

    /// What the packs of this repository hold.
    pub fn own_ids(&self) -> Result<IdSet, GitError> {
        let (packs, mut ids) = (self.packs(), IdSet::default());
        for path in pack_indexes(&packs)? {
            ids.extend(PackFile::open(&path)?.ids()?);
        }
        Ok(ids)
    }

    pub fn objects(&self) -> Result<ObjectStore, GitError> {
        ObjectStore::open(&self.path.join("objects"))
    }

    /// Where the refs of a holder are: two who work in one tree may hold the same snapshot.
    fn refs(&self, holder: Option<&str>) -> PathBuf {
        let refs = self.path.join("refs/snapshots");
        holder.map(|holder| refs.join(holder)).unwrap_or(refs)
    }

    fn holders(&self) -> Result<Vec<PathBuf>, GitError> {
        let top = self.refs(None);
        let below = list(&top)?.into_iter().filter(|name| ObjectId::parse(name).is_none());
        let mut holders: Vec<PathBuf> = below.map(|name| top.join(name)).collect();
        holders.push(top);
        Ok(holders)
    }

    /// Whether anybody holds a snapshot.
    pub fn has(&self, commit: ObjectId) -> bool {
        self.holders().is_ok_and(|holders| holders.iter().any(|refs| is_ref(refs, commit)))
    }

    pub fn holds(&self, holder: Option<&str>, commit: ObjectId) -> bool {
        is_ref(&self.refs(holder), commit)
    }

    /// ST1.
    pub fn add_ref(&self, holder: Option<&str>, commit: ObjectId) -> Result<(), GitError> {
        let refs = self.refs(holder);
        if !refs.exists() {
            std::fs::create_dir(&refs).at(&refs)?;
            sync_directory(&self.refs(None))?;
        }
        write_durably(&refs.join(commit.to_string()), format!("{commit}\n").as_bytes())
    }

    /// Says that a snapshot was found to be the present again.
    pub fn renew_ref(&self, holder: Option<&str>, commit: ObjectId) -> Result<(), GitError> {
        let path = self.refs(holder).join(commit.to_string());
        let file = std::fs::File::options().append(true).open(&path).at(&path)?;
        touch(&file).at(&path)?;
        Ok(())
    }

    /// The snapshots of a holder that were taken, or found to be the present, in a time.
    pub fn refs_within(
        &self,
        holder: Option<&str>,
        (from_ns, to_ns): (i64, i64),
    ) -> Result<Vec<ObjectId>, GitError> {
        let refs = self.refs(holder);
        let is_within = |id: &ObjectId| {
            let stat = rustix::fs::stat(refs.join(id.to_string()));
            stat.is_ok_and(|stat| (from_ns..to_ns).contains(&FileStat::from(stat).modified_ns))
        };
        let ids = list(&refs)?.into_iter().filter_map(|name| ObjectId::parse(&name));
        Ok(ids.filter(is_within).collect())
    }

    pub fn remove_ref(&self, holder: Option<&str>, commit: ObjectId) -> Result<(), GitError> {
        let path = self.refs(holder).join(commit.to_string());
        match std::fs::remove_file(&path) {
            Err(error) if is_absent(&error) => {}
            removed => removed.at(&path)?,
        }
        // A directory that is not empty stays.
        let _ = holder.map(|_| std::fs::remove_dir(self.refs(holder)));
        Ok(())
    }

    /// All snapshots that are complete.
    pub fn commits(&self) -> Result<Vec<ObjectId>, GitError> {
        let mut commits = HashSet::new();
        for refs in self.holders()? {
            let ids = list(&refs)?.into_iter().filter_map(|name| ObjectId::parse(&name));
            commits.extend(ids.filter(|id| is_ref(&refs, *id)));
        }
        Ok(commits.into_iter().collect())
    }
}

/// Held while a snapshot is written.
#[derive(Debug)]
pub struct StoreLock {
    /// By the clock that stamps files.
    pub now_ns: i64,
    /// Of the refs on base commits.
    pub owner: RefOwner,
    _file: std::fs::File,
}

/// Stamps a file with the present, and tells what that is.
fn touch(file: &std::fs::File) -> io::Result<i64> {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW as _ };
    rustix::fs::futimens(file, &Timestamps { last_access: now, last_modification: now })?;
    Ok(FileStat::from(rustix::fs::fstat(file)?).modified_ns)
}

pub fn pack_indexes(packs: &Path) -> Result<Vec<PathBuf>, GitError> {
    let listed = match std::fs::read_dir(packs) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        listed => listed.at(packs)?,
    };
    let paths = listed.flatten().map(|entry| entry.path());
    Ok(paths
        .filter(|path| {
            let is_index = path.extension().is_some_and(|extension| extension == "idx");
            // An index without its pack is what a removal left behind.
            is_index && path.with_extension("pack").exists()
        })
        .collect())
}

/// The names in a directory; none if there is no directory.
fn list(path: &Path) -> Result<Vec<String>, GitError> {
    let listed = match std::fs::read_dir(path) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        listed => listed.at(path)?,
    };
    Ok(listed.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn is_ref(refs: &Path, commit: ObjectId) -> bool {
    let text = read_optional(&refs.join(commit.to_string()), 64).ok().flatten();
    text.is_some_and(|text| text == format!("{commit}\n").into_bytes())
}

pub fn short(bytes: &[u8]) -> String {
    hash(ObjectKind::Blob, bytes).to_string()[..DIGITS].to_owned()
}

pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = std::fs::File::create(&temporary)?;
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write().at(path)?;
    sync_directory(path.parent().unwrap_or(path))
}
