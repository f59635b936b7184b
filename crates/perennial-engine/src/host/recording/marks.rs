//! When a session printed, and how large its terminal was: marks in a file `rec.<offset>.marks` beside
//! each file of the recording, a line each.
//!
//! Read leniently: a line that can't be read says nothing, and a recording without marks, of a shim
//! that knew none, has no times. Bounded: the longer a file is written, the fewer marks it gets.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::time::Time;

use super::super::monotonic::Moment;
use super::super::protocol::Size;
use super::file_name;
use crate::regular_file::{self, Links};

/// Marks are at least this far apart, unless the size changed …
const INTERVAL: Duration = Duration::from_secs(1);
/// … and twice as far each time a file has this many marks more.
const MARKS_PER_INTERVAL: u32 = 512;
/// No file has more.
const MARKS_MAX: u32 = 8192;
/// Longer than the longest file of marks.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What is printed from `offset` on was printed at this time or soon after, on a terminal of this
/// size; a job has no terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub offset: u64,
    pub at: Time,
    pub size: Option<Size>,
}

/// The moment of some output, by both clocks, and the terminal's size.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    pub now: Moment,
    pub at: Time,
    pub size: Option<Size>,
}

/// Writes the marks of one file of a recording.
#[derive(Debug)]
pub struct MarkWriter {
    path: PathBuf,
    /// Opened with the first mark: a silent session has no such file.
    file: Option<File>,
    count: u32,
    /// Of the newest mark.
    last: Option<(Moment, Option<Size>)>,
}

impl MarkWriter {
    /// For the file that begins at this offset.
    pub fn new(session_dir: &Path, offset: u64) -> MarkWriter {
        MarkWriter { path: session_dir.join(marks_name(offset)), file: None, count: 0, last: None }
    }

    /// Marks what follows at `offset`, if it is time for a mark.
    pub fn mark(&mut self, offset: u64, stamp: Stamp) {
        let interval = INTERVAL * (1 << (self.count / MARKS_PER_INTERVAL));
        let is_due = match self.last {
            None => true,
            Some((moment, size)) => size != stamp.size || stamp.now >= moment + interval,
        };
        if !is_due || self.count >= MARKS_MAX {
            return;
        }
        self.count += 1;
        self.last = Some((stamp.now, stamp.size));
        let Size { rows, cols } = stamp.size.unwrap_or(Size { rows: 0, cols: 0 });
        let line = format!("{offset} {} {rows} {cols}\n", stamp.at.0);
        // A full disk costs a time, never the output.
        let _lost = self.write(line.as_bytes());
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(File::options().append(true).create(true).open(&self.path)?);
        }
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(line))
    }
}

/// The marks beside the file that begins at this offset, in order.
pub fn read(session_dir: &Path, offset: u64) -> io::Result<Vec<Mark>> {
    let file = match regular_file::open(&session_dir.join(marks_name(offset)), Links::Refuse) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    let mut marks: Vec<Mark> = String::from_utf8_lossy(&text).lines().filter_map(parsed).collect();
    marks.sort_by_key(|mark| mark.offset);
    Ok(marks)
}

/// Removes the marks of a file that is rotated away.
pub fn remove(session_dir: &Path, offset: u64) {
    let _gone = std::fs::remove_file(session_dir.join(marks_name(offset)));
}

fn marks_name(offset: u64) -> String {
    file_name(offset) + ".marks"
}

fn parsed(line: &str) -> Option<Mark> {
    let mut words = line.split(' ');
    let (offset, at) = (words.next()?.parse().ok()?, Time(words.next()?.parse().ok()?));
    let size = Size { rows: words.next()?.parse().ok()?, cols: words.next()?.parse().ok()? };
    Some(Mark { offset, at, size: (size.rows > 0 && size.cols > 0).then_some(size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Option<Size> = Some(Size { rows: 24, cols: 80 });

    fn stamp(seconds: u64, size: Option<Size>) -> Stamp {
        Stamp { now: Duration::from_secs(seconds), at: Time(seconds * 1_000_000), size }
    }

    #[test]
    fn a_second_or_another_size_is_a_mark() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut writer = MarkWriter::new(dir.path(), 7);
        let wide = Some(Size { rows: 24, cols: 100 });
        for (offset, seconds, size) in
            [(7, 5, SIZE), (9, 5, SIZE), (10, 5, wide), (20, 6, wide), (30, 9, None)]
        {
            writer.mark(offset, stamp(seconds, size));
        }
        let marks = read(dir.path(), 7).expect("reads");
        let offsets: Vec<u64> = marks.iter().map(|mark| mark.offset).collect();
        assert_eq!(offsets, [7, 10, 20, 30]);
        assert_eq!(marks[1], Mark { offset: 10, at: Time(5_000_000), size: wide });
        assert_eq!(marks[3].size, None);
        assert_eq!(read(dir.path(), 8).expect("reads"), []);
    }

    #[test]
    fn a_year_of_output_has_a_bounded_number_of_marks() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut writer = MarkWriter::new(dir.path(), 0);
        for hour in 0..24 * 365 {
            writer.mark(hour, stamp(hour * 3600, SIZE));
        }
        for one in 0..100_000 {
            let cols = 80 + u16::try_from(one % 2).expect("small");
            writer.mark(one, stamp(40_000_000, Some(Size { rows: 24, cols })));
        }
        assert!(writer.count <= MARKS_MAX);
        let length = dir.path().join("rec.0.marks").metadata().expect("it is there").len();
        assert!(length < FILE_BYTES_MAX, "{length}");
    }

    #[test]
    fn damaged_marks_say_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = b"0 1 24 80\nnonsense\n5\n-1 2 3 4\n\xff\xfe 1 2 3\n9 3 0 0\n4 2 24 80\n8 7";
        std::fs::write(dir.path().join("rec.0.marks"), text).expect("writes");
        let marks = read(dir.path(), 0).expect("reads");
        assert_eq!(marks.iter().map(|mark| mark.offset).collect::<Vec<_>>(), [0, 4, 9]);
    }
}
