//! What each file was when its content was last read, so that an unchanged one is not read again.
//!
//! Ours, and not git's index: git's knows the content after filters, and we need the bytes.
//!
//! Invariants
//! - SC1  An entry is kept only if the file was last changed well before the snapshot began: a change after that has
//!   another time, even on a coarse clock.
//! - SC2  A cache that is not whole is no cache.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use super::walk::FileStat;
use crate::git::error::{At, GitError};
use crate::git::object::ObjectId;
use crate::git::repository::read_optional;

const MAGIC: &[u8; 8] = b"PerSC 3\n";
/// Of the checksum at the end: it tells a torn file from a whole one.
const SUM: usize = 8;
/// Of the commit that borrowed entries are of.
const BORROWED_OF: usize = MAGIC.len() + 60;
/// Of all that precedes the entries.
const HEADER: usize = BORROWED_OF + 20;
const NONE: ObjectId = ObjectId([0; 20]);
/// In the mode of an entry: the base reaches its content. No mode has it.
const BORROWED: u32 = 1 << 31;
const MOST_BYTES: u64 = 1 << 30;
/// Kernels may stamp a file with the time of the last tick.
const MARGIN_NS: i64 = 20_000_000;

/// The snapshot that a cache was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    pub commit: ObjectId,
    pub tree: ObjectId,
    pub base: Option<ObjectId>,
}

#[derive(Debug, Default)]
pub struct StatCache {
    bytes: Vec<u8>,
}

impl StatCache {
    pub fn load(path: &Path) -> StatCache {
        let bytes = read_optional(path, MOST_BYTES).ok().flatten().unwrap_or_default();
        let is_whole = bytes.len() >= HEADER + SUM && bytes.starts_with(MAGIC) && {
            let (body, sum) = bytes.split_at(bytes.len() - SUM);
            checksum(body) == *sum
        };
        if is_whole { StatCache { bytes } } else { StatCache::default() }
    }

    pub fn last(&self) -> Option<Last> {
        let id = |at: usize| {
            let at = MAGIC.len() + at * 20;
            ObjectId::from_slice(self.bytes.get(at..at + 20)?)
        };
        Some(Last { commit: id(0)?, tree: id(1)?, base: id(2).filter(|id| *id != NONE) })
    }

    pub fn files(&self) -> CachedFiles<'_> {
        let mut files = CachedFiles::default();
        let Some(id) = self.bytes.get(BORROWED_OF..HEADER) else { return files };
        files.borrowed_of = ObjectId::from_slice(id).filter(|id| *id != NONE);
        let mut rest = &self.bytes[HEADER..self.bytes.len() - SUM];
        while let Some(StoredDirectory { path, count, inside, after }) = directory(rest) {
            files.count += count;
            files.directories.insert(path, inside);
            rest = after;
        }
        files
    }
}

/// The entries of a cache by directory, each directory's in the order of their names.
#[derive(Debug, Default)]
pub struct CachedFiles<'a> {
    directories: HashMap<&'a [u8], &'a [u8]>,
    count: usize,
    borrowed_of: Option<ObjectId>,
}

impl<'a> CachedFiles<'a> {
    pub fn len(&self) -> usize {
        self.count
    }

    /// The commit whose objects entries may be told to be of.
    pub fn borrowed_of(&self) -> Option<ObjectId> {
        self.borrowed_of
    }

    /// What is known of the files of a directory, whose path ends in `/` unless it is the top.
    pub fn directory(&self, path: &[u8]) -> CachedDirectory<'a> {
        CachedDirectory { rest: self.directories.get(path).copied().unwrap_or_default() }
    }
}

/// The content of a file that is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub id: ObjectId,
    /// The base commit reaches it.
    pub is_borrowed: bool,
}

/// The entries of one directory, which are asked for in the order of their names.
#[derive(Debug, Clone, Copy)]
pub struct CachedDirectory<'a> {
    rest: &'a [u8],
}

impl CachedDirectory<'_> {
    /// What is known of a file that is as it was. Names that come before one that was asked for are not found any more.
    pub fn find(&mut self, name: &[u8], stat: &FileStat) -> Option<Known> {
        while let Some((first, rest)) = entry(self.rest) {
            let order = first.cmp(name);
            if order == Ordering::Greater {
                return None;
            }
            let bytes = std::mem::replace(&mut self.rest, rest);
            if order == Ordering::Equal {
                return known(bytes).filter(|(then, _)| then == stat).map(|(_, known)| known);
            }
        }
        None
    }
}

/// Of our own caches; not against somebody who wants to deceive. Four words at a time: it is asked for with every snapshot.
pub fn checksum(bytes: &[u8]) -> [u8; SUM] {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| {
        let product = u128::from(sum ^ word) * u128::from(PRIME);
        (product >> 64) as u64 ^ product as u64 ^ word.rotate_left(32)
    };
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let mut sums = [1, 2, 3, 4].map(|lane| PRIME.wrapping_mul(lane));
    let blocks = bytes.chunks_exact(32);
    let rest = blocks.remainder();
    for block in blocks {
        for (sum, part) in sums.iter_mut().zip(block.chunks_exact(8)) {
            *sum = mix(*sum, word(part));
        }
    }
    for (at, part) in rest.chunks(8).enumerate() {
        sums[at] = mix(sums[at], word(part));
    }
    sums.into_iter().fold(bytes.len() as u64, mix).to_le_bytes()
}

/// Of what precedes the name of an entry.
const HEAD: usize = 60;

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let number = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
    usize::try_from(number).ok()
}

/// A directory as it is stored.
struct StoredDirectory<'a> {
    path: &'a [u8],
    /// How many entries it has.
    count: usize,
    /// Their bytes.
    inside: &'a [u8],
    /// What follows it.
    after: &'a [u8],
}

fn directory(bytes: &[u8]) -> Option<StoredDirectory<'_>> {
    let (length, count, size) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?, u32_at(bytes, 8)?);
    let (path, rest) = bytes.get(12..)?.split_at_checked(length)?;
    let (inside, after) = rest.split_at_checked(size)?;
    Some(StoredDirectory { path, count, inside, after })
}

/// The name of an entry, and what follows it.
fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.get(HEAD..)?.split_at_checked(u32_at(bytes, 0)?)
}

fn known(bytes: &[u8]) -> Option<(FileStat, Known)> {
    let word = |at: usize| -> Option<u64> {
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let mode = u32::try_from(u32_at(bytes, 4)?).ok()?;
    let stat = FileStat {
        mode: mode & !BORROWED,
        modified_ns: word(8)?.cast_signed(),
        changed_ns: word(16)?.cast_signed(),
        size: word(24)?,
        inode: word(32)?,
    };
    let id = ObjectId::from_slice(bytes.get(40..HEAD)?)?;
    Some((stat, Known { id, is_borrowed: mode & BORROWED != 0 }))
}

/// A cache in the making.
#[derive(Debug)]
pub struct NewStatCache {
    bytes: Vec<u8>,
    entries: usize,
    before_ns: i64,
    /// Where the numbers of the directory are that is being written: how many entries it has, and their size.
    counts_at: usize,
    /// Its path.
    directory: Option<Vec<u8>>,
}

impl NewStatCache {
    pub fn begin(now_ns: i64) -> NewStatCache {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(HEADER, 0);
        let before_ns = now_ns - MARGIN_NS;
        NewStatCache { bytes, entries: 0, before_ns, counts_at: 0, directory: None }
    }

    pub fn len(&self) -> usize {
        self.entries
    }

    /// Entries that are told to be borrowed are of this commit.
    pub fn borrows_of(&mut self, base: Option<ObjectId>) {
        self.bytes[BORROWED_OF..HEADER].copy_from_slice(&base.unwrap_or(NONE).0);
    }

    /// All entries are those of another cache.
    pub fn keep(&mut self, all: &StatCache, entries: usize) {
        self.bytes = all.bytes[..all.bytes.len() - SUM].to_vec();
        self.entries = entries;
    }

    /// Adds a file. Those of a directory come one after the other, in the order of their names; the directory's path, in two
    /// parts, ends in `/` unless it is the top.
    pub fn add(&mut self, directory: (&[u8], &[u8]), name: &[u8], stat: &FileStat, known: Known) {
        // SC1.
        if stat.modified_ns >= self.before_ns || stat.changed_ns >= self.before_ns {
            return;
        }
        self.enter(directory);
        self.entries += 1;
        let mode = stat.mode | if known.is_borrowed { BORROWED } else { 0 };
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&(name.len() as u32).to_le_bytes());
        head[4..8].copy_from_slice(&mode.to_le_bytes());
        head[8..16].copy_from_slice(&stat.modified_ns.to_le_bytes());
        head[16..24].copy_from_slice(&stat.changed_ns.to_le_bytes());
        head[24..32].copy_from_slice(&stat.size.to_le_bytes());
        head[32..40].copy_from_slice(&stat.inode.to_le_bytes());
        head[40..].copy_from_slice(&known.id.0);
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(name);
        self.count(self.counts_at, 1);
        self.count(self.counts_at + 4, HEAD + name.len());
    }

    fn enter(&mut self, (above, below): (&[u8], &[u8])) {
        let is_same = self.directory.as_deref().is_some_and(|path| {
            path.len() == above.len() + below.len()
                && path.starts_with(above)
                && path.ends_with(below)
        });
        if !is_same {
            let path = [above, below].concat();
            self.bytes.extend_from_slice(&(path.len() as u32).to_le_bytes());
            self.counts_at = self.bytes.len();
            self.bytes.extend_from_slice(&[0; 8]);
            self.bytes.extend_from_slice(&path);
            self.directory = Some(path);
        }
    }

    fn count(&mut self, at: usize, more: usize) {
        let place = &mut self.bytes[at..at + 4];
        let sum = u32_at(place, 0).unwrap_or(0) + more;
        place.copy_from_slice(&(sum as u32).to_le_bytes());
    }

    /// Writes it in the place of the old one. It need not be durable: a lost cache costs time only.
    pub fn save(mut self, path: &Path, last: Last) -> Result<(), GitError> {
        let ids = [last.commit, last.tree, last.base.unwrap_or(NONE)];
        for (at, id) in ids.into_iter().enumerate() {
            let at = MAGIC.len() + at * 20;
            self.bytes[at..at + 20].copy_from_slice(&id.0);
        }
        let sum = checksum(&self.bytes);
        self.bytes.extend_from_slice(&sum);
        let temporary = path.with_extension("new");
        std::fs::write(&temporary, &self.bytes).at(&temporary)?;
        std::fs::rename(&temporary, path).at(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::{ObjectKind, hash};

    #[test]
    fn entries_come_back_and_fresh_ones_are_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache");
        let stat =
            |ns| FileStat { modified_ns: ns, changed_ns: ns, size: 3, inode: 4, mode: 0o100_644 };
        let id = hash(ObjectKind::Blob, b"x");
        let last = Last { commit: id, tree: id, base: None };
        let known = Known { id, is_borrowed: true };
        let mut cache = NewStatCache::begin(1_000_000_000);
        cache.borrows_of(Some(id));
        cache.add((b"a/", b"b/"), b"fresh", &stat(990_000_000), known);
        cache.add((b"a/", b"b/"), b"old", &stat(5), known);
        cache.add((b"a/", b"b/"), b"older", &stat(4), known);
        cache.add((b"", b""), b"old", &stat(3), Known { is_borrowed: false, ..known });
        assert_eq!(cache.len(), 3);
        cache.save(&path, last).unwrap();
        let loaded = StatCache::load(&path);
        assert_eq!(loaded.last(), Some(last));
        let files = loaded.files();
        assert_eq!((files.len(), files.borrowed_of()), (3, Some(id)));
        let mut inside = files.directory(b"a/b/");
        assert_eq!(inside.find(b"fresh", &stat(990_000_000)), None);
        assert_eq!(inside.find(b"old", &stat(5)), Some(known));
        assert_eq!(inside.find(b"older", &stat(5)), None, "it is another one now");
        let top = files.directory(b"").find(b"old", &stat(3));
        assert_eq!(top, Some(Known { is_borrowed: false, ..known }));
        assert_eq!(files.directory(b"b/").find(b"old", &stat(5)), None);
        let mut same = NewStatCache::begin(0);
        same.keep(&loaded, files.len());
        same.save(&path, last).unwrap();
        let files = StatCache::load(&path);
        assert_eq!(files.files().directory(b"a/b/").find(b"old", &stat(5)), Some(known));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[90] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(StatCache::load(&path).last(), None);
    }
}
