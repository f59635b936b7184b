//! What each file was when its content was last read, so that an unchanged one is not read again.
//!
//! Ours, and not git's index: git's knows the content after filters, and we need the bytes.
//!
//! Invariants
//! - SC1  An entry is kept only if the file was last changed well before the snapshot began: a change after that has
//!   another time, even on a coarse clock.
//! - SC2  A cache that is not whole is no cache.

use std::collections::HashMap;
use std::path::Path;

use flate2::Crc;

use super::walk::FileStat;
use crate::git::error::{At, GitError};
use crate::git::object::ObjectId;
use crate::git::repository::read_optional;

const MAGIC: &[u8; 8] = b"PerSC 2\n";
/// Of the checksum at the end: it tells a torn file from a whole one.
const SUM: usize = 4;
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
        let is_whole = bytes.len() >= MAGIC.len() + 60 + SUM && bytes.starts_with(MAGIC) && {
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
        Some(Last { commit: id(0)?, tree: id(1)?, base: id(2).filter(|id| id.0 != [0; 20]) })
    }

    /// By path.
    pub fn files(&self) -> HashMap<&[u8], (FileStat, ObjectId)> {
        let mut files = HashMap::with_capacity(self.bytes.len() / 96);
        let mut rest = self.bytes.get(MAGIC.len() + 60..).unwrap_or_default();
        rest = &rest[..rest.len().saturating_sub(SUM)];
        while let Some((path, file, next)) = entry(rest) {
            files.insert(path, file);
            rest = next;
        }
        files
    }
}

/// Of our own caches; not against somebody who wants to deceive.
pub fn checksum(bytes: &[u8]) -> [u8; SUM] {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

type Entry<'a> = (&'a [u8], (FileStat, ObjectId), &'a [u8]);

fn entry(bytes: &[u8]) -> Option<Entry<'_>> {
    let word = |at: usize| -> Option<u64> {
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let length = usize::try_from(word(0)? & 0xffff_ffff).ok()?;
    let stat = FileStat {
        mode: u32::try_from(word(0)? >> 32).ok()?,
        modified_ns: word(8)?.cast_signed(),
        changed_ns: word(16)?.cast_signed(),
        size: word(24)?,
        inode: word(32)?,
    };
    let id = ObjectId::from_slice(bytes.get(40..60)?)?;
    let path = bytes.get(60..60 + length)?;
    Some((path, (stat, id), &bytes[60 + length..]))
}

/// A cache in the making.
#[derive(Debug)]
pub struct NewStatCache {
    bytes: Vec<u8>,
    entries: usize,
    before_ns: i64,
}

impl NewStatCache {
    pub fn begin(now_ns: i64) -> NewStatCache {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(MAGIC.len() + 60, 0);
        NewStatCache { bytes, entries: 0, before_ns: now_ns - MARGIN_NS }
    }

    pub fn len(&self) -> usize {
        self.entries
    }

    pub fn add(&mut self, path: &[u8], stat: &FileStat, id: ObjectId) {
        // SC1.
        if stat.modified_ns >= self.before_ns || stat.changed_ns >= self.before_ns {
            return;
        }
        self.entries += 1;
        let first = path.len() as u64 | u64::from(stat.mode) << 32;
        self.bytes.extend_from_slice(&first.to_le_bytes());
        for word in [
            stat.modified_ns.cast_unsigned(),
            stat.changed_ns.cast_unsigned(),
            stat.size,
            stat.inode,
        ] {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        self.bytes.extend_from_slice(&id.0);
        self.bytes.extend_from_slice(path);
    }

    /// Writes it in the place of the old one. It need not be durable: a lost cache costs time only.
    pub fn save(mut self, path: &Path, last: Last) -> Result<(), GitError> {
        let ids = [last.commit, last.tree, last.base.unwrap_or(ObjectId([0; 20]))];
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
        let mut cache = NewStatCache::begin(1_000_000_000);
        cache.add(b"old", &stat(5), id);
        cache.add(b"fresh", &stat(990_000_000), id);
        cache.save(&path, last).unwrap();
        let loaded = StatCache::load(&path);
        assert_eq!(loaded.last(), Some(last));
        assert_eq!(loaded.files().into_iter().collect::<Vec<_>>(), [(&b"old"[..], (stat(5), id))]);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[90] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(StatCache::load(&path).last(), None);
    }
}
