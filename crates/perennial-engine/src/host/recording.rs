//! Reading what a session printed: a row of files `rec.<offset>`, each named by its first byte's place
//! in everything the session ever printed.
//!
//! Never writes; needs neither shim nor daemon. Reads are bounded by the caller's buffer.

pub mod marks;
mod plain;
pub mod removal;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use perennial_core::time::Time;

use marks::Mark;
pub use plain::last_output;

/// The name of the recording that begins at this offset.
pub fn file_name(offset: u64) -> String {
    format!("rec.{offset}")
}

/// A session's recording, as it was when opened or last refreshed.
#[derive(Debug)]
pub struct Recording {
    dir: PathBuf,
    /// First byte and length of each file, oldest first.
    files: Vec<(u64, u64)>,
}

impl Recording {
    /// The recording in a session's directory; one that was never begun is empty.
    pub fn open(session_dir: &Path) -> io::Result<Recording> {
        let mut recording = Recording { dir: session_dir.to_owned(), files: Vec::new() };
        recording.refresh()?;
        Ok(recording)
    }

    /// Looks again: what was appended, what was rotated away.
    pub fn refresh(&mut self) -> io::Result<()> {
        let entries = match std::fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        self.files.clear();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let offset = name.to_str().and_then(|name| name.strip_prefix("rec."));
            // A file that vanishes between the two calls was rotated away.
            let (Some(Ok(offset)), Ok(metadata)) =
                (offset.map(str::parse::<u64>), entry.metadata())
            else {
                continue;
            };
            self.files.push((offset, metadata.len()));
        }
        self.files.sort_unstable();
        Ok(())
    }

    /// Whether nothing is there, not even a file without bytes: it was removed, or never begun.
    pub fn is_gone(&self) -> bool {
        self.files.is_empty()
    }

    /// The first byte that is still there.
    pub fn start(&self) -> u64 {
        self.files.first().map_or(0, |(offset, _)| *offset)
    }

    /// One past the last byte: where to go on later.
    pub fn end(&self) -> u64 {
        self.files.last().map_or(0, |(offset, length)| offset + length)
    }

    /// When the bytes that are still there were printed, as far as it is known; in order.
    pub fn marks(&self) -> io::Result<Vec<Mark>> {
        let mut marks = Vec::new();
        for (offset, _) in &self.files {
            marks.extend(marks::read(&self.dir, *offset)?);
        }
        Ok(marks)
    }

    /// Reads at `offset`, not across files: 0 bytes at the end, and `None` for what is gone.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some((first, _)) = self.files.iter().rev().find(|(first, _)| *first <= offset) else {
            return Ok(self.files.is_empty().then_some(0));
        };
        match File::open(self.dir.join(file_name(*first))) {
            Ok(file) => file.read_at(buffer, offset - first).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The last `length` bytes, and where they begin.
    pub fn tail(&self, length: usize) -> io::Result<(u64, Vec<u8>)> {
        let begin = self.end().saturating_sub(length as u64).max(self.start());
        let mut bytes = vec![0; usize::try_from(self.end() - begin).unwrap_or(0)];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_at(begin + filled as u64, &mut bytes[filled..])? {
                Some(0) | None => break,
                Some(count) => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok((begin, bytes))
    }
}

/// What is left of a recording that was removed: when the session printed last, in microseconds.
pub const PRINTED_AT: &str = "printed-at";

/// When a session printed last. One look for a session that printed nothing, two for one that never
/// rotated: the file after `rec.0` is named by its length.
pub fn last_written(session_dir: &Path) -> Option<Time> {
    let metadata = session_dir.join(file_name(0)).metadata();
    let is_last = |length: u64| length == 0 || !session_dir.join(file_name(length)).exists();
    let metadata = match metadata {
        Ok(metadata) if is_last(metadata.len()) => metadata,
        // Begun with the session: where it is gone, it was rotated away.
        Ok(_) | Err(_) => {
            let recording = Recording::open(session_dir).ok()?;
            let Some((last, _)) = recording.files.last() else {
                let left = std::fs::read_to_string(session_dir.join(PRINTED_AT)).ok()?;
                return left.trim().parse().ok().map(Time);
            };
            session_dir.join(file_name(*last)).metadata().ok()?
        }
    };
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Time(u64::try_from(since.as_micros()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_one_row_of_bytes() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("rec.100"), b"abcd").expect("writes");
        std::fs::write(dir.path().join("rec.104"), b"ef").expect("writes");
        let recording = Recording::open(dir.path()).expect("opens");
        assert_eq!((recording.start(), recording.end()), (100, 106));
        assert_eq!(recording.tail(3).expect("reads"), (103, b"def".to_vec()));
        assert_eq!(recording.tail(1000).expect("reads"), (100, b"abcdef".to_vec()));
        let mut buffer = [0; 8];
        assert_eq!(recording.read_at(99, &mut buffer).expect("reads"), None, "rotated away");
        assert_eq!(recording.read_at(106, &mut buffer).expect("reads"), Some(0), "not yet there");
    }
}
