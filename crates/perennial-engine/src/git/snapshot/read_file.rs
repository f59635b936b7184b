//! Reads one file of a work tree while others may write to it.
//!
//! Invariants
//! - RF1  No link is followed, no pipe is waited for, and no more than a bound is read.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::walk::{FileStat, WalkedFile};

/// A file that changes under the reader is read this many times.
const TRIES: usize = 3;

#[derive(Debug)]
pub enum FileRead {
    Whole(Vec<u8>, FileStat),
    /// It changed during each read.
    Torn(Vec<u8>, FileStat),
    /// It went away or became something else.
    Gone,
    Unreadable,
    TooLarge,
}

pub fn read(root: &OwnedFd, file: &WalkedFile, most: u64) -> FileRead {
    let path = Path::new(std::ffi::OsStr::from_bytes(&file.path));
    if file.is_link {
        return read_link(root, path, file.stat);
    }
    let mut last = None;
    for _ in 0..TRIES {
        let opened = match open(root, path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(opened) => opened,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return FileRead::Gone;
            }
            Err(_) => return FileRead::Unreadable,
        };
        let Ok(before) = rustix::fs::fstat(&opened) else { return FileRead::Unreadable };
        if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
            return FileRead::Gone;
        }
        let before = FileStat::from(before);
        let mut bytes = Vec::with_capacity(usize::try_from(before.size.min(most)).unwrap_or(0) + 1);
        let mut opened = std::fs::File::from(opened);
        if opened.by_ref().take(most + 1).read_to_end(&mut bytes).is_err() {
            return FileRead::Unreadable;
        }
        if bytes.len() as u64 > most {
            return FileRead::TooLarge;
        }
        let after = rustix::fs::fstat(&opened).map(FileStat::from);
        if after == Ok(before) && bytes.len() as u64 == before.size {
            return FileRead::Whole(bytes, before);
        }
        last = Some((bytes, before));
    }
    match last {
        Some((bytes, stat)) => FileRead::Torn(bytes, stat),
        None => FileRead::Gone,
    }
}

fn read_link(root: &OwnedFd, path: &Path, stat: FileStat) -> FileRead {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default();
    let read = match parent {
        None => rustix::fs::readlinkat(root, name, Vec::new()),
        Some(parent) => open(root, parent, OFlags::PATH | OFlags::DIRECTORY)
            .and_then(|parent| rustix::fs::readlinkat(&parent, name, Vec::new())),
    };
    match read {
        Ok(target) => FileRead::Whole(target.into_bytes(), stat),
        Err(_) => FileRead::Gone,
    }
}

/// RF1: below the root, through no link.
pub fn open(root: &OwnedFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}
