//! One pack and its index, read with `pread`.
//!
//! Invariants
//! - PF1  An object is at most `MOST_OBJECT` bytes long and at most `MOST_DELTAS` deltas deep; its deltas come to an end,
//!   have at most `MOST_DELTA_BYTES` together, and make at most `MOST_WORK` bytes on the way. A pack that says otherwise
//!   is damaged. So no pack makes the daemon run out of memory or turn in circles.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::{At, GitError};
use super::index::u32_at;
use super::object::{ObjectId, ObjectKind};
use crate::regular_file::{self, Links};

pub const MOST_OBJECT: u64 = 512 << 20;
const MOST_DELTAS: usize = 4096;
/// Of all deltas that make one object, which are in memory together.
const MOST_DELTA_BYTES: u64 = 128 << 20;
/// Of all that is made on the way to one object, one after the other.
const MOST_WORK: u64 = 2 << 30;
/// An index up to this size is read once as a whole.
const MOST_IN_MEMORY: u64 = 32 << 20;

#[derive(Debug)]
pub struct PackFile {
    path: PathBuf,
    index: Bytes,
    count: u64,
    fanout: Vec<u32>,
    pack: File,
}

/// A file that is read piece by piece, or has been read.
#[derive(Debug)]
enum Bytes {
    InMemory(Vec<u8>),
    OnDisk(File),
}

impl Bytes {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Bytes::OnDisk(file) => file.read_exact_at(into, at),
            Bytes::InMemory(bytes) => {
                let from = usize::try_from(at).map_err(io::Error::other)?;
                let found = bytes.get(from..).and_then(|rest| rest.get(..into.len()));
                into.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

/// What the bytes at an offset of a pack are.
enum Found {
    Whole(ObjectKind),
    DeltaAt(u64),
    DeltaOf(ObjectId),
}

/// What is at an offset of a pack.
enum Stored {
    Whole(ObjectKind, Vec<u8>),
    DeltaAt(u64, Vec<u8>),
    DeltaOf(ObjectId, Vec<u8>),
}

/// What is left of the bounds of one object, across packs (PF1).
#[derive(Debug)]
pub struct Limits {
    delta_bytes: u64,
    work: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { delta_bytes: MOST_DELTA_BYTES, work: MOST_WORK }
    }
}

impl Limits {
    /// Makes an object of its base and its deltas, the last one first.
    pub fn apply(
        &mut self,
        mut bytes: Vec<u8>,
        mut deltas: Vec<Vec<u8>>,
    ) -> Result<Vec<u8>, Fault> {
        while let Some(delta) = deltas.pop() {
            bytes = apply_delta(&bytes, &delta).ok_or(UNREADABLE)?;
            let left = self.work.checked_sub(bytes.len() as u64);
            self.work = left.ok_or("its deltas take too much work")?;
        }
        Ok(bytes)
    }
}

/// What is wrong with a pack, in words.
pub type Fault = &'static str;

const UNREADABLE: Fault = "an object in it can't be read";
pub const CIRCLE: Fault = "its deltas name each other";

/// What a delta is a delta of.
#[derive(Debug, Clone, Copy)]
pub enum Base {
    At(u64),
    Of(ObjectId),
}

/// An object as far as one pack knows it: whole, or deltas, the last one first, of another object.
#[derive(Debug)]
pub enum Unpacked {
    Whole(ObjectKind, Vec<u8>),
    Deltas(ObjectId, Vec<Vec<u8>>),
}

impl PackFile {
    /// Opens a pack by the path of its index.
    pub fn open(index_path: &Path) -> Result<PackFile, GitError> {
        let file = regular_file::open(index_path, Links::Follow).at(index_path)?;
        let length = file.metadata().at(index_path)?.len();
        let index = if length <= MOST_IN_MEMORY {
            let mut bytes = Vec::new();
            file.take(MOST_IN_MEMORY).read_to_end(&mut bytes).at(index_path)?;
            Bytes::InMemory(bytes)
        } else {
            Bytes::OnDisk(file)
        };
        let damaged = || GitError::damaged(index_path, "it is not the index of a pack");
        let mut head = vec![0; 8 + 1024];
        index.read(0, &mut head).map_err(|_| damaged())?;
        if head[..8] != *b"\xfftOc\0\0\0\x02" {
            return Err(damaged());
        }
        let fanout: Vec<u32> =
            (0..256).map(|at| u32_at(&head, 8 + at * 4).unwrap_or_default()).collect();
        let count = u64::from(fanout[255]);
        if !fanout.is_sorted() || 1032 + count * 28 + 40 > length {
            return Err(damaged());
        }
        let path = index_path.with_extension("pack");
        let pack = regular_file::open(&path, Links::Follow).at(&path)?;
        Ok(PackFile { path, index, count, fanout, pack })
    }

    fn id_at(&self, at: u64) -> io::Result<ObjectId> {
        let mut id = [0; 20];
        self.index.read(1032 + at * 20, &mut id)?;
        Ok(ObjectId(id))
    }

    /// All ids, in order.
    pub fn ids(&self) -> Result<Vec<ObjectId>, GitError> {
        (0..self.count).map(|at| self.id_at(at)).collect::<io::Result<_>>().at(&self.path)
    }

    /// Where an object is, if it is in this pack.
    pub fn find(&self, id: ObjectId) -> Result<Option<u64>, GitError> {
        let first = usize::from(id.0[0]);
        let mut low = if first == 0 { 0 } else { u64::from(self.fanout[first - 1]) };
        let mut high = u64::from(self.fanout[first]);
        while low < high {
            let middle = u64::midpoint(low, high);
            match self.id_at(middle).at(&self.path)?.cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle).at(&self.path).map(Some),
            }
        }
        Ok(None)
    }

    fn offset(&self, at: u64) -> io::Result<u64> {
        let table = 1032 + self.count * 24;
        let mut short = [0; 4];
        self.index.read(table + at * 4, &mut short)?;
        let short = u32::from_be_bytes(short);
        if short & 0x8000_0000 == 0 {
            return Ok(u64::from(short));
        }
        let mut long = [0; 8];
        let far = u64::from(short & 0x7fff_ffff);
        self.index.read(table + self.count * 4 + far * 8, &mut long)?;
        Ok(u64::from_be_bytes(long))
    }

    pub fn damaged(&self, fault: Fault) -> GitError {
        GitError::damaged(&self.path, fault)
    }

    /// Follows the deltas within this pack; `cached` may know an object by its offset.
    pub fn unpack(
        &self,
        mut offset: u64,
        limits: &mut Limits,
        cached: impl Fn(u64) -> Option<(ObjectKind, Vec<u8>)>,
    ) -> Result<Unpacked, GitError> {
        let (mut deltas, mut named) = (Vec::new(), HashSet::new());
        let (kind, bytes) = loop {
            if deltas.len() > MOST_DELTAS {
                return Err(self.damaged(UNREADABLE));
            }
            if let Some(found) = cached(offset) {
                break found;
            }
            let stored = self.read_at(offset, limits).map_err(|fault| self.damaged(fault))?;
            let (base, delta) = match stored {
                Stored::Whole(kind, bytes) => break (kind, bytes),
                Stored::DeltaAt(base, delta) => (Base::At(base), delta),
                Stored::DeltaOf(id, delta) => match self.find(id)? {
                    // An offset leads to the front of the pack, so only a name can close a circle.
                    Some(base) if !named.insert(base) => return Err(self.damaged(CIRCLE)),
                    Some(base) => (Base::At(base), delta),
                    None => (Base::Of(id), delta),
                },
            };
            deltas.push(delta);
            match base {
                Base::At(at) => offset = at,
                Base::Of(id) => return Ok(Unpacked::Deltas(id, deltas)),
            }
        };
        let bytes = limits.apply(bytes, deltas).map_err(|fault| self.damaged(fault))?;
        Ok(Unpacked::Whole(kind, bytes))
    }

    fn read_at(&self, offset: u64, limits: &mut Limits) -> Result<Stored, Fault> {
        let (found, size, reader) = self.header_at(offset).map_err(|_| UNREADABLE)?;
        let is_delta = !matches!(found, Found::Whole(_));
        if is_delta {
            let left = limits.delta_bytes.checked_sub(size);
            limits.delta_bytes = left.ok_or("its deltas are too large together")?;
        }
        let bytes = inflate(reader, size).map_err(|_| UNREADABLE)?;
        Ok(match found {
            Found::Whole(kind) => Stored::Whole(kind, bytes),
            Found::DeltaAt(base) => Stored::DeltaAt(base, bytes),
            Found::DeltaOf(id) => Stored::DeltaOf(id, bytes),
        })
    }

    /// What is at an offset, its size, and where its bytes begin.
    fn header_at(&self, offset: u64) -> io::Result<(Found, u64, io::BufReader<PackReader<'_>>)> {
        let mut reader =
            io::BufReader::with_capacity(4096, PackReader { pack: &self.pack, at: offset });
        let mut byte = next(&mut reader)?;
        let number = byte >> 4 & 7;
        let (mut size, mut shift) = (u64::from(byte & 15), 4);
        while byte & 0x80 != 0 {
            byte = next(&mut reader)?;
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if shift > 40 {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        if size > MOST_OBJECT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let found = match number {
            6 => {
                let mut byte = next(&mut reader)?;
                let mut back = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next(&mut reader)?;
                    back = (back + 1).checked_mul(128).ok_or(io::ErrorKind::InvalidData)?
                        | u64::from(byte & 0x7f);
                }
                let base = offset.checked_sub(back).filter(|base| *base < offset);
                Found::DeltaAt(base.ok_or(io::ErrorKind::InvalidData)?)
            }
            7 => {
                let mut id = [0; 20];
                reader.read_exact(&mut id)?;
                Found::DeltaOf(ObjectId(id))
            }
            number => {
                let kind = ObjectKind::ALL.into_iter().find(|kind| kind.number() == number);
                Found::Whole(kind.ok_or(io::ErrorKind::InvalidData)?)
            }
        };
        Ok((found, size, reader))
    }
}

fn next(reader: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    reader.read_exact(&mut byte)?;
    Ok(byte[0])
}

struct PackReader<'a> {
    pack: &'a File,
    at: u64,
}

impl Read for PackReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.pack.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Exactly this many bytes out of a zlib stream.
fn inflate(reader: impl io::BufRead, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::bufread::ZlibDecoder::new(reader).take(size + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != size {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(bytes)
}

/// Makes an object of another one; `None` for a delta that does not fit.
pub fn apply_delta(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut delta = delta.iter().copied();
    let mut size = || {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = delta.next()?;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            if shift > 56 {
                return None;
            }
        }
    };
    let (from, to) = (size()?, size()?);
    if from != base.len() as u64 || to > MOST_OBJECT {
        return None;
    }
    let mut out = Vec::new();
    while let Some(order) = delta.next() {
        if order & 0x80 != 0 {
            let mut part = |bits: u8, count: u8| {
                (0..count).try_fold(0_usize, |value, at| {
                    let is_there = order >> (bits + at) & 1 == 1;
                    let byte = if is_there { delta.next()? } else { 0 };
                    Some(value | usize::from(byte) << (8 * at))
                })
            };
            let (start, length) = (part(0, 4)?, part(4, 3)?);
            let length = if length == 0 { 0x10000 } else { length };
            out.extend_from_slice(base.get(start..start.checked_add(length)?)?);
        } else if order != 0 {
            for _ in 0..order {
                out.push(delta.next()?);
            }
        } else {
            return None;
        }
        if out.len() as u64 > to {
            return None;
        }
    }
    (out.len() as u64 == to).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_copy_and_insert_and_bad_ones_are_refused() {
        // 5 bytes from a base of 6: copy 3 from offset 1, insert "xy".
        let delta = [6, 5, 0x80 | 1 | 0x10, 1, 3, 2, b'x', b'y'];
        assert_eq!(apply_delta(b"abcdef", &delta).unwrap(), b"bcdxy");
        assert_eq!(apply_delta(b"abcde", &delta), None);
        for cut in 0..delta.len() {
            assert_eq!(apply_delta(b"abcdef", &delta[..cut]), None, "{cut}");
        }
        assert_eq!(apply_delta(b"abcdef", &[6, 1, 0]), None);
    }
}
