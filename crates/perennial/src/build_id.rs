//! Which build of Perennial this process is: its version, and a number that differs between two builds of
//! one version.
//!
//! The number is the linker's build id, read from the process's own executable. Where the linker wrote none,
//! it is a hash of the whole file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// As many hexadecimal digits as git shows of a commit.
const DIGITS: usize = 12;
/// An executable has far fewer program headers, and a note is far shorter.
const HEADERS_MAX: u16 = 64;
const NOTES_BYTES_MAX: u64 = 64 << 10;
const PROGRAM_HEADER_IS_NOTE: u32 = 4;
const NOTE_IS_BUILD_ID: u32 = 3;

static BUILD: LazyLock<String> = LazyLock::new(|| of_executable().unwrap_or_default());
static VERSION_AND_BUILD: LazyLock<String> = LazyLock::new(|| shown(VERSION, build()));

/// This process's build; empty if its executable can't be read.
pub fn build() -> &'static str {
    &BUILD
}

/// The version as people read it, such as `0.1.0 (build 9262ffa8f80b)`.
pub fn version_and_build() -> &'static str {
    &VERSION_AND_BUILD
}

pub fn as_json() -> serde_json::Value {
    serde_json::json!({ "version": VERSION, "build": build() })
}

/// The same of a daemon, which may be from before builds were told apart.
pub fn shown(version: &str, build: &str) -> String {
    match build {
        "" => version.to_owned(),
        build => format!("{version} (build {build})"),
    }
}

/// Whether a daemon is of this very build.
pub fn is_own(version: &str, build: &str) -> bool {
    (version, build) == (VERSION, self::build())
}

/// The link leads to the file that this process runs, also after another one has taken its place.
fn of_executable() -> io::Result<String> {
    let mut file = File::open("/proc/self/exe")?;
    let id = match linked(&file)? {
        Some(id) => id,
        None => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Sha256::digest(&bytes).to_vec()
        }
    };
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(digits.chars().take(DIGITS).collect())
}

/// The build id that the linker wrote into a 64-bit executable of this machine's byte order.
fn linked(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0u8; 64];
    file.read_exact_at(&mut header, 0)?;
    if header[..5] != *b"\x7fELF\x02" {
        return Ok(None);
    }
    let (table, size, count) = (u64_at(&header, 32), u16_at(&header, 54), u16_at(&header, 56));
    for index in 0..u64::from(count.min(HEADERS_MAX)) {
        let mut entry = [0u8; 56];
        file.read_exact_at(&mut entry, table + index * u64::from(size))?;
        let (kind, at, bytes) = (u32_at(&entry, 0), u64_at(&entry, 8), u64_at(&entry, 32));
        if kind == PROGRAM_HEADER_IS_NOTE && bytes <= NOTES_BYTES_MAX {
            let mut notes = vec![0u8; usize::try_from(bytes).unwrap_or_default()];
            file.read_exact_at(&mut notes, at)?;
            if let Some(id) = find(&notes) {
                return Ok(Some(id.to_vec()));
            }
        }
    }
    Ok(None)
}

/// The build id among notes: each has two lengths and a kind, then a name and a
/// description, both padded to 4 bytes.
fn find(mut notes: &[u8]) -> Option<&[u8]> {
    while notes.len() >= 12 {
        let lengths = [u32_at(notes, 0), u32_at(notes, 4)].map(|length| length as usize);
        let [name, description] = lengths;
        let from = 12 + name.checked_next_multiple_of(4)?;
        let to = from.checked_add(description)?;
        if u32_at(notes, 8) == NOTE_IS_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return notes.get(from..to);
        }
        notes = notes.get(to.checked_next_multiple_of(4)?..)?;
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_executable_has_a_build_of_twelve_digits() {
        assert_eq!(build().len(), DIGITS);
        assert!(build().bytes().all(|byte| byte.is_ascii_hexdigit()), "{}", build());
        assert_eq!(version_and_build(), format!("{VERSION} (build {})", build()));
        assert_eq!(shown("0.0.9", ""), "0.0.9");
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let note = |kind: u32, name: &[u8], text: &[u8]| {
            let lengths = [name.len() as u32, text.len() as u32, kind];
            let mut note: Vec<u8> = lengths.into_iter().flat_map(u32::to_ne_bytes).collect();
            note.extend(name);
            note.resize(note.len().next_multiple_of(4), 0);
            note.extend(text);
            note.resize(note.len().next_multiple_of(4), 0);
            note
        };
        let id = [7u8; 20];
        let notes = [note(1, b"GNU\0", b"abi"), note(3, b"GNU\0", &id)].concat();
        assert_eq!(find(&notes), Some(&id[..]));
        assert_eq!(find(&notes[..notes.len() - 4]), None);
        assert_eq!(find(&note(3, b"Go\0\0", &id)), None);
        assert_eq!(find(&[0xff; 12]), None);
    }

    #[test]
    fn a_file_that_is_not_an_executable_has_none() {
        let mut file = tempfile::tempfile().expect("a file");
        io::Write::write_all(&mut file, &[b'x'; 100]).expect("written");
        assert!(linked(&file).expect("readable").is_none());
    }
}
