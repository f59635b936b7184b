//! Walks one work tree: what is tracked, and what is not ignored.
//!
//! Invariants
//! - WK1  Every directory is opened below the top, through no link: what is found is in the tree.
//! - WK2  What belongs to the tree and is not taken is listed, with why. Only ignored paths are passed over in silence.
//! - WK3  Another repository is never walked into: it is reported, and has a snapshot of its own.
//! - WK4  A walk that is to end does so within milliseconds, whatever is in the tree.

use std::collections::HashSet;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::listing::{Listing, TrackedDirectory};
use super::path_text::{escape, unescape};
use super::read_file;
use super::secrets::is_secret;
use super::stat_cache::{CachedDirectory, CachedFiles, Known};
use super::{LeftOut, Why};
use crate::git::GitError;
use crate::git::ignore::{Patterns, Rules};
use crate::git::index::Index;
use crate::git::object::ObjectId;

/// Deeper directories are left out.
const MOST_DEPTH: usize = 200;
const MOST_FILES: usize = 2_000_000;
const MOST_IGNORE_FILE: u64 = 8 << 20;
/// Of the patterns that hold in one directory. Nobody writes this many, and they are in memory.
const MOST_PATTERNS: usize = 200_000;
/// After this many entries of a directory somebody is asked whether to go on.
const ENTRIES: usize = 64;

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
    /// Its content, if the file is as the cache has it and the content needs no copy.
    pub known: Option<Known>,
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
    /// Those of a directory are together, in the order of their names.
    pub files: Vec<WalkedFile>,
    pub directories: Vec<WalkedDirectory>,
    /// Other repositories in the tree.
    pub nested: Vec<Vec<u8>>,
    pub left_out: Vec<LeftOut>,
    /// How many entries of the index have the content that is known of their file.
    pub as_staged: usize,
}

impl Walked {
    fn count(&self) -> usize {
        self.files.len() + self.directories.len() + self.nested.len() + self.left_out.len()
    }
}

/// What a walk asks of others.
pub struct WalkOrder<'a> {
    pub index: &'a Index,
    pub rules: Rules,
    pub ignore_case: bool,
    pub most_file_bytes: u64,
    /// What is known of the files of this work tree, whose paths begin with this there.
    pub cached: (&'a CachedFiles<'a>, &'a [u8]),
    /// Whether an object needs no copy.
    pub is_kept: &'a (dyn Fn(ObjectId) -> bool + Sync),
    /// Whether what the cache tells to be borrowed needs none either.
    pub is_base_as_it_was: bool,
    /// Reads the `.gitignore` of a sparse path, which is in the index only.
    pub sparse_blob: &'a (dyn Fn(ObjectId) -> Option<Vec<u8>> + Sync),
    /// Asked again and again; `false` ends the walk with `Interrupted` (WK4).
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for WalkOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkOrder").field("index", self.index).finish_non_exhaustive()
    }
}

/// Whether what is not tracked counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    All,
    /// Below an ignored directory.
    TrackedOnly,
}

/// A directory that is to be walked. Its path ends in `/` unless it is the top.
struct Open {
    path: Vec<u8>,
    rules: Rules,
    taking: Taking,
    depth: usize,
}

/// The directories that nobody has walked yet, and how many are being walked.
#[derive(Default)]
struct Queue {
    open: Vec<Open>,
    busy: usize,
}

/// What the threads of one walk share.
struct Walk<'a> {
    root: &'a OwnedFd,
    order: &'a WalkOrder<'a>,
    queue: Mutex<Queue>,
    more: Condvar,
    ended: OnceLock<Ended>,
}

/// Why a walk does not come to its end.
#[derive(Debug, Clone, Copy)]
enum Ended {
    Interrupted,
    TooManyFiles,
    TooManyPatterns,
}

impl From<Ended> for GitError {
    fn from(ended: Ended) -> GitError {
        match ended {
            Ended::Interrupted => GitError::Interrupted,
            Ended::TooManyFiles => GitError::TooManyFiles(MOST_FILES),
            Ended::TooManyPatterns => GitError::TooManyPatterns(MOST_PATTERNS),
        }
    }
}

/// From this many tracked files on, two threads walk: most of a walk is the kernel's time.
const MANY: usize = 1500;

pub fn walk(root: &OwnedFd, order: &WalkOrder<'_>) -> Result<Walked, GitError> {
    let top = Open { path: Vec::new(), rules: order.rules.clone(), taking: Taking::All, depth: 0 };
    let queue = Mutex::new(Queue { open: vec![top], ..Queue::default() });
    let walk = Walk { root, order, queue, more: Condvar::new(), ended: OnceLock::new() };
    let (mut found, others) = match order.index.entries.len() > MANY {
        false => (walk.run(), None),
        true => std::thread::scope(|scope| {
            let other = scope.spawn(|| walk.run());
            let found = walk.run();
            (found, Some(other.join().unwrap_or_else(|panic| resume_unwind(panic))))
        }),
    };
    if let Some(other) = others {
        found.files.extend(other.files);
        found.directories.extend(other.directories);
        found.nested.extend(other.nested);
        found.left_out.extend(other.left_out);
        found.as_staged += other.as_staged;
    }
    if let Some(ended) = walk.ended.into_inner() {
        return Err(ended.into());
    }
    if found.count() > MOST_FILES {
        return Err(GitError::TooManyFiles(MOST_FILES));
    }
    // Repositories are numbered in their order.
    found.nested.sort();
    mark_bare(&mut found);
    Ok(found)
}

/// A directory is bare if it is not ignored, and nothing in it or below it was taken or left out.
fn mark_bare(found: &mut Walked) {
    let left: Vec<Vec<u8>> =
        found.left_out.iter().filter_map(|left| unescape(&left.path)).collect();
    let taken = found.files.iter().map(|file| &*file.path);
    let others = found.nested.iter().chain(&left).map(|path| &**path);
    let (mut full, mut last): (HashSet<&[u8]>, &[u8]) = (HashSet::new(), b"");
    for path in taken.chain(others) {
        // Most are where the one before is.
        let directory = &path[..memchr::memrchr(b'/', path).unwrap_or(0)];
        if std::mem::replace(&mut last, directory) == directory {
            continue;
        }
        // What is above one that is known is known, too.
        for at in (0..path.len()).rev().filter(|at| path[*at] == b'/') {
            if !full.insert(&path[..at]) {
                break;
            }
        }
    }
    for directory in &mut found.directories {
        directory.is_bare &= !full.contains(&*directory.path);
    }
}

impl Walk<'_> {
    /// Walks directories until none is left.
    fn run(&self) -> Walked {
        let mut walker =
            Walker { walk: self, found: Walked::default(), listing: Listing::default() };
        while let Some((open, _busy)) = self.next() {
            let inside = walker.directory(open);
            if walker.found.count() > MOST_FILES {
                self.end(Ended::TooManyFiles);
            }
            match self.goes_on() {
                true => self.queue().open.extend(inside),
                false => self.queue().open.clear(),
            }
        }
        walker.found
    }

    fn end(&self, why: Ended) {
        // The first reason counts.
        let _ = self.ended.set(why);
    }

    /// WK4
    fn goes_on(&self) -> bool {
        if self.ended.get().is_none() && !(self.order.go_on)() {
            self.end(Ended::Interrupted);
        }
        self.ended.get().is_none()
    }

    /// What a walk that has ended says of a path does not matter.
    fn ignores(&self, rules: &Rules, path: &[u8], is_directory: bool) -> bool {
        rules.ignores(path, is_directory, &|| self.goes_on()).unwrap_or(true)
    }

    /// Lists a directory, nothing of it if the walk is to end.
    fn list(&self, fd: &OwnedFd, listing: &mut Listing) -> rustix::io::Result<()> {
        listing.read(fd, &|count| {
            if count > MOST_FILES {
                self.end(Ended::TooManyFiles);
            }
            self.goes_on()
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<(Open, Busy<'_>)> {
        let mut queue = self.queue();
        loop {
            if let Some(open) = queue.open.pop() {
                queue.busy += 1;
                return Some((open, Busy(self)));
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A directory is being walked. The other thread waits for it, and must not wait for one that panicked.
struct Busy<'a>(&'a Walk<'a>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.queue().busy -= 1;
        self.0.more.notify_all();
    }
}

/// One thread of a walk, and what it has found.
struct Walker<'a> {
    walk: &'a Walk<'a>,
    found: Walked,
    /// Of the directory that is being walked.
    listing: Listing,
}

/// One directory, while it is walked.
struct Inside<'a> {
    fd: OwnedFd,
    rules: Rules,
    taking: Taking,
    depth: usize,
    tracked: TrackedDirectory<'a>,
    cached: CachedDirectory<'a>,
}

impl Walker<'_> {
    /// Walks one directory; returns those in it that are to be walked.
    fn directory(&mut self, open: Open) -> Vec<Open> {
        let Open { mut path, rules, taking, depth } = open;
        let opened = match path.strip_suffix(b"/") {
            None => open_directory(self.walk.root, b"."),
            Some(path) => open_below(self.walk.root, path),
        };
        let fd = match opened {
            Ok(fd) => fd,
            // It went away.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Vec::new(),
            Err(_) => {
                self.leave_out(path.strip_suffix(b"/").unwrap_or(&path), Why::Unreadable);
                return Vec::new();
            }
        };
        if !path.is_empty() && !self.enter(&fd, &path[..path.len() - 1], taking) {
            return Vec::new();
        }
        let mut listing = std::mem::take(&mut self.listing);
        if self.walk.list(&fd, &mut listing).is_err() {
            self.leave_out(&path, Why::Unreadable);
            return Vec::new();
        }
        let rules = match taking {
            Taking::All => self.rules_of(&fd, &path, &rules),
            Taking::TrackedOnly => rules,
        };
        if rules.count() > MOST_PATTERNS {
            self.walk.end(Ended::TooManyPatterns);
        }
        let order = self.walk.order;
        let (cached, prefix) = order.cached;
        let cached = cached.directory(&[prefix, &path].concat());
        let tracked = TrackedDirectory::of(order.index, &path);
        let mut here = Inside { fd, rules, taking, depth, tracked, cached };
        let (length, mut inside) = (path.len(), Vec::new());
        for (at, (name, kind)) in listing.names().enumerate() {
            if at % ENTRIES == ENTRIES - 1 && !self.walk.goes_on() {
                return Vec::new();
            }
            if name == b".git" {
                continue;
            }
            path.truncate(length);
            path.extend_from_slice(name);
            let kind = match kind {
                FileType::Unknown => kind_of(&here.fd, name).unwrap_or(FileType::Unknown),
                kind => kind,
            };
            if kind == FileType::Directory {
                inside.extend(self.below(&path, &mut here));
            } else {
                self.file(&path, name, kind, &mut here);
            }
        }
        self.listing = listing;
        inside
    }

    /// Lists a directory that was opened; `false` if it is another repository (WK3).
    fn enter(&mut self, fd: &OwnedFd, path: &[u8], taking: Taking) -> bool {
        if kind_of(fd, b".git").is_some() {
            self.found.nested.push(path.to_owned());
            return false;
        }
        let mode = rustix::fs::fstat(fd).map_or(0o755, |stat| stat.st_mode);
        let is_bare = taking == Taking::All;
        self.found.directories.push(WalkedDirectory { path: path.to_owned(), mode, is_bare });
        true
    }

    /// Whether a directory is to be walked, and how.
    fn below(&mut self, path: &[u8], here: &mut Inside<'_>) -> Option<Open> {
        let is_link_to_repository = here.tracked.find(path).is_some();
        let is_ignored =
            here.taking == Taking::TrackedOnly || self.walk.ignores(&here.rules, path, true);
        let path = [path, b"/"].concat();
        let has_tracked =
            || is_link_to_repository || !self.walk.order.index.below(&path).is_empty();
        if is_ignored && !has_tracked() {
            return None;
        }
        if here.depth >= MOST_DEPTH {
            self.leave_out(&path[..path.len() - 1], Why::TooDeep);
            return None;
        }
        let taking = if is_ignored { Taking::TrackedOnly } else { Taking::All };
        Some(Open { path, rules: here.rules.clone(), taking, depth: here.depth + 1 })
    }

    fn file(&mut self, path: &[u8], name: &[u8], kind: FileType, here: &mut Inside<'_>) {
        let order = self.walk.order;
        let tracked = here.tracked.find(path);
        let is_tracked = tracked.is_some();
        let is_passed_over = !is_tracked
            && (here.taking == Taking::TrackedOnly || self.walk.ignores(&here.rules, path, false));
        if is_passed_over {
            return;
        }
        if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
            return self.leave_out(path, Why::Special);
        }
        if !is_tracked && is_secret(path) {
            return self.leave_out(path, Why::Secret);
        }
        let stat = match rustix::fs::statat(&here.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileStat::from(stat),
            Err(Errno::NOENT) => return,
            Err(_) => return self.leave_out(path, Why::Unreadable),
        };
        if stat.size > order.most_file_bytes {
            return self.leave_out(path, Why::TooLarge);
        }
        let is_link = kind == FileType::Symlink;
        let is_kept = |known: &Known| {
            (known.is_borrowed && order.is_base_as_it_was) || (order.is_kept)(known.id)
        };
        let known = here.cached.find(name, &stat).filter(is_kept);
        let is_as_staged = |known: &Known| tracked.is_some_and(|entry| entry.id == known.id);
        self.found.as_staged += usize::from(known.as_ref().is_some_and(is_as_staged));
        self.found.files.push(WalkedFile { path: path.to_owned(), stat, is_link, known });
    }

    fn leave_out(&mut self, path: &[u8], why: Why) {
        self.found.left_out.push(LeftOut { path: escape(path), why });
    }

    fn rules_of(&self, fd: &OwnedFd, path: &[u8], rules: &Rules) -> Rules {
        let order = self.walk.order;
        let read = read_ignore_file(fd).or_else(|| {
            let sparse = [path, b".gitignore"].concat();
            let entry = order.index.below(&sparse).first()?;
            (entry.path == sparse && entry.skip_worktree).then(|| (order.sparse_blob)(entry.id))?
        });
        match read {
            Some(bytes) => rules.clone().with(Patterns::parse(path, &bytes, order.ignore_case)),
            None => rules.clone(),
        }
    }
}

fn kind_of(fd: &OwnedFd, name: &[u8]) -> Option<FileType> {
    let stat = rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// WK1.
fn open_below(root: &OwnedFd, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    read_file::open(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
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
