//! Finds what stands where a restore would write and is in no snapshot: ignored files, and files that were left out.
//!
//! Invariants
//! - OC1  Whatever a restore replaces or removes is in the snapshot of the present. Everything else is an obstacle.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::FileType;

use super::contents::{Contents, StoredFile};
use super::path_text::escape;
use super::write_file::Directory;
use crate::git::error::{At, GitError};
use crate::git::object::{EntryMode, ObjectKind, hash};
use crate::regular_file::{self, Links};

/// At most this many are listed.
const MOST_LISTED: usize = 50;

type Files = BTreeMap<Vec<u8>, StoredFile>;

/// The obstacles on the way to these files, escaped.
pub fn find(
    root: &Directory,
    (target, wanted): (&Contents, &Files),
    present: &Files,
) -> Result<Vec<String>, GitError> {
    let mut obstacles = Vec::new();
    let mut judged = std::collections::HashSet::new();
    for (path, file) in wanted {
        if present.contains_key(path) || obstacles.len() >= MOST_LISTED {
            continue;
        }
        // A file, link or pipe where a directory has to be.
        let above = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
        for directory in above.filter(|directory| judged.insert(directory.to_vec())) {
            let stat = root.stat(directory).at(&root.path)?;
            let is_directory = stat
                .is_none_or(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
            if !is_directory && !present.contains_key(directory) {
                obstacles.push(escape(directory));
            }
        }
        let Some(stat) = root.stat(path).at(&root.path)? else { continue };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let at = root.path.join(Path::new(std::ffi::OsStr::from_bytes(path)));
            unknown_below(&at, path, present, &mut obstacles).at(&at)?;
        } else if !is_same(root, path, file, target) {
            obstacles.push(escape(path));
        }
    }
    obstacles.sort();
    obstacles.dedup();
    Ok(obstacles)
}

/// Files below a directory that the present's snapshot does not have.
fn unknown_below(
    at: &Path,
    path: &[u8],
    present: &Files,
    obstacles: &mut Vec<String>,
) -> io::Result<()> {
    let mut open = vec![(at.to_owned(), path.to_owned())];
    while let Some((at, path)) = open.pop() {
        for entry in std::fs::read_dir(&at)? {
            let entry = entry?;
            let path = [&*path, b"/", entry.file_name().as_bytes()].concat();
            if entry.file_type()?.is_dir() {
                open.push((entry.path(), path));
            } else if !present.contains_key(&path) {
                obstacles.push(escape(&path));
                if obstacles.len() >= MOST_LISTED {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// An ignored file with the very content that is to be restored is in nobody's way.
fn is_same(root: &Directory, path: &[u8], file: &StoredFile, target: &Contents) -> bool {
    let at = root.path.join(Path::new(std::ffi::OsStr::from_bytes(path)));
    let bytes = match file.mode {
        EntryMode::Symlink => {
            std::fs::read_link(&at).map(|link| link.as_os_str().as_bytes().to_vec())
        }
        EntryMode::File | EntryMode::Executable | EntryMode::Directory | EntryMode::Repository => {
            let Ok(expected) = target.read(file.id) else { return false };
            regular_file::read(&at, Links::Refuse, expected.len() as u64)
        }
    };
    bytes.is_ok_and(|bytes| hash(ObjectKind::Blob, &bytes) == file.id)
}
