//! The names in one directory, in their order, and what the index has of it. A walk reads tens of thousands of names, so there is
//! no allocation for each.

use std::cmp::Ordering;
use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, RawDir};

use crate::git::index::{Index, IndexEntry};

/// So much of a directory is read at a time.
const LISTED_BYTES: usize = 32 << 10;
/// After so many names somebody is asked whether to go on.
const NAMES: usize = 4096;

#[derive(Debug, Default)]
pub struct Listing {
    names: Vec<u8>,
    listed: Vec<Listed>,
    buffer: Vec<u8>,
}

/// Where a name is, after its first bytes as a number in the same order: most names differ in these.
type Listed = (u64, Range<usize>, FileType);

impl Listing {
    /// Reads a directory. `go_on` is told how many names there are; if it says no, there are none.
    pub fn read(&mut self, fd: &OwnedFd, go_on: &dyn Fn(usize) -> bool) -> rustix::io::Result<()> {
        let Listing { names, listed, buffer } = self;
        names.clear();
        listed.clear();
        buffer.reserve(LISTED_BYTES);
        let mut entries = RawDir::new(fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            if listed.len() % NAMES == NAMES - 1 && !go_on(listed.len()) {
                listed.clear();
                return Ok(());
            }
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                let from = names.len();
                names.extend_from_slice(name);
                listed.push((first_bytes(name), from..names.len(), entry.file_type()));
            }
        }
        listed.sort_unstable_by(|(one, one_at, _), (other, other_at, _)| {
            one.cmp(other).then_with(|| names[one_at.clone()].cmp(&names[other_at.clone()]))
        });
        Ok(())
    }

    pub fn names(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        self.listed.iter().map(|(_, at, kind)| (&self.names[at.clone()], *kind))
    }
}

fn first_bytes(name: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = name.len().min(8);
    first[..length].copy_from_slice(&name[..length]);
    u64::from_be_bytes(first)
}

/// What the index has at and below a directory, from the last path on that was asked for.
#[derive(Debug)]
pub struct TrackedDirectory<'a>(&'a [IndexEntry]);

impl<'a> TrackedDirectory<'a> {
    /// Of a path that ends in `/` unless it is the top.
    pub fn of(index: &'a Index, path: &[u8]) -> TrackedDirectory<'a> {
        TrackedDirectory(index.below(path))
    }

    /// The entry of a path. They are asked for in their order.
    pub fn find(&mut self, path: &[u8]) -> Option<&'a IndexEntry> {
        let (first, rest) = self.0.split_first()?;
        match (*first.path).cmp(path) {
            Ordering::Greater => None,
            Ordering::Equal => {
                self.0 = rest;
                Some(first)
            }
            Ordering::Less => {
                let is_before = |entry: &IndexEntry| &*entry.path < path;
                // The next one is near, unless a whole directory lies between.
                let mut most = 1;
                while rest.get(most).is_some_and(is_before) {
                    most *= 2;
                }
                let near = &rest[..rest.len().min(most + 1)];
                self.0 = &rest[near.partition_point(is_before)..];
                let (first, rest) = self.0.split_first()?;
                let is_found = first.path == path;
                if is_found {
                    self.0 = rest;
                }
                is_found.then_some(first)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::{EntryMode, ObjectId};

    #[test]
    fn names_come_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a", "a.b", "abcdefgh", "abcdefgha", "abcdefghb", "b", "\u{fc}"];
        for name in names {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let fd = OwnedFd::from(std::fs::File::open(dir.path()).unwrap());
        let mut listing = Listing::default();
        listing.read(&fd, &|_| true).unwrap();
        let found: Vec<&[u8]> = listing.names().map(|(name, _)| name).collect();
        assert_eq!(found, names.map(str::as_bytes));
    }

    #[test]
    fn paths_are_found_in_their_order_also_behind_other_directories() {
        let entry = |path: &str, stage| IndexEntry {
            path: path.into(),
            id: ObjectId([0; 20]),
            mode: EntryMode::File,
            stage,
            skip_worktree: false,
            intent_to_add: false,
        };
        let mut entries: Vec<IndexEntry> =
            (100..150).map(|n| entry(&format!("d/m/{n}"), 0)).collect();
        entries.insert(0, entry("d/a", 0));
        entries.extend([entry("d/x", 1), entry("d/x", 2), entry("d/y", 0), entry("e", 0)]);
        let index = Index { entries, shared: None };
        let mut inside = TrackedDirectory::of(&index, b"d/");
        for (path, is_tracked) in [
            ("d/a", true),
            ("d/b", false),
            ("d/m", false),
            ("d/x", true),
            ("d/y", true),
            ("e", false),
        ] {
            assert_eq!(inside.find(path.as_bytes()).is_some(), is_tracked, "{path}");
        }
        assert!(TrackedDirectory::of(&index, b"").find(b"e").is_some());
    }
}
