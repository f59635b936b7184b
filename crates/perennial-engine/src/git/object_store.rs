//! Reads objects: loose ones, packs, and those of alternates. Writes none, but `write_loose`, which `restore --index`
//! needs.
//!
//! Invariants
//! - OS1  What is there is found when the store is opened. An object that somebody adds later may be missed, never
//!   taken for another.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flate2::Compression;

use super::error::{At, GitError};
use super::object::{ObjectId, ObjectKind, hash};
use super::pack_file::{CIRCLE, Limits, MOST_OBJECT, PackFile, Unpacked};
use super::repository::{is_absent, read_optional};
use crate::regular_file::{self, Links};

/// Of directories that name each other as alternates.
const MOST_ALTERNATES: usize = 64;
/// Bases of deltas are kept until they are this many bytes.
const MOST_CACHED: usize = 16 << 20;
/// Of one tree: a million files in one directory.
const MOST_TREE: usize = 64 << 20;
/// What a delta of a delta in another pack may come to.
const MOST_HOPS: usize = 64;

#[derive(Debug)]
pub struct ObjectStore {
    directories: Vec<PathBuf>,
    packs: Vec<PackFile>,
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    objects: HashMap<(usize, u64), (ObjectKind, Vec<u8>)>,
    size: usize,
}

impl ObjectStore {
    /// Opens an `objects` directory and what its alternates name. What can't be read of them is left out: an object
    /// of theirs is then missing, and that is said when it is needed.
    pub fn open(objects: &Path) -> Result<ObjectStore, GitError> {
        let directories = with_alternates(objects);
        let mut packs = Vec::new();
        for directory in &directories {
            let at = directory.join("pack");
            let listed = match std::fs::read_dir(&at) {
                Err(error) if is_absent(&error) => continue,
                Err(error) => {
                    tracing::debug!(%error, at = %at.display(), "packs can't be listed");
                    continue;
                }
                Ok(listed) => listed,
            };
            for entry in listed.flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "idx") {
                    match PackFile::open(&path) {
                        Ok(pack) => packs.push(pack),
                        Err(error) => tracing::debug!(%error, "a pack can't be read"),
                    }
                }
            }
        }
        Ok(ObjectStore { directories, packs, cache: Mutex::default() })
    }

    fn cached(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has(&self, id: ObjectId) -> Result<bool, GitError> {
        for pack in &self.packs {
            if pack.find(id)?.is_some() {
                return Ok(true);
            }
        }
        Ok(self.directories.iter().any(|directory| loose(directory, id).is_file()))
    }

    /// An object's kind and content. A content that does not have this id is damage.
    pub fn read(&self, id: ObjectId) -> Result<(ObjectKind, Vec<u8>), GitError> {
        let (kind, bytes) = self.read_unchecked(id, &mut Vec::new(), &mut Limits::default())?;
        if hash(kind, &bytes) != id {
            return Err(GitError::damaged(
                &self.directories[0],
                "an object's content is not its own",
            ));
        }
        Ok((kind, bytes))
    }

    pub fn read_kind(&self, id: ObjectId, expected: ObjectKind) -> Result<Vec<u8>, GitError> {
        let (kind, bytes) = self.read(id)?;
        if kind != expected {
            return Err(GitError::damaged(&self.directories[0], "an object is of another kind"));
        }
        // Its entries take many times as much memory.
        if kind == ObjectKind::Tree && bytes.len() > MOST_TREE {
            return Err(GitError::damaged(&self.directories[0], "a tree in it is too large"));
        }
        Ok(bytes)
    }

    /// `hops` are the objects that this one is a base of, in packs that lack it.
    fn read_unchecked(
        &self,
        id: ObjectId,
        hops: &mut Vec<ObjectId>,
        limits: &mut Limits,
    ) -> Result<(ObjectKind, Vec<u8>), GitError> {
        if hops.len() > MOST_HOPS {
            return Err(GitError::Missing(id));
        }
        for (number, pack) in self.packs.iter().enumerate() {
            let Some(offset) = pack.find(id)? else { continue };
            let cached = |at| self.cached().objects.get(&(number, at)).cloned();
            let (kind, bytes) = match pack.unpack(offset, limits, cached)? {
                Unpacked::Whole(kind, bytes) => (kind, bytes),
                Unpacked::Deltas(base, _) if base == id || hops.contains(&base) => {
                    return Err(pack.damaged(CIRCLE));
                }
                Unpacked::Deltas(base, deltas) => {
                    hops.push(id);
                    let (kind, bytes) = self.read_unchecked(base, hops, limits)?;
                    let applied = limits.apply(bytes, deltas);
                    (kind, applied.map_err(|fault| pack.damaged(fault))?)
                }
            };
            self.remember((number, offset), kind, &bytes);
            return Ok((kind, bytes));
        }
        for directory in &self.directories {
            let path = loose(directory, id);
            match regular_file::open(&path, Links::Follow) {
                Err(error) if is_absent(&error) => {}
                opened => return read_loose(opened.at(&path)?, &path),
            }
        }
        Err(GitError::Missing(id))
    }

    /// Trees are often deltas of each other.
    fn remember(&self, key: (usize, u64), kind: ObjectKind, bytes: &[u8]) {
        if kind != ObjectKind::Tree || bytes.len() > MOST_CACHED / 16 {
            return;
        }
        let mut cache = self.cached();
        if cache.size > MOST_CACHED {
            *cache = Cache::default();
        }
        cache.size += bytes.len();
        cache.objects.insert(key, (kind, bytes.to_owned()));
    }
}

fn loose(directory: &Path, id: ObjectId) -> PathBuf {
    let hex = id.to_string();
    directory.join(&hex[..2]).join(&hex[2..])
}

fn read_loose(file: std::fs::File, path: &Path) -> Result<(ObjectKind, Vec<u8>), GitError> {
    let mut bytes = Vec::new();
    let decoder = flate2::read::ZlibDecoder::new(file);
    decoder.take(MOST_OBJECT + 32).read_to_end(&mut bytes).at(path)?;
    let damaged = || GitError::damaged(path, "it is not an object");
    let zero = memchr::memchr(0, &bytes[..bytes.len().min(32)]).ok_or_else(damaged)?;
    let head = std::str::from_utf8(&bytes[..zero]).map_err(|_| damaged())?;
    let (word, size) = head.split_once(' ').ok_or_else(damaged)?;
    let kind = ObjectKind::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(damaged)?;
    if size.parse() != Ok(bytes.len() - zero - 1) {
        return Err(damaged());
    }
    bytes.drain(..=zero);
    Ok((kind, bytes))
}

/// A directory of objects and those that it borrows from.
fn with_alternates(objects: &Path) -> Vec<PathBuf> {
    let (mut found, mut seen) = (vec![objects.to_owned()], HashSet::new());
    seen.insert(objects.to_owned());
    let mut at = 0;
    while at < found.len() && found.len() < MOST_ALTERNATES {
        let from = found[at].clone();
        at += 1;
        let listed = read_optional(&from.join("info/alternates"), 1 << 20);
        let listed = listed.ok().flatten().unwrap_or_default();
        for line in listed.split(|byte| *byte == b'\n') {
            if line.is_empty() || line[0] == b'#' {
                continue;
            }
            let path = from.join(Path::new(std::ffi::OsStr::from_bytes(line)));
            if path.is_dir() && seen.insert(path.clone()) {
                found.push(path);
            }
        }
    }
    found
}

/// Adds one object to a repository, if it is not there as a loose one.
pub fn write_loose(objects: &Path, kind: ObjectKind, bytes: &[u8]) -> Result<ObjectId, GitError> {
    let id = hash(kind, bytes);
    let path = loose(objects, id);
    if path.is_file() {
        return Ok(id);
    }
    let directory = path.parent().unwrap_or(objects);
    let write = || -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let temporary = directory.join(format!("tmp_obj_perennial_{}", std::process::id()));
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        let mut encoder = flate2::write::ZlibEncoder::new(file, Compression::new(1));
        write!(encoder, "{} {}\0", kind.word(), bytes.len())?;
        encoder.write_all(bytes)?;
        let file = encoder.finish()?;
        let mut permissions = file.metadata()?.permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o444);
        file.set_permissions(permissions)?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)
    };
    write().at(&path)?;
    Ok(id)
}
