//! Writes what a session prints to its recording, bounded by rotation, and marks it with the time.
//!
//! Two files at most, each half of the limit. A full disk stops the recording, never the session; a
//! note in the recording says what is missing once there is space again.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::super::monotonic::Moment;
use super::super::recording::marks::{self, MarkWriter, Stamp};
use super::super::recording::{Recording, file_name};

/// How long a failed recording rests before it tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// A smaller limit would rotate at each read.
const HALF_BYTES_MIN: u64 = 4096;

#[derive(Debug)]
pub struct Recorder {
    dir: PathBuf,
    half: u64,
    file: Option<File>,
    /// The times of what is in the current file.
    marks: MarkWriter,
    /// First byte of the current file, and of the one before.
    start: u64,
    previous: Option<u64>,
    /// Bytes ever recorded.
    total: u64,
    /// Bytes that could not be recorded since the last that could.
    missed: u64,
    retry_at: Moment,
}

impl Recorder {
    pub fn new(session_dir: PathBuf, limit: u64) -> Recorder {
        Recorder {
            half: (limit / 2).max(HALF_BYTES_MIN),
            file: None,
            marks: MarkWriter::new(&session_dir, 0),
            dir: session_dir,
            start: 0,
            previous: None,
            total: 0,
            missed: 0,
            retry_at: Moment::ZERO,
        }
    }

    /// Begins the recording with no bytes, so that a silent session shows as one at a single look.
    pub fn begin(&mut self) {
        if self.file.is_none() {
            // A disk that is full now may have room when there is something to write.
            let _later = self.rotate();
        }
    }

    /// Bytes ever recorded: the offset of the next one.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// For reading back; looks at the files as they are now.
    pub fn recording(&self) -> io::Result<Recording> {
        Recording::open(&self.dir)
    }

    /// Appends; `false` if the bytes, or some of them, were not recorded.
    pub fn append(&mut self, bytes: &[u8], stamp: Stamp) -> bool {
        let now = stamp.now;
        if self.missed > 0 && now < self.retry_at {
            self.missed += bytes.len() as u64;
            return false;
        }
        if self.missed > 0 {
            let note = format!("\r\n[perennial: {} bytes were not recorded]\r\n", self.missed);
            if self.write(note.as_bytes(), stamp).is_err() {
                self.missed += bytes.len() as u64;
                self.retry_at = now + RETRY_AFTER;
                return false;
            }
            self.missed = 0;
        }
        match self.write(bytes, stamp) {
            Ok(()) => true,
            Err(written) => {
                self.missed += (bytes.len() - written) as u64;
                self.retry_at = now + RETRY_AFTER;
                false
            }
        }
    }

    /// Writes all, or says how many bytes it wrote.
    fn write(&mut self, bytes: &[u8], stamp: Stamp) -> Result<(), usize> {
        let mut done = 0;
        while done < bytes.len() {
            let room = self.half.saturating_sub(self.total - self.start);
            if room == 0 || self.file.is_none() {
                self.rotate().map_err(|_| done)?;
                continue;
            }
            self.marks.mark(self.total, stamp);
            let end = bytes.len().min(done + usize::try_from(room).unwrap_or(usize::MAX));
            let Some(file) = &mut self.file else { return Err(done) };
            match file.write(&bytes[done..end]) {
                Ok(0) => return Err(done),
                Ok(count) => {
                    done += count;
                    self.total += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(done),
            }
        }
        Ok(())
    }

    /// Begins the next file; of the older ones only the newest stays.
    fn rotate(&mut self) -> io::Result<()> {
        // Opened for appending: a file left by an attempt that failed has our name and no bytes.
        let path = self.dir.join(file_name(self.total));
        let file = File::options().append(true).create(true).open(path)?;
        if self.file.is_some()
            && let Some(oldest) = self.previous.replace(self.start)
        {
            let _gone = std::fs::remove_file(self.dir.join(file_name(oldest)));
            marks::remove(&self.dir, oldest);
        }
        self.start = self.total;
        self.file = Some(file);
        self.marks = MarkWriter::new(&self.dir, self.total);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use perennial_core::time::Time;

    use super::*;

    const BEGINNING: Stamp = Stamp { now: Moment::ZERO, at: Time(0), size: None };

    #[test]
    fn the_recording_stays_below_its_limit_and_keeps_the_newest_bytes() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut recorder = Recorder::new(dir.path().to_owned(), 16_384);
        let line = [b'x'; 1000];
        for _ in 0..100 {
            assert!(recorder.append(&line, BEGINNING));
        }
        assert!(recorder.append(b"the end", BEGINNING));
        let recording = recorder.recording().expect("opens");
        assert_eq!(recording.end(), 100_007);
        assert!(recording.end() - recording.start() <= 16_384);
        assert_eq!(recording.tail(7).expect("reads").1, b"the end");
        // Each file has its own marks, and they go with it.
        let marks = recording.marks().expect("reads");
        assert_eq!(marks.first().map(|mark| mark.offset), Some(recording.start()));
        assert_eq!((marks.len(), std::fs::read_dir(dir.path()).expect("lists").count()), (2, 4));
    }

    #[test]
    fn a_failing_disk_is_told_of_when_it_works_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let session = dir.path().join("s1");
        let mut recorder = Recorder::new(session.clone(), 16_384);
        assert!(!recorder.append(b"lost", BEGINNING), "the directory does not exist");
        std::fs::create_dir(&session).expect("makes it");
        assert!(!recorder.append(b"lost", BEGINNING), "it rests");
        assert!(recorder.append(b"kept", Stamp { now: RETRY_AFTER, ..BEGINNING }));
        let (_, bytes) = recorder.recording().expect("opens").tail(1000).expect("reads");
        assert_eq!(bytes, b"\r\n[perennial: 8 bytes were not recorded]\r\nkept");
    }
}
