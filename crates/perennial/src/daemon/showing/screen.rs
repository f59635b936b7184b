//! What is on a session's terminal, from its recording.
//!
//! The work is bounded: the newest bytes are replayed, from the last point on at which the screen was
//! empty. Nothing is kept.

use std::io;

use memchr::memmem;
use perennial_api::answer::{Cursor, RecordingMark, Screen};
use perennial_engine::host::recording::Recording;
use perennial_engine::host::recording::marks::Mark;
use perennial_engine::timestamp::rfc3339;

use crate::emulator::{dimensions, plain_row, styled_row};

/// At most this many bytes are replayed.
const REPLAY_BYTES_MAX: usize = 8 << 20;

const RESET: &[u8] = b"\x1bc";
const CLEAR: &[u8] = b"\x1b[2J";
const ENTER: &[u8] = b"\x1b[?1049h";
const LEAVE: &[u8] = b"\x1b[?1049l";
const HIDE_CURSOR: &[u8] = b"\x1b[?25l";
const SHOW_CURSOR: &[u8] = b"\x1b[?25h";

/// The screen; whose it is is for the caller to say.
pub fn replayed(recording: &Recording, with_colours: bool) -> io::Result<Screen> {
    let marks = recording.marks()?;
    let (begin, bytes) = recording.tail(REPLAY_BYTES_MAX)?;
    let size = |mark: &Mark| mark.size.map(|size| (size.rows, size.cols));
    let first = marks.iter().take_while(|mark| mark.offset <= begin).last().or(marks.first());
    let (rows, columns) = dimensions(first.and_then(size));
    let mut parser = vt100::Parser::new(rows, columns, 0);
    let skipped = beginning(&bytes);
    if is_hidden(&bytes[..skipped]) {
        parser.process(HIDE_CURSOR);
    }
    let mut done = skipped;
    // A resize counts where it happened: it moves what is on the screen.
    for mark in marks.iter().filter(|mark| mark.offset > begin) {
        let offset = usize::try_from(mark.offset - begin).unwrap_or(usize::MAX).min(bytes.len());
        parser.process(&bytes[done.min(offset)..offset]);
        done = done.max(offset);
        if let Some(size) = size(mark) {
            let (rows, columns) = dimensions(Some(size));
            parser.set_size(rows, columns);
        }
    }
    parser.process(&bytes[done..]);
    let is_cleared = [RESET, CLEAR, ENTER].iter().any(|one| memmem::find(&bytes, one).is_some());
    let screen = parser.screen();
    let (rows, columns) = screen.size();
    let row = if with_colours { styled_row } else { plain_row };
    let (cursor_row, cursor_column) = screen.cursor_position();
    Ok(Screen {
        rows: rows.get(),
        columns: columns.get(),
        lines: (0..rows.get()).map(|index| row(screen, index)).collect(),
        cursor: Cursor { row: cursor_row, column: cursor_column, is_hidden: screen.hide_cursor() },
        is_alternate: screen.alternate_screen(),
        may_be_incomplete: begin > 0 && !is_cleared,
        printed_at: marks.last().map(|mark| rfc3339(mark.at)),
        ..Screen::default()
    })
}

/// Where a replay may begin: at the last reset, or where the full-screen program that still has the
/// terminal took it.
fn beginning(bytes: &[u8]) -> usize {
    let reset = memmem::rfind(bytes, RESET).unwrap_or(0);
    let entered = memmem::rfind(bytes, ENTER).unwrap_or(0);
    let left = memmem::rfind(bytes, LEAVE).unwrap_or(0);
    if entered > left { entered.max(reset) } else { reset }
}

/// Whether the cursor was hidden by what comes before.
fn is_hidden(bytes: &[u8]) -> bool {
    memmem::rfind(bytes, HIDE_CURSOR) > memmem::rfind(bytes, SHOW_CURSOR)
}

/// A mark on the wire.
pub fn mark(mark: &Mark) -> RecordingMark {
    RecordingMark {
        offset: mark.offset,
        at: rfc3339(mark.at),
        rows: mark.size.map(|size| size.rows),
        columns: mark.size.map(|size| size.cols),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The screen of what is recorded from `offset` on, with marks as the recorder writes them.
    fn screen(dir: &Path, offset: u64, bytes: &[u8], marks: &str) -> Screen {
        std::fs::write(dir.join(format!("rec.{offset}")), bytes).expect("writes");
        std::fs::write(dir.join(format!("rec.{offset}.marks")), marks).expect("writes");
        replayed(&Recording::open(dir).expect("opens"), false).expect("replays")
    }

    #[test]
    fn what_a_full_screen_program_shows_now() {
        let dir = tempfile::tempdir().expect("a directory");
        let bytes = "$ vi\r\n\x1b[?25l\x1b[?1049h\x1b[2J\x1b[Hone\x1b[2;5H日本\x1b[3;1Hend";
        let shown = screen(dir.path(), 0, bytes.as_bytes(), "0 7 4 12\n");
        assert_eq!(shown.lines, ["one", "    日本", "end", ""]);
        assert_eq!((shown.rows, shown.columns, shown.is_alternate), (4, 12, true));
        assert_eq!(shown.cursor, Cursor { row: 2, column: 3, is_hidden: true });
        assert!(!shown.may_be_incomplete && shown.printed_at.is_some());
    }

    #[test]
    fn the_main_screen_is_there_again_when_it_is_left() {
        let dir = tempfile::tempdir().expect("a directory");
        let bytes = b"$ vi\r\n\x1b[?1049h\x1b[2Jtext\x1b[?1049l$ ";
        let shown = screen(dir.path(), 0, bytes, "");
        assert_eq!((shown.lines[0].as_str(), shown.lines[1].as_str()), ("$ vi", "$"));
        assert_eq!((shown.rows, shown.columns, shown.is_alternate), (24, 80, false));
        assert_eq!(shown.cursor, Cursor { row: 1, column: 2, is_hidden: false });
    }

    #[test]
    fn a_size_counts_from_where_it_changed() {
        let dir = tempfile::tempdir().expect("a directory");
        let shown = screen(dir.path(), 0, b"0123456789abcdef", "0 7 4 20\n12 8 2 8\n");
        assert_eq!((shown.rows, shown.columns), (2, 8));
        assert_eq!(shown.lines, ["0123456c", "def"], "the caret stays inside");
    }

    #[test]
    fn a_recording_that_was_cut_says_so_until_the_screen_is_cleared() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(screen(dir.path(), 100, b"half a screen", "").may_be_incomplete);
        assert!(!screen(dir.path(), 100, b"half\x1b[H\x1b[2Jall", "").may_be_incomplete);
    }
}
