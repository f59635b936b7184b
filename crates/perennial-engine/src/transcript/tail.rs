//! A growing file of lines, read from where one stopped.
//!
//! Never watches, never waits, never keeps a file open: [`Tail::read`] looks once. A last line
//! that is not finished stays in the file and is read when it is.
//!
//! Invariants
//! - TL1  A line is handed out whole or not at all, and once per beginning of the file.
//! - TL2  When the file is another one than before, [`News::Restarted`] comes before its first line.
//! - TL3  Memory is bounded by [`LINE_BYTES_MAX`] and one chunk, whatever the file holds.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A longer line is left out, and told as [`News::Oversized`].
pub const LINE_BYTES_MAX: usize = 64 << 20;

const CHUNK_BYTES: usize = 256 << 10;
/// How much before the offset is compared, to know the file again.
const MARK_BYTES: usize = 64;

/// Where a reader stopped: everything that it takes to go on, also after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub device: u64,
    pub inode: u64,
    /// The first byte of the first line that was not handed out.
    pub offset: u64,
    /// A hash of what stands before the offset. File systems use an inode's number again within
    /// milliseconds, so that a new file in the old one's place can't be told by number and length.
    pub mark: u64,
    /// The offset is inside of a line that is being left out.
    pub within_oversized: bool,
}

#[derive(Debug)]
pub enum News<'a> {
    /// What follows is the beginning of a file: what was known of the former lines may be wrong.
    Restarted(Restart),
    /// One or more whole lines, each with its newline.
    Lines(&'a [u8]),
    /// A line over the limit was left out.
    Oversized,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    Truncated,
    Replaced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Here,
    /// There is no file at the path. The cursor is kept, in case it comes back.
    Gone,
}

#[derive(Debug, thiserror::Error)]
pub enum TailError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is no file", path.display())]
    NoFile { path: PathBuf },
}

/// Room for what is read; one serves any number of tails, one after the other.
#[derive(Debug)]
pub struct Buffer(Vec<u8>);

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer(vec![0; CHUNK_BYTES])
    }
}

#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    cursor: Option<Cursor>,
    /// Length and time of change at the last look: the same again means nothing new.
    seen: Option<(u64, i64, i64)>,
}

impl Tail {
    /// From the beginning.
    pub fn new(path: PathBuf) -> Tail {
        Tail { path, cursor: None, seen: None }
    }

    /// From where a reader stopped, if that is still the same file.
    pub fn resumed(path: PathBuf, cursor: Cursor) -> Tail {
        Tail { path, cursor: Some(cursor), seen: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `None` as long as nothing was read.
    pub fn cursor(&self) -> Option<Cursor> {
        self.cursor
    }

    /// Whether the file has changed since the last look; one system call.
    pub fn changed(&self) -> bool {
        let same = |found: Metadata| self.is_same_file(&found) && self.seen == Some(seen(&found));
        !std::fs::metadata(&self.path).is_ok_and(same)
    }

    /// Hands out what is new, as far as the file goes at this moment.
    pub fn read(
        &mut self,
        buffer: &mut Buffer,
        mut each: impl FnMut(News<'_>),
    ) -> Result<Presence, TailError> {
        if !self.changed() {
            return Ok(Presence::Here);
        }
        let unreadable = |source| TailError::Unreadable { path: self.path.clone(), source };
        // Nonblocking, so that a pipe in the file's place can't hold us.
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Presence::Gone),
            Err(source) => return Err(unreadable(source)),
        };
        let found = file.metadata().map_err(unreadable)?;
        if !found.is_file() {
            return Err(TailError::NoFile { path: self.path.clone() });
        }
        let mut cursor = match self.known_in(&file, &found).map_err(unreadable)? {
            Ok(cursor) => cursor,
            Err(restart) => {
                restart.into_iter().for_each(|why| each(News::Restarted(why)));
                beginning(&found)
            }
        };
        let outcome = advance(&file, found.len(), &mut cursor, &mut buffer.0, &mut each);
        // What was handed out before an error is not handed out again.
        let marked = mark(&file, cursor.offset).map(|mark| cursor.mark = mark);
        self.cursor = Some(cursor);
        outcome.and(marked).map_err(unreadable)?;
        self.seen = Some(seen(&found));
        Ok(Presence::Here)
    }

    fn is_same_file(&self, found: &Metadata) -> bool {
        self.cursor
            .is_some_and(|cursor| (cursor.device, cursor.inode) == (found.dev(), found.ino()))
    }

    /// The cursor if it stands in this very file; else why reading starts over, if it does.
    fn known_in(
        &self,
        file: &File,
        found: &Metadata,
    ) -> io::Result<Result<Cursor, Option<Restart>>> {
        let Some(cursor) = self.cursor else {
            return Ok(Err(None));
        };
        if !self.is_same_file(found) {
            return Ok(Err(Some(Restart::Replaced)));
        }
        if found.len() < cursor.offset {
            return Ok(Err(Some(Restart::Truncated)));
        }
        let is_known = mark(file, cursor.offset)? == cursor.mark;
        Ok(if is_known { Ok(cursor) } else { Err(Some(Restart::Replaced)) })
    }
}

/// The lines of what [`News::Lines`] holds, without their newlines; empty ones are left out.
pub fn lines(whole: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = whole;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
    .filter(|line| !line.trim_ascii().is_empty())
}

fn seen(found: &Metadata) -> (u64, i64, i64) {
    (found.len(), found.mtime(), found.mtime_nsec())
}

fn beginning(found: &Metadata) -> Cursor {
    let (device, inode) = (found.dev(), found.ino());
    Cursor { device, inode, offset: 0, mark: fnv(&[]), within_oversized: false }
}

/// Reads up to `end`, which was the file's length: a writer who never stops does not hold us.
fn advance(
    file: &File,
    end: u64,
    cursor: &mut Cursor,
    buffer: &mut Vec<u8>,
    each: &mut impl FnMut(News<'_>),
) -> io::Result<()> {
    // Bytes of the buffer that hold the file from the cursor's offset on.
    let mut filled = 0;
    while cursor.offset + (filled as u64) < end {
        if filled == buffer.len() {
            buffer.resize((buffer.len() * 2).min(LINE_BYTES_MAX + CHUNK_BYTES), 0);
        }
        let count = match file.read_at(&mut buffer[filled..], cursor.offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let fresh = &buffer[filled..filled + count];
        filled += count;
        if let Some(newline) = memchr::memrchr(b'\n', fresh) {
            let whole = filled - count + newline + 1;
            hand_out(&buffer[..whole], cursor, each);
            buffer.copy_within(whole..filled, 0);
            filled -= whole;
        } else if filled > LINE_BYTES_MAX || cursor.within_oversized {
            if !std::mem::replace(&mut cursor.within_oversized, true) {
                each(News::Oversized);
            }
            cursor.offset += filled as u64;
            filled = 0;
        }
    }
    if buffer.len() > CHUNK_BYTES {
        buffer.truncate(CHUNK_BYTES);
        buffer.shrink_to_fit();
    }
    Ok(())
}

fn hand_out(whole: &[u8], cursor: &mut Cursor, each: &mut impl FnMut(News<'_>)) {
    cursor.offset += whole.len() as u64;
    let skipped = match std::mem::take(&mut cursor.within_oversized) {
        true => memchr::memchr(b'\n', whole).map_or(whole.len(), |newline| newline + 1),
        false => 0,
    };
    if skipped < whole.len() {
        each(News::Lines(&whole[skipped..]));
    }
}

/// A hash of what stands before the offset.
pub(super) fn mark(file: &File, offset: u64) -> io::Result<u64> {
    let start = offset.saturating_sub(MARK_BYTES as u64);
    let mut bytes = [0; MARK_BYTES];
    let bytes = &mut bytes[..(offset - start) as usize];
    match file.read_exact_at(bytes, start) {
        Ok(()) => Ok(fnv(bytes)),
        // Cut while we looked: no mark of it is right, and the next look begins anew.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(error),
    }
}

/// FNV-1a: it is saved, so that it has to be the same in every version of ours.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
