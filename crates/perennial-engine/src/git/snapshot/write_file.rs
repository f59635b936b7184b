//! Writes, links and removes files below one directory, through no link.
//!
//! Invariants
//! - WF1  A path of a snapshot never leads out of the directory: every component is opened without following links.
//! - WF2  A file is there as a whole or as it was before: it is written beside its place and renamed.
//! - WF3  What is replaced or removed has been read right before, and is what the caller knows. What somebody has changed since
//!   stays.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::contents::StoredFile;
use super::walk::open_directory;
use crate::git::object::{EntryMode, ObjectKind, hash};

const TEMPORARY: &str = ".perennial-restore.tmp";

/// What has to be in the place of a file that is written.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// Nothing, or a file with the same content.
    Nothing,
    /// This one, or nothing.
    This(StoredFile),
}

/// What is in the place of a file.
enum Found {
    Nothing,
    File(StoredFile),
    /// A directory, a pipe, or a file that can't be read.
    Other,
}

#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    pub path: PathBuf,
}

impl Directory {
    pub fn open(path: &Path) -> io::Result<Directory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Directory { fd: rustix::fs::open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// The directory of a path, made if need be, and the path's last component.
    fn parent<'a>(&self, path: &'a [u8], may_make: bool) -> io::Result<(OwnedFd, &'a [u8])> {
        let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let name = parts.pop().unwrap_or_default();
        let mut at = self.fd.try_clone()?;
        for part in parts {
            at = match open_directory(&at, part) {
                Err(rustix::io::Errno::NOENT) if may_make => {
                    rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777))?;
                    open_directory(&at, part)?
                }
                opened => opened?,
            };
        }
        Ok((at, name))
    }

    /// Writes a file in its place. `false` if what is there is not what was expected: then it stays (WF3).
    pub fn write(
        &self,
        path: &[u8],
        file: StoredFile,
        bytes: &[u8],
        expected: Expected,
    ) -> io::Result<bool> {
        let (parent, name) = self.parent(path, true)?;
        // What a killed restore left.
        let _ = rustix::fs::unlinkat(&parent, TEMPORARY, AtFlags::empty());
        match file.mode {
            EntryMode::Symlink => rustix::fs::symlinkat(bytes, &parent, TEMPORARY)?,
            EntryMode::File
            | EntryMode::Executable
            | EntryMode::Directory
            | EntryMode::Repository => {
                let flags = OFlags::WRONLY
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let made =
                    rustix::fs::openat(&parent, TEMPORARY, flags, Mode::from_raw_mode(0o600))?;
                let mut made = std::fs::File::from(made);
                made.write_all(bytes)?;
                rustix::fs::fchmod(&made, Mode::from_raw_mode(file.permissions))?;
            }
        }
        let is_in_place = self.put(&parent, name, file, expected);
        if !matches!(is_in_place, Ok(true)) {
            let _ = rustix::fs::unlinkat(&parent, TEMPORARY, AtFlags::empty());
        }
        is_in_place
    }

    /// WF3
    fn put(
        &self,
        parent: &OwnedFd,
        name: &[u8],
        file: StoredFile,
        expected: Expected,
    ) -> io::Result<bool> {
        let there = match expected {
            Expected::Nothing => {
                let only_new = RenameFlags::NOREPLACE;
                match rustix::fs::renameat_with(parent, TEMPORARY, parent, name, only_new) {
                    Ok(()) => return Ok(true),
                    // A file system that can't tell, or a file that may have this very content.
                    Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) => content(parent, name)?,
                    Err(error) => return Err(error.into()),
                }
            }
            Expected::This(_) => content(parent, name)?,
        };
        let same = |one: StoredFile| {
            one.id == file.id
                && (one.mode == EntryMode::Symlink) == (file.mode == EntryMode::Symlink)
        };
        let may_go = match (there, expected) {
            (Found::Nothing, _) => true,
            (Found::File(there), Expected::This(old)) => there == old,
            (Found::File(there), Expected::Nothing) => same(there),
            (Found::Other, Expected::This(_) | Expected::Nothing) => false,
        };
        if may_go {
            rustix::fs::renameat(parent, TEMPORARY, parent, name)?;
        }
        Ok(may_go)
    }

    /// Changes the mode only.
    pub fn set_mode(&self, path: &[u8], permissions: u32) -> io::Result<()> {
        let (parent, name) = self.parent(path, false)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(permissions);
        match rustix::fs::openat(&parent, name, flags, Mode::empty()) {
            Ok(file) => Ok(rustix::fs::fchmod(file, mode)?),
            // One that we may not read has a mode too. It is no link: the walk has seen a file.
            Err(_) => Ok(rustix::fs::chmodat(&parent, name, mode, AtFlags::empty())?),
        }
    }

    /// Removes a file or a link; one that is gone is no error. `false` if it is not what was expected: then it stays (WF3).
    pub fn remove(&self, path: &[u8], expected: StoredFile) -> io::Result<bool> {
        let removed = self.parent(path, false).and_then(|(parent, name)| {
            match content(&parent, name)? {
                Found::Nothing => return Ok(true),
                Found::File(there) if there == expected => {}
                Found::File(_) | Found::Other => return Ok(false),
            }
            rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
            Ok(true)
        });
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            removed => removed,
        }
    }

    /// Removes a directory if it is empty.
    pub fn remove_empty(&self, path: &[u8]) -> bool {
        self.parent(path, false).is_ok_and(|(parent, name)| {
            rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).is_ok()
        })
    }

    /// Removes a directory that has nothing but directories in it; anything else stays, and so does what is above it.
    pub fn remove_directories(&self, path: &[u8]) -> io::Result<()> {
        let Some(stat) = self.stat(path)? else { return Ok(()) };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory || self.remove_empty(path) {
            return Ok(());
        }
        let at = self.path.join(Path::new(std::ffi::OsStr::from_bytes(path)));
        for entry in std::fs::read_dir(at)? {
            let name = entry?.file_name();
            self.remove_directories(&[path, b"/", name.as_bytes()].concat())?;
        }
        self.remove_empty(path);
        Ok(())
    }

    pub fn make_directory(&self, path: &[u8]) -> io::Result<()> {
        let (parent, name) = self.parent(path, true)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            made => Ok(made?),
        }
    }

    /// What is at a path, links not followed; `None` if nothing is.
    pub fn stat(&self, path: &[u8]) -> io::Result<Option<rustix::fs::Stat>> {
        let found = self.parent(path, false).and_then(|(parent, name)| {
            Ok(rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?)
        });
        match found {
            Err(error) if super::super::repository::is_absent(&error) => Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// What is in a place now, with its content.
fn content(parent: &OwnedFd, name: &[u8]) -> io::Result<Found> {
    let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(Found::Nothing),
        stat => stat?,
    };
    let (mode, permissions, bytes) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => match rustix::fs::readlinkat(parent, name, Vec::new()) {
            Ok(link) => (EntryMode::Symlink, 0, link.into_bytes()),
            Err(_) => return Ok(Found::Other),
        },
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(file) = rustix::fs::openat(parent, name, flags, Mode::empty()) else {
                return Ok(Found::Other);
            };
            let size = stat.st_size as u64;
            let mut bytes = Vec::new();
            // One that has become longer has another content, however much longer it is.
            std::fs::File::from(file).take(size + 1).read_to_end(&mut bytes)?;
            let is_executable = stat.st_mode & 0o100 != 0;
            let mode = if is_executable { EntryMode::Executable } else { EntryMode::File };
            (mode, stat.st_mode & 0o7777, bytes)
        }
        _ => return Ok(Found::Other),
    };
    Ok(Found::File(StoredFile { mode, id: hash(ObjectKind::Blob, &bytes), permissions }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WF3
    #[test]
    fn what_is_not_as_expected_stays() {
        let dir = tempfile::tempdir().unwrap();
        let root = Directory::open(dir.path()).unwrap();
        let file = |text: &str| {
            let id = hash(ObjectKind::Blob, text.as_bytes());
            StoredFile { mode: EntryMode::File, id, permissions: 0o644 }
        };
        let write =
            |path: &str, expected| root.write(path.as_bytes(), file("new"), b"new", expected);
        let read = |path: &str| std::fs::read_to_string(dir.path().join(path)).unwrap();
        assert!(write("a/b", Expected::Nothing).unwrap());
        assert!(write("a/b", Expected::Nothing).unwrap(), "it has this content");
        std::fs::write(dir.path().join("a/b"), "edit").unwrap();
        assert!(!write("a/b", Expected::Nothing).unwrap());
        assert!(!write("a/b", Expected::This(file("old"))).unwrap());
        assert!(!root.remove(b"a/b", file("old")).unwrap());
        assert_eq!(read("a/b"), "edit");
        assert!(write("a/b", Expected::This(file("edit"))).unwrap());
        assert_eq!(read("a/b"), "new");
        std::fs::create_dir(dir.path().join("c")).unwrap();
        assert!(!write("c", Expected::This(file("old"))).unwrap());
        assert!(
            root.remove(b"a/b", file("new")).unwrap() && root.remove(b"a/b", file("new")).unwrap()
        );
        assert_eq!(std::fs::read_dir(dir.path().join("a")).unwrap().count(), 0);
    }
}
