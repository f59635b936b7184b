//! Git's objects as bytes: ids, trees, commits.
//!
//! Invariants
//! - OB1  A decoded tree's names are single components: not empty, not `.` or `..`, no `/`, no zero byte. A path made
//!   of them stays below its root.

use std::fmt;
use std::hash::{Hash, Hasher};

use sha1::{Digest, Sha1};

/// A SHA-1 object id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId(pub [u8; 20]);

impl Hash for ObjectId {
    /// All of it, in words: an id that somebody has written down need not be a hash, and may begin as all others do.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (words, rest) = self.0.as_chunks::<8>();
        words.iter().for_each(|word| state.write_u64(u64::from_le_bytes(*word)));
        state.write(rest);
    }
}

impl ObjectId {
    pub fn from_slice(bytes: &[u8]) -> Option<ObjectId> {
        bytes.try_into().ok().map(ObjectId)
    }

    /// From 40 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<ObjectId> {
        let text = text.as_bytes();
        if text.len() != 40 {
            return None;
        }
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut id = [0; 20];
        for (byte, pair) in id.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(ObjectId(id))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl ObjectKind {
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Commit => "commit",
            ObjectKind::Tree => "tree",
            ObjectKind::Blob => "blob",
            ObjectKind::Tag => "tag",
        }
    }

    /// Its number in packs.
    pub fn number(self) -> u8 {
        match self {
            ObjectKind::Commit => 1,
            ObjectKind::Tree => 2,
            ObjectKind::Blob => 3,
            ObjectKind::Tag => 4,
        }
    }

    pub const ALL: [ObjectKind; 4] =
        [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Blob, ObjectKind::Tag];
}

/// The id of an object with this content.
pub fn hash(kind: ObjectKind, bytes: &[u8]) -> ObjectId {
    let mut sha1 = Sha1::new();
    sha1.update(kind.word().as_bytes());
    sha1.update(format!(" {}\0", bytes.len()).as_bytes());
    sha1.update(bytes);
    ObjectId(sha1.finalize().into())
}

/// What an entry of a tree or of the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryMode {
    Directory,
    File,
    Executable,
    Symlink,
    /// A commit of another repository: a submodule.
    Repository,
}

impl EntryMode {
    pub fn from_bits(bits: u32) -> Option<EntryMode> {
        match (bits & 0o170_000, bits & 0o111) {
            (0o040_000, _) => Some(EntryMode::Directory),
            (0o100_000, 0) => Some(EntryMode::File),
            (0o100_000, _) => Some(EntryMode::Executable),
            (0o120_000, _) => Some(EntryMode::Symlink),
            (0o160_000, _) => Some(EntryMode::Repository),
            _ => None,
        }
    }

    fn octal(self) -> &'static str {
        match self {
            EntryMode::Directory => "40000",
            EntryMode::File => "100644",
            EntryMode::Executable => "100755",
            EntryMode::Symlink => "120000",
            EntryMode::Repository => "160000",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub mode: EntryMode,
    pub name: Vec<u8>,
    pub id: ObjectId,
}

/// The bytes of a tree, in git's order: a directory sorts as if its name ended in `/`.
pub fn encode_tree(entries: &[TreeEntry]) -> Vec<u8> {
    let mut named: Vec<NamedEntry<'_>> =
        entries.iter().map(|entry| (&*entry.name, entry.mode, entry.id)).collect();
    encode_named(&mut named)
}

/// An entry of a tree, whose name is somebody else's.
pub type NamedEntry<'a> = (&'a [u8], EntryMode, ObjectId);

/// The same of entries whose names are somewhere else. They are sorted in place.
pub fn encode_named(entries: &mut [NamedEntry<'_>]) -> Vec<u8> {
    fn tail(mode: EntryMode) -> u8 {
        match mode {
            EntryMode::Directory => b'/',
            EntryMode::File
            | EntryMode::Executable
            | EntryMode::Symlink
            | EntryMode::Repository => 0,
        }
    }
    entries.sort_by(|(one, one_mode, _), (other, other_mode, _)| {
        let most = one.len().min(other.len());
        one[..most].cmp(&other[..most]).then_with(|| {
            let next = |name: &[u8], mode| name.get(most).copied().unwrap_or(tail(mode));
            next(one, *one_mode).cmp(&next(other, *other_mode))
        })
    });
    let length = entries.iter().map(|(name, ..)| name.len() + 28).sum();
    let mut bytes = Vec::with_capacity(length);
    for (name, mode, id) in entries {
        bytes.extend_from_slice(mode.octal().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(&id.0);
    }
    bytes
}

/// The entries of a tree; `None` if it is malformed.
pub fn decode_tree(mut bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = memchr::memchr(b' ', bytes.get(..bytes.len().min(8))?)?;
        let zero = memchr::memchr(0, bytes)?;
        let octal = std::str::from_utf8(&bytes[..space]).ok()?;
        let mode = EntryMode::from_bits(u32::from_str_radix(octal, 8).ok()?)?;
        let name = bytes.get(space + 1..zero)?;
        if !is_component(name) {
            return None;
        }
        let id = ObjectId::from_slice(bytes.get(zero + 1..zero + 21)?)?;
        entries.push(TreeEntry { mode, name: name.to_owned(), id });
        bytes = &bytes[zero + 21..];
    }
    Some(entries)
}

/// Whether this is the name of one entry of a directory.
pub fn is_component(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && memchr::memchr2(b'/', 0, name).is_none()
}

/// The tree of a commit.
pub fn tree_of_commit(bytes: &[u8]) -> Option<ObjectId> {
    let line = bytes.strip_prefix(b"tree ")?.get(..40)?;
    ObjectId::parse(std::str::from_utf8(line).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        let empty = hash(ObjectKind::Blob, b"");
        assert_eq!(empty.to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(ObjectId::parse(&empty.to_string()), Some(empty));
        let none = hash(ObjectKind::Tree, b"");
        assert_eq!(none.to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert_eq!(ObjectId::parse("e69D"), None);
    }

    #[test]
    fn trees_are_in_the_order_of_git_and_malformed_ones_are_refused() {
        let id = hash(ObjectKind::Blob, b"");
        let entry = |mode, name: &str| TreeEntry { mode, name: name.into(), id };
        let bytes = encode_tree(&[
            entry(EntryMode::Directory, "a"),
            entry(EntryMode::File, "a.b"),
            entry(EntryMode::File, "a0"),
        ]);
        let names: Vec<_> =
            decode_tree(&bytes).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, [b"a.b".to_vec(), b"a".to_vec(), b"a0".to_vec()]);
        for cut in 1..bytes.len() {
            let _ = decode_tree(&bytes[..cut]);
        }
        for name in ["..", ".", "", "a/b"] {
            assert_eq!(decode_tree(&encode_tree(&[entry(EntryMode::File, name)])), None);
        }
    }
}
