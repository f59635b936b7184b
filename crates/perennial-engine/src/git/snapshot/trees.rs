//! Writes the trees of a snapshot's files.

use std::collections::HashMap;

use super::take::Taking;
use super::walk::WalkedFile;
use crate::git::error::GitError;
use crate::git::id_set::IdSet;
use crate::git::object::{EntryMode, NamedEntry, ObjectId, ObjectKind, encode_named};

/// What is in a directory.
#[derive(Default)]
struct Inside<'a> {
    files: &'a [WalkedFile],
    /// Directories and other repositories.
    others: Vec<NamedEntry<'a>>,
}

impl Taking<'_> {
    /// Writes the trees of `work/`. Files of one directory are together; links to other repositories are by their whole paths.
    pub fn write_trees(
        &mut self,
        files: &[WalkedFile],
        links: &[NamedEntry<'_>],
        base: &IdSet,
    ) -> Result<ObjectId, GitError> {
        let mut trees: HashMap<&[u8], Inside<'_>> = HashMap::from([(&b""[..], Inside::default())]);
        for (path, mode, id) in links {
            let (directory, name) = split(path);
            trees.entry(directory).or_default().others.push((name, *mode, *id));
            add_above(&mut trees, directory);
        }
        for files in files.chunk_by(|one, other| split(&one.path).0 == split(&other.path).0) {
            let directory = files.first().map_or(&b""[..], |file| split(&file.path).0);
            trees.entry(directory).or_default().files = files;
            add_above(&mut trees, directory);
        }
        // The deepest directory first, so that each tree is complete when it is written.
        let mut paths: Vec<&[u8]> = trees.keys().copied().collect();
        paths.sort_by_cached_key(|path| {
            let depth =
                path.iter().filter(|byte| **byte == b'/').count() + usize::from(!path.is_empty());
            std::cmp::Reverse((depth, *path))
        });
        let (mut top, mut entries) = (None, Vec::new());
        for path in paths {
            let Inside { files, others } = trees.remove(path).unwrap_or_default();
            entries.clear();
            entries.extend(
                files
                    .iter()
                    .filter_map(|file| Some((split(&file.path).1, mode_of(file), file.known?.id))),
            );
            entries.extend(others);
            let id = self.put(ObjectKind::Tree, &encode_named(&mut entries), base)?;
            if path.is_empty() {
                top = Some(id);
            } else {
                let (above, name) = split(path);
                trees.entry(above).or_default().others.push((name, EntryMode::Directory, id));
            }
        }
        Ok(top.expect("the top directory is always among the trees"))
    }
}

fn add_above<'a>(trees: &mut HashMap<&'a [u8], Inside<'a>>, directory: &'a [u8]) {
    let mut above = directory;
    while !above.is_empty() {
        above = split(above).0;
        trees.entry(above).or_default();
    }
}

/// The directory of a path, without a `/` at its end, and its name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

fn mode_of(file: &WalkedFile) -> EntryMode {
    match (file.is_link, file.stat.mode & 0o100) {
        (true, _) => EntryMode::Symlink,
        (false, 0) => EntryMode::File,
        (false, _) => EntryMode::Executable,
    }
}
