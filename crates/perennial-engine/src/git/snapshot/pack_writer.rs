//! Writes the new objects of one snapshot as one pack and its index. No deltas: a snapshot is written in a hurry.
//!
//! Invariants
//! - PW1  A pack has its final name only once it is durable, and its index after it. What a kill leaves behind has a
//!   name that nobody reads.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, Crc};
use sha1::{Digest, Sha1};

use crate::git::error::{At, GitError};
use crate::git::object::{ObjectId, ObjectKind, hash};

pub const TEMPORARY: &str = "tmp_pack_";

struct Entry {
    id: ObjectId,
    crc: u32,
    offset: u64,
}

pub struct PackWriter {
    directory: PathBuf,
    file: Option<BufWriter<File>>,
    entries: Vec<Entry>,
    ids: HashSet<ObjectId>,
    at: u64,
    /// Of the objects, before compression.
    pub content_bytes: u64,
    most_bytes: u64,
    /// Objects of a look, which are not written.
    looked_at: Option<Overlay>,
    /// Objects are not even kept.
    is_forgetful: bool,
}

/// Objects that are in memory only.
pub type Overlay = HashMap<ObjectId, (ObjectKind, Vec<u8>)>;

/// A look keeps objects up to this size; larger ones are known by their ids.
const MOST_LOOKED_AT: usize = 1 << 20;
/// … and of files so much together, those that are seen first.
const MOST_LOOKED_AT_TOGETHER: u64 = 256 << 20;

impl std::fmt::Debug for PackWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackWriter").field("objects", &self.entries.len()).finish_non_exhaustive()
    }
}

impl PackWriter {
    /// Makes no file until there is an object to write.
    pub fn new(directory: PathBuf, most_bytes: u64) -> PackWriter {
        PackWriter {
            directory,
            file: None,
            entries: Vec::new(),
            ids: HashSet::new(),
            at: 12,
            content_bytes: 0,
            most_bytes,
            looked_at: None,
            is_forgetful: false,
        }
    }

    /// Writes nothing: the objects are kept for `into_overlay`.
    pub fn look() -> PackWriter {
        let looked_at = Some(Overlay::new());
        PackWriter { looked_at, ..PackWriter::new(PathBuf::new(), u64::MAX) }
    }

    /// Writes and keeps nothing.
    pub fn fill() -> PackWriter {
        PackWriter { is_forgetful: true, ..PackWriter::look() }
    }

    pub fn is_look(&self) -> bool {
        self.looked_at.is_some()
    }

    pub fn into_overlay(self) -> Overlay {
        self.looked_at.unwrap_or_default()
    }

    pub fn has(&self, id: ObjectId) -> bool {
        self.ids.contains(&id)
    }

    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The bytes of the pack.
    pub fn pack_bytes(&self) -> u64 {
        if self.entries.is_empty() { 0 } else { self.at + 20 }
    }

    fn temporary(&self) -> PathBuf {
        self.directory.join(format!("{TEMPORARY}{}", std::process::id()))
    }

    /// Adds an object once.
    pub fn add(&mut self, kind: ObjectKind, bytes: &[u8]) -> Result<ObjectId, GitError> {
        let id = hash(kind, bytes);
        if !self.ids.insert(id) {
            return Ok(id);
        }
        if let Some(overlay) = &mut self.looked_at {
            let together = self.content_bytes + bytes.len() as u64;
            let has_room = bytes.len() <= MOST_LOOKED_AT && together <= MOST_LOOKED_AT_TOGETHER;
            let is_kept = has_room || kind != ObjectKind::Blob;
            if is_kept && !self.is_forgetful {
                self.content_bytes = together;
                overlay.insert(id, (kind, bytes.to_owned()));
            }
            return Ok(id);
        }
        self.content_bytes += bytes.len() as u64;
        if self.content_bytes > self.most_bytes {
            return Err(GitError::TooManyBytes(self.most_bytes));
        }
        let path = self.temporary();
        let entry = entry_bytes(kind, bytes).at(&path)?;
        let mut crc = Crc::new();
        crc.update(&entry);
        if self.file.is_none() {
            let mut options = File::options();
            let file =
                options.read(true).write(true).create(true).truncate(true).open(&path).at(&path)?;
            let mut file = BufWriter::with_capacity(1 << 16, file);
            file.write_all(b"PACK\0\0\0\x02\0\0\0\0").at(&path)?;
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.write_all(&entry).at(&path)?;
        }
        self.entries.push(Entry { id, crc: crc.sum(), offset: self.at });
        self.at += entry.len() as u64;
        Ok(id)
    }

    /// Makes the pack durable, and tells where its index is; nothing, if nothing was added.
    pub fn finish(mut self) -> Result<Option<PathBuf>, GitError> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let temporary = self.temporary();
        let sum = seal(file, self.entries.len()).at(&temporary)?;
        let name = format!("pack-{}", ObjectId(sum));
        let pack = self.directory.join(format!("{name}.pack"));
        let index = self.directory.join(format!("{name}.idx"));
        let index_temporary = temporary.with_extension("idx");
        self.entries.sort_by_key(|entry| entry.id);
        write_index(&index_temporary, &self.entries, &sum).at(&index_temporary)?;
        std::fs::rename(&temporary, &pack).at(&pack)?;
        std::fs::rename(&index_temporary, &index).at(&index)?;
        sync_directory(&self.directory)?;
        Ok(Some(index))
    }

    /// Forgets what was added.
    pub fn discard(self) {
        if self.file.is_some() {
            let _ = std::fs::remove_file(self.temporary());
        }
    }
}

fn entry_bytes(kind: ObjectKind, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut entry = Vec::with_capacity(bytes.len() / 2 + 32);
    let mut size = bytes.len();
    let mut byte = kind.number() << 4 | (size & 15) as u8;
    size >>= 4;
    while size > 0 {
        entry.push(byte | 0x80);
        byte = (size & 0x7f) as u8;
        size >>= 7;
    }
    entry.push(byte);
    let mut encoder = flate2::write::ZlibEncoder::new(entry, Compression::new(1));
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Writes the count and the checksum, and makes the pack durable.
fn seal(file: BufWriter<File>, count: usize) -> io::Result<[u8; 20]> {
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    let count = u32::try_from(count).map_err(io::Error::other)?;
    file.seek(SeekFrom::Start(8))?;
    file.write_all(&count.to_be_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    let (mut sha1, mut buffer) = (Sha1::new(), vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        sha1.update(&buffer[..read]);
    }
    let sum: [u8; 20] = sha1.finalize().into();
    file.write_all(&sum)?;
    file.sync_all()?;
    Ok(sum)
}

/// Version 2 of git's pack index.
fn write_index(path: &Path, entries: &[Entry], pack: &[u8; 20]) -> io::Result<()> {
    let mut bytes = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255_u8 {
        let below = entries.partition_point(|entry| entry.id.0[0] <= first);
        bytes.extend_from_slice(&u32::try_from(below).map_err(io::Error::other)?.to_be_bytes());
    }
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.id.0));
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.crc.to_be_bytes()));
    let mut far = Vec::new();
    for entry in entries {
        let short = match u32::try_from(entry.offset) {
            Ok(offset) if offset & 0x8000_0000 == 0 => offset,
            _ => {
                far.extend_from_slice(&entry.offset.to_be_bytes());
                u32::try_from(far.len() / 8 - 1).map_err(io::Error::other)? | 0x8000_0000
            }
        };
        bytes.extend_from_slice(&short.to_be_bytes());
    }
    bytes.extend_from_slice(&far);
    bytes.extend_from_slice(pack);
    let sum = Sha1::digest(&bytes);
    bytes.extend_from_slice(&sum);
    let mut file = File::create(path)?;
    file.write_all(&bytes)?;
    file.sync_all()
}

pub fn sync_directory(path: &Path) -> Result<(), GitError> {
    File::open(path).and_then(|directory| directory.sync_all()).at(path)
}
