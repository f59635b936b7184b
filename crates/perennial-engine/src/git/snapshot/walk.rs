//! Walks one work tree: what is tracked, and what is not ignored.
//!
//! Invariants
//! - WK1  Every directory is opened from the one above it, without following links: what is found is in the tree.
//! - WK2  What belongs to the tree and is not taken is listed, with why. Only ignored paths are passed over in silence.
//! - WK3  Another repository is never walked into: it is reported, and has a snapshot of its own.

use std::collections::HashSet;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::path_text::escape;
use super::secrets::is_secret;
use super::{LeftOut, Why};
use crate::git::GitError;
use crate::git::ignore::{Patterns, Rules};
use crate::git::index::Index;
use crate::git::object::{EntryMode, ObjectId};

/// Deeper directories are left out; each level holds a descriptor.
const MOST_DEPTH: usize = 200;
const MOST_FILES: usize = 2_000_000;
const MOST_IGNORE_FILE: u64 = 8 << 20;

/// What the kernel says about a file; if all of it is the same, so is the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    pub modified_ns: i64,
    pub changed_ns: i64,
    pub size: u64,
    pub inode: u64,
    pub mode: u32,
}

impl From<rustix::fs::Stat> for FileStat {
    fn from(stat: rustix::fs::Stat) -> FileStat {
        let nanoseconds =
            |seconds: i64, more: i64| seconds.saturating_mul(1_000_000_000).saturating_add(more);
        FileStat {
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec as i64),
            changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec as i64),
            size: stat.st_size as u64,
            inode: stat.st_ino,
            mode: stat.st_mode,
        }
    }
}

#[derive(Debug)]
pub struct WalkedFile {
    pub path: Vec<u8>,
    pub stat: FileStat,
    pub is_link: bool,
}

#[derive(Debug)]
pub struct WalkedDirectory {
    pub path: Vec<u8>,
    pub mode: u32,
    /// Nothing in it or below it was taken.
    pub is_bare: bool,
}

#[derive(Debug, Default)]
pub struct Walked {
    pub files: Vec<WalkedFile>,
    pub directories: Vec<WalkedDirectory>,
    /// Other repositories in the tree.
    pub nested: Vec<Vec<u8>>,
    pub left_out: Vec<LeftOut>,
}

/// What a walk asks of others.
pub struct WalkOrder<'a> {
    pub index: &'a Index,
    pub rules: Rules,
    pub ignore_case: bool,
    pub most_file_bytes: u64,
    /// Reads the `.gitignore` of a sparse path, which is in the index only.
    pub sparse_blob: &'a dyn Fn(ObjectId) -> Option<Vec<u8>>,
}

impl std::fmt::Debug for WalkOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkOrder").field("index", self.index).finish_non_exhaustive()
    }
}

struct Walker<'a> {
    order: &'a WalkOrder<'a>,
    tracked: HashSet<&'a [u8]>,
    found: Walked,
}

/// Whether what is not tracked counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    All,
    /// Below an ignored directory.
    TrackedOnly,
}

pub fn walk(root: &OwnedFd, order: &WalkOrder<'_>) -> Result<Walked, GitError> {
    let tracked = order
        .index
        .entries
        .iter()
        .filter(|entry| entry.mode != EntryMode::Directory)
        .map(|entry| &*entry.path)
        .collect();
    let mut walker = Walker { order, tracked, found: Walked::default() };
    walker.directory(root, &mut Vec::new(), &order.rules.clone(), Taking::All, 0)?;
    Ok(walker.found)
}

impl Walker<'_> {
    /// Walks one directory, whose path ends in `/` unless it is the top. Tells whether anything was taken.
    fn directory(
        &mut self,
        fd: &OwnedFd,
        path: &mut Vec<u8>,
        rules: &Rules,
        taking: Taking,
        depth: usize,
    ) -> Result<bool, GitError> {
        let Ok(names) = entries(fd) else {
            self.leave_out(path, Why::Unreadable);
            return Ok(true);
        };
        let rules = match taking {
            Taking::All => self.rules_of(fd, path, rules),
            Taking::TrackedOnly => rules.clone(),
        };
        let (length, mut took) = (path.len(), false);
        for (name, kind) in names {
            if name == b".git" {
                continue;
            }
            path.truncate(length);
            path.extend_from_slice(&name);
            let kind = match kind {
                FileType::Unknown => kind_of(fd, &name).unwrap_or(FileType::Unknown),
                kind => kind,
            };
            took |= if kind == FileType::Directory {
                self.below(fd, path, &name, &rules, (taking, depth))?
            } else {
                self.file(fd, path, &name, kind, &rules, taking)?
            };
        }
        path.truncate(length);
        Ok(took)
    }

    fn below(
        &mut self,
        fd: &OwnedFd,
        path: &mut Vec<u8>,
        name: &[u8],
        rules: &Rules,
        (taking, depth): (Taking, usize),
    ) -> Result<bool, GitError> {
        let is_link_to_repository = self.tracked.contains(&**path);
        let is_ignored = taking == Taking::TrackedOnly || rules.ignores(path, true);
        path.push(b'/');
        let has_tracked = is_link_to_repository || !self.order.index.below(path).is_empty();
        path.pop();
        if is_ignored && !has_tracked {
            return Ok(false);
        }
        let inner = match open_directory(fd, name) {
            Ok(inner) if depth < MOST_DEPTH => inner,
            Ok(_) => return Ok(self.leave_out(path, Why::TooDeep)),
            // It went away.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(false),
            Err(_) => return Ok(self.leave_out(path, Why::Unreadable)),
        };
        if kind_of(&inner, b".git").is_some() {
            self.found.nested.push(path.clone());
            return Ok(true);
        }
        let mode = rustix::fs::fstat(&inner).map_or(0o755, |stat| stat.st_mode);
        let at = self.found.directories.len();
        self.found.directories.push(WalkedDirectory { path: path.clone(), mode, is_bare: false });
        let taking = if is_ignored { Taking::TrackedOnly } else { Taking::All };
        path.push(b'/');
        let took = self.directory(&inner, path, rules, taking, depth + 1)?;
        path.pop();
        self.found.directories[at].is_bare = !took && !is_ignored;
        Ok(took)
    }

    fn file(
        &mut self,
        fd: &OwnedFd,
        path: &[u8],
        name: &[u8],
        kind: FileType,
        rules: &Rules,
        taking: Taking,
    ) -> Result<bool, GitError> {
        let is_tracked = self.tracked.contains(path);
        if !is_tracked && (taking == Taking::TrackedOnly || rules.ignores(path, false)) {
            return Ok(false);
        }
        if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
            return Ok(self.leave_out(path, Why::Special));
        }
        if !is_tracked && is_secret(path) {
            return Ok(self.leave_out(path, Why::Secret));
        }
        let stat = match rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileStat::from(stat),
            Err(rustix::io::Errno::NOENT) => return Ok(false),
            Err(_) => return Ok(self.leave_out(path, Why::Unreadable)),
        };
        if stat.size > self.order.most_file_bytes {
            return Ok(self.leave_out(path, Why::TooLarge));
        }
        if self.found.files.len() >= MOST_FILES {
            return Err(GitError::TooManyFiles(MOST_FILES));
        }
        let is_link = kind == FileType::Symlink;
        self.found.files.push(WalkedFile { path: path.to_owned(), stat, is_link });
        Ok(true)
    }

    /// A directory with something that was left out in it is not bare either.
    fn leave_out(&mut self, path: &[u8], why: Why) -> bool {
        self.found.left_out.push(LeftOut { path: escape(path), why });
        true
    }

    fn rules_of(&self, fd: &OwnedFd, path: &[u8], rules: &Rules) -> Rules {
        let read = read_ignore_file(fd).or_else(|| {
            let sparse = [path, b".gitignore"].concat();
            let entry = self.order.index.below(&sparse).first()?;
            (entry.path == sparse && entry.skip_worktree)
                .then(|| (self.order.sparse_blob)(entry.id))?
        });
        match read {
            Some(bytes) => {
                rules.clone().with(Patterns::parse(path, &bytes, self.order.ignore_case))
            }
            None => rules.clone(),
        }
    }
}

fn entries(fd: &OwnedFd) -> rustix::io::Result<Vec<(Vec<u8>, FileType)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push((name.to_owned(), entry.file_type()));
        }
    }
    Ok(names)
}

fn kind_of(fd: &OwnedFd, name: &[u8]) -> Option<FileType> {
    let stat = rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// WK1.
pub fn open_directory(fd: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(fd, name, flags, Mode::empty())
}

/// Git does not follow a link here, and neither do we.
fn read_ignore_file(fd: &OwnedFd) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(fd, ".gitignore", flags, Mode::empty()).ok()?;
    let file = std::fs::File::from(file);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_IGNORE_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
