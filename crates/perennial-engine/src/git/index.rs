//! Git's index, read: versions 2 to 4, split and sparse ones.
//!
//! Invariants
//! - IX1  An index is read as a whole or not at all; an extension that must be understood and is not is refused.

use std::path::Path;

use sha1::{Digest, Sha1};

use super::error::{GitError, Unsupported};
use super::object::{EntryMode, ObjectId};
use super::split_index;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    pub path: Vec<u8>,
    pub id: ObjectId,
    pub mode: EntryMode,
    /// 0, or 1 to 3 during a conflict.
    pub stage: u8,
    /// A sparse path: git does not expect it in the work tree.
    pub skip_worktree: bool,
    /// `git add -N`: its blob is the empty one and may not exist.
    pub intent_to_add: bool,
}

#[derive(Debug, Default)]
pub struct Index {
    /// Sorted by path and stage.
    pub entries: Vec<IndexEntry>,
    /// The file name of the shared part of a split index.
    pub shared: Option<String>,
}

/// Whether the checksum of an index is still to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    Verify,
    /// These bytes were verified when they were read before.
    Known,
}

/// Entries, and what the `link` extension says if it is there.
#[derive(Debug)]
pub struct Parsed {
    pub entries: Vec<IndexEntry>,
    pub link: Option<split_index::Link>,
}

impl Index {
    /// Reads the bytes of an index; `shared` fetches the shared part of a split one by its file name.
    pub fn parse(
        path: &Path,
        bytes: &[u8],
        shared: impl FnOnce(&str) -> Result<Vec<u8>, GitError>,
    ) -> Result<Index, GitError> {
        Index::parse_as(path, bytes, Checksum::Verify, shared)
    }

    /// The same of bytes whose checksum may have been verified before.
    pub fn parse_as(
        path: &Path,
        bytes: &[u8],
        checksum: Checksum,
        shared: impl FnOnce(&str) -> Result<Vec<u8>, GitError>,
    ) -> Result<Index, GitError> {
        let parsed = parse(path, bytes, checksum)?;
        let Some(link) = parsed.link else {
            return Ok(Index { entries: parsed.entries, shared: None });
        };
        let name = format!("sharedindex.{}", link.shared);
        let base = parse(path, &shared(&name)?, Checksum::Verify)?;
        if base.link.is_some() {
            return Err(Unsupported::Index.into());
        }
        let mut entries = split_index::merge(base.entries, &link, parsed.entries)
            .ok_or_else(|| GitError::damaged(path, "its split parts do not fit"))?;
        entries.sort_by(|one, other| one.path.cmp(&other.path).then(one.stage.cmp(&other.stage)));
        Ok(Index { entries, shared: Some(name) })
    }

    /// The entries at or below a path that ends in `/`, or whose path it is.
    pub fn below(&self, directory: &[u8]) -> &[IndexEntry] {
        let from = self.entries.partition_point(|entry| &*entry.path < directory);
        let rest = &self.entries[from..];
        &rest[..rest.partition_point(|entry| entry.path.starts_with(directory))]
    }
}

fn parse(path: &Path, bytes: &[u8], checksum: Checksum) -> Result<Parsed, GitError> {
    let damaged = || GitError::damaged(path, "it is not an index");
    let (body, sum) = bytes.split_at_checked(bytes.len().wrapping_sub(20)).ok_or_else(damaged)?;
    // `index.skipHash` writes zeroes.
    let is_to_verify = checksum == Checksum::Verify;
    if is_to_verify && sum.iter().any(|byte| *byte != 0) && Sha1::digest(body)[..] != *sum {
        return Err(GitError::damaged(path, "its checksum is wrong"));
    }
    if body.get(..4) != Some(b"DIRC") {
        return Err(damaged());
    }
    let version = u32_at(body, 4).ok_or_else(damaged)?;
    if !(2..=4).contains(&version) {
        return Err(Unsupported::Index.into());
    }
    let count = u32_at(body, 8).ok_or_else(damaged)? as usize;
    // No entry is shorter than this, so a false count reserves nothing.
    if count > body.len() / 62 {
        return Err(damaged());
    }
    let (mut at, mut entries) = (12, Vec::with_capacity(count));
    for _ in 0..count {
        let before = entries.last().map_or(&b""[..], |entry: &IndexEntry| &entry.path);
        let (entry, next) = entry(body, at, version, before).ok_or_else(damaged)?;
        entries.push(entry);
        at = next;
    }
    let mut link = None;
    while at < body.len() {
        let name = body.get(at..at + 4).ok_or_else(damaged)?;
        let length = u32_at(body, at + 4).ok_or_else(damaged)? as usize;
        let content = body.get(at + 8..).and_then(|rest| rest.get(..length)).ok_or_else(damaged)?;
        match name {
            b"link" => link = split_index::Link::parse(content).ok_or_else(damaged)?,
            // A sparse index: directories as entries, which `entry` reads like others.
            b"sdir" => {}
            other if other[0].is_ascii_uppercase() => {}
            _ => return Err(Unsupported::Index.into()),
        }
        at += 8 + length;
    }
    Ok(Parsed { entries, link })
}

fn entry(bytes: &[u8], at: usize, version: u32, before: &[u8]) -> Option<(IndexEntry, usize)> {
    let mode = EntryMode::from_bits(u32_at(bytes, at + 24)?)?;
    let id = ObjectId::from_slice(bytes.get(at + 40..at + 60)?)?;
    let flags = u16_at(bytes, at + 60)?;
    let is_extended = flags & 0x4000 != 0;
    if is_extended && version < 3 {
        return None;
    }
    let more = if is_extended { u16_at(bytes, at + 62)? } else { 0 };
    let name_at = at + 62 + usize::from(is_extended) * 2;
    let (path, next) = if version == 4 {
        let (strip, from) = varint(bytes, name_at)?;
        let end = from + memchr::memchr(0, bytes.get(from..)?)?;
        let kept = before.get(..before.len().checked_sub(strip)?)?;
        ([kept, &bytes[from..end]].concat(), end + 1)
    } else {
        let end = name_at + memchr::memchr(0, bytes.get(name_at..)?)?;
        // One to eight zeroes, so that the entry's length is a multiple of eight.
        (bytes[name_at..end].to_owned(), at + ((end - at) / 8 + 1) * 8)
    };
    let entry = IndexEntry {
        path,
        id,
        mode,
        stage: (flags >> 12 & 3) as u8,
        skip_worktree: more & 0x4000 != 0,
        intent_to_add: more & 0x2000 != 0,
    };
    Some((entry, next))
}

/// The number that version 4 puts before a name: how much of the last name goes.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
