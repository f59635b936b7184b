//! The chain's head in a small file beside the journal: whether the journal still has its newest records is told
//! by it at the next opening.
//!
//! Invariants
//! - H1  It is written after the commit and before its answers, and not brought to the disk: what was answered
//!   is covered whenever the program dies. After a power failure it may be older, and never newer, than the
//!   journal.
//! - H2  Opening does not write it: a loss is told at every opening until something is appended.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_core::observation::LostRecords;
use rusqlite::{Connection, ErrorCode};

use super::rows;
use crate::chain::Hash;
use crate::journal::Seq;

/// The number and the hash, each of a fixed length, and the end of the line.
const LENGTH: usize = 20 + 1 + 64 + 1;

pub(super) struct HeadFile {
    /// `None` if it can't be written: then nothing is covered.
    file: Option<File>,
}

impl HeadFile {
    /// Opens the file beside the journal at `journal`, and makes it if there is none.
    pub fn open(journal: &Path) -> HeadFile {
        let path = path(journal);
        let is_other = fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file());
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600);
        HeadFile { file: if is_other { None } else { options.open(path).ok() } }
    }

    pub fn write(&self, head: (Seq, Hash)) {
        if let Some(file) = &self.file {
            // Without it a loss is not told; that is no reason to refuse what is on the disk.
            let _uncovered = file.write_all_at(line(head).as_bytes(), 0);
        }
    }
}

fn path(journal: &Path) -> PathBuf {
    journal.with_extension("head")
}

fn line((seq, hash): (Seq, Hash)) -> String {
    format!("{:020} {hash}\n", seq.0)
}

/// What the journal was known to have and does not have. Nothing if no head was kept, or a damaged one.
pub(super) fn lost(
    connection: &Connection,
    journal: &Path,
) -> rusqlite::Result<Option<LostRecords>> {
    let Some((known, hash)) = read(&path(journal)).ok().flatten() else { return Ok(None) };
    let found = match rows::hash_at(connection, known) {
        Ok(found) => found,
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => None,
        Err(error) => return Err(error),
    };
    if found == Some(hash) {
        return Ok(None);
    }
    let (found, _) = rows::head(connection)?;
    Ok(Some(LostRecords { known: known.0, found: found.0 }))
}

fn read(path: &Path) -> io::Result<Option<(Seq, Hash)>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut bytes = [0; LENGTH];
    File::open(path)?.read_exact_at(&mut bytes, 0)?;
    Ok(std::str::from_utf8(&bytes).ok().and_then(parse))
}

fn parse(line: &str) -> Option<(Seq, Hash)> {
    let (seq, hash) = line.strip_suffix('\n')?.split_once(' ')?;
    let byte = |at: usize| u8::from_str_radix(hash.get(at..at + 2)?, 16).ok();
    let mut parsed = Hash::GENESIS;
    for (at, into) in parsed.0.iter_mut().enumerate() {
        *into = byte(2 * at)?;
    }
    Some((Seq(seq.parse().ok()?), parsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_a_damaged_one_says_nothing() {
        let head = (Seq(57), Hash([0xa7; 32]));
        assert_eq!(line(head).len(), LENGTH);
        assert_eq!(parse(&line(head)), Some(head));
        assert_eq!(parse(&line(head).replace('a', "x")), None);
        assert_eq!(parse(&line(head)[..40]), None);
    }
}
