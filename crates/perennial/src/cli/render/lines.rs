//! The lines that a session printed, from the bytes of its terminal.
//!
//! A line is handed out once, when it is done: it was scrolled away, the program went below it and
//! whoever reads follows, the screen was cleared, or nothing more comes. A line that the program
//! rewrote meanwhile is handed out as it is then. Of a full-screen program, the screen that it left
//! behind is handed out. The bytes are hostile: nothing of them is passed on but text, and colours
//! that the emulator wrote.

use std::collections::VecDeque;
use std::fmt;

use jiff::Timestamp;
use vt100::capture::{BasicFormattedCaptureState, RowContents};
use vt100::{Callbacks, Parser};

use super::recording::text_of;
use crate::cli::terminal::escapes::{Scanner, Token};
use crate::emulator::{dimensions, styled_row, used_rows};

/// A line that goes on for longer is handed out in parts.
const LINE_BYTES_MAX: usize = 1 << 20;

/// A line with its colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub styled: String,
    /// When it was printed, to the second, where that is known.
    pub at: Option<Timestamp>,
}

pub struct PrintedLines {
    scanner: Scanner,
    screen: EmulatedScreen,
}

struct EmulatedScreen {
    parser: Parser<DoneRows>,
}

/// The rows of the main screen, and the lines that are made of those that are done.
#[derive(Default)]
struct DoneRows {
    at: Option<Timestamp>,
    rows: VecDeque<Row>,
    lines: Vec<Line>,
    /// The last line goes on in the next row.
    is_open: bool,
}

/// What is known of a row beyond what it shows.
#[derive(Debug, Clone, Default)]
struct Row {
    at: Option<Timestamp>,
    /// The text that was handed out for it.
    told: Option<String>,
}

impl fmt::Debug for PrintedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrintedLines").finish_non_exhaustive()
    }
}

impl PrintedLines {
    /// Of a terminal with these rows and columns.
    pub fn new(size: Option<(u16, u16)>) -> PrintedLines {
        let (rows, columns) = dimensions(size);
        let done = DoneRows {
            rows: vec![Row::default(); rows.get().into()].into(),
            ..DoneRows::default()
        };
        let parser = Parser::new_with_callbacks(rows, columns, 0, done);
        PrintedLines { scanner: Scanner::default(), screen: EmulatedScreen { parser } }
    }

    /// What is fed from now on was printed at this time, on a terminal of this size.
    pub fn mark(&mut self, at: Option<Timestamp>, size: Option<(u16, u16)>) {
        if let Some(size) = size {
            self.screen.resize(size);
        }
        let (cursor, _) = self.screen.parser.screen().cursor_position();
        let done = self.screen.parser.callbacks_mut();
        done.at = at;
        for row in done.rows.iter_mut().skip(cursor.into()) {
            row.at = at;
        }
    }

    /// Takes bytes; the lines that are done with them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Line> {
        let PrintedLines { scanner, screen } = self;
        scanner.feed(bytes, |token| match token {
            Token::Text(text) => screen.parser.process(text),
            Token::Sequence(sequence) => screen.sequence(sequence),
            // Pictures and clipboards: they show nothing here.
            Token::Fragment(_) => {}
        });
        screen.taken()
    }

    /// For whoever follows: the lines that the program has left behind as well.
    pub fn settled(&mut self) -> Vec<Line> {
        let screen = self.screen.parser.screen();
        if !screen.alternate_screen() {
            let (cursor, _) = screen.cursor_position();
            let is_whole = |row: &u16| *row == 0 || !screen.row_wrapped(*row - 1);
            let end = (0..=cursor).rev().find(is_whole).unwrap_or(0);
            self.screen.tell_rows(end);
        }
        self.screen.taken()
    }

    /// Nothing more comes: what is left on the screen.
    pub fn finish(&mut self) -> Vec<Line> {
        self.screen.tell_screen();
        self.screen.parser.callbacks_mut().is_open = false;
        self.screen.taken()
    }

    /// A full-screen program has the terminal.
    pub fn is_full_screen(&self) -> bool {
        self.screen.parser.screen().alternate_screen()
    }
}

impl EmulatedScreen {
    fn taken(&mut self) -> Vec<Line> {
        let done = self.parser.callbacks_mut();
        let kept = done.is_open.then(|| done.lines.pop()).flatten();
        let taken = std::mem::take(&mut done.lines);
        done.lines.extend(kept);
        taken
    }

    /// What a sequence would remove from the screen is handed out before it does.
    fn sequence(&mut self, sequence: &[u8]) {
        let is_home = self.parser.screen().cursor_position() == (0, 0);
        let is_clear = match sequence {
            b"\x1b[2J" | b"\x1b[?2J" | b"\x1bc" => true,
            b"\x1b[J" | b"\x1b[0J" => is_home,
            _ => false,
        };
        let is_alternate = self.parser.screen().alternate_screen();
        let switches =
            matches!(sequence, b"\x1b[?1049h" | b"\x1b[?1049l" | b"\x1b[?47h" | b"\x1b[?47l");
        // A full-screen program clears as it likes; what it leaves behind counts.
        if (is_clear && !is_alternate) || switches {
            self.tell_screen();
        }
        self.parser.process(sequence);
        if is_clear && !is_alternate {
            for row in &mut self.parser.callbacks_mut().rows {
                row.told = None;
            }
        }
    }

    /// All of what is shown now.
    fn tell_screen(&mut self) {
        let used = used_rows(self.parser.screen());
        if !self.parser.screen().alternate_screen() {
            self.tell_rows(used);
            return;
        }
        let screen = self.parser.screen();
        let rows: Vec<_> = (0..used).map(|row| styled_row(screen, row)).collect();
        let done = self.parser.callbacks_mut();
        for row in rows {
            done.tell(&row, done.at, false);
        }
    }

    /// Hands out the rows of the main screen before `end`, unless they were and are the same.
    fn tell_rows(&mut self, end: u16) {
        for index in 0..end {
            let screen = self.parser.screen();
            let (styled, is_wrapped) = (styled_row(screen, index), screen.row_wrapped(index));
            let text = row_text(&styled);
            let done = self.parser.callbacks_mut();
            let Some(row) = done.rows.get_mut(usize::from(index)) else { return };
            let at = row.at;
            if row.told.replace(text.clone()).is_none_or(|told| told != text) {
                done.tell(&styled, at, is_wrapped);
            }
        }
    }

    fn resize(&mut self, size: (u16, u16)) {
        let (rows, columns) = dimensions(Some(size));
        if self.parser.screen().size() == (rows, columns) {
            return;
        }
        let (before, _) = self.parser.screen().cursor_position();
        self.parser.set_size(rows, columns);
        let (after, _) = self.parser.screen().cursor_position();
        let done = self.parser.callbacks_mut();
        // A screen that grows gets rows at its top for those that were scrolled away and told.
        let told = Row { at: done.at, told: Some(String::new()) };
        let added = usize::from(after.saturating_sub(before));
        done.rows = std::iter::repeat_n(told, added).chain(done.rows.drain(..)).collect();
        done.rows.resize(rows.get().into(), Row { at: done.at, told: None });
    }
}

impl DoneRows {
    fn tell(&mut self, styled: &str, at: Option<Timestamp>, is_wrapped: bool) {
        match self.lines.last_mut().filter(|_| self.is_open) {
            Some(line) => line.styled.push_str(styled),
            None => self.lines.push(Line { styled: styled.to_owned(), at }),
        }
        let length = self.lines.last().map_or(0, |line| line.styled.len());
        self.is_open = is_wrapped && length < LINE_BYTES_MAX;
    }
}

impl Callbacks for DoneRows {
    fn on_scroll(&mut self, contents: RowContents<'_>, is_alternate: bool) {
        if is_alternate {
            return;
        }
        let mut styled = String::new();
        let mut state = BasicFormattedCaptureState::new();
        // Writing to a string can't fail.
        let _written = contents.write_formatted_basic(&mut styled, &mut state);
        // A row that goes on in the next one asks for no line end before it.
        let mut next = FirstCharacter(None);
        let _stopped = contents.write_formatted_basic(&mut next, &mut state);
        let is_wrapped = next.0 != Some('\n');
        styled.truncate(styled.trim_end().len());
        if styled.contains('\x1b') {
            styled.push_str("\x1b[0m");
        }
        let row = self.rows.pop_front().unwrap_or_default();
        self.rows.push_back(Row { at: self.at, told: None });
        if row.told.is_none_or(|told| told != row_text(&styled)) {
            self.tell(&styled, row.at, is_wrapped);
        }
    }
}

/// What a row shows, to tell whether it was handed out already.
fn row_text(styled: &str) -> String {
    text_of(styled).trim_end().to_owned()
}

/// Takes one character and stops whoever writes.
struct FirstCharacter(Option<char>);

impl fmt::Write for FirstCharacter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.or(text.chars().next());
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a recording, with no more lines than fit a small screen.
    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut reader = PrintedLines::new(Some((4, 10)));
        let mut lines = reader.feed(bytes);
        lines.extend(reader.finish());
        lines.iter().map(|line| text_of(&line.styled)).collect()
    }

    #[test]
    fn lines_are_whole_whatever_the_screen() {
        let bytes = b"one\r\ntwo\r\na line that is wrapped twice\r\nfour\r\nfive\r\nsix\r\nseven";
        let expected =
            ["one", "two", "a line that is wrapped twice", "four", "five", "six", "seven"];
        assert_eq!(lines(bytes), expected);
        for cut in 0..bytes.len() {
            let mut reader = PrintedLines::new(Some((4, 10)));
            let mut lines = reader.feed(&bytes[..cut]);
            lines.extend(reader.settled());
            lines.extend(reader.feed(&bytes[cut..]));
            lines.extend(reader.finish());
            let lines: Vec<String> = lines.iter().map(|line| text_of(&line.styled)).collect();
            assert_eq!(lines, expected, "followed, cut at {cut}");
        }
    }

    #[test]
    fn a_line_that_is_rewritten_is_told_as_it_became() {
        assert_eq!(lines(b"10%\r20%\r100%\r\ndone\r\n"), ["100%", "done"]);
        assert_eq!(lines(b"a 1\r\nb 1\r\n\x1b[2Aa 2\r\nb 2\r\n"), ["a 2", "b 2"]);
        // Whoever follows has seen the first; the other comes when it is done.
        let mut reader = PrintedLines::new(Some((4, 10)));
        reader.feed(b"a 1\r\nb 1\r\n");
        assert_eq!(reader.settled().len(), 2);
        reader.feed(b"\x1b[2Aa 1\r\nb 2\r\n");
        assert_eq!(
            reader.settled().iter().map(|line| text_of(&line.styled)).collect::<Vec<_>>(),
            ["b 2"]
        );
    }

    #[test]
    fn what_is_cleared_was_printed() {
        for clear in ["\x1b[H\x1b[2J\x1b[3J", "\x1b[H\x1b[J", "\x1bc", "\x1b[2J\x1b[H"] {
            let bytes = format!("before\r\n{clear}after\r\n");
            assert_eq!(lines(bytes.as_bytes()), ["before", "after"], "{clear:?}");
        }
    }

    #[test]
    fn of_a_full_screen_program_its_last_screen_is_told() {
        let frames = "\x1b[?1049h\x1b[H\x1b[2Jframe 1\x1b[H\x1b[2Jframe 2\x1b[2;3Hbelow";
        let bytes = format!("$ top\r\n{frames}\x1b[?1049l$ ls\r\n");
        assert_eq!(lines(bytes.as_bytes()), ["$ top", "frame 2", "  below", "$ ls"]);
        assert_eq!(lines(format!("$ top\r\n{frames}").as_bytes()), ["$ top", "frame 2", "  below"]);
    }

    #[test]
    fn times_and_sizes_are_those_of_the_marks() {
        let at = |second| Some(Timestamp::from_second(second).expect("a time"));
        let mut reader = PrintedLines::new(None);
        let mut lines = Vec::new();
        for (second, size, bytes) in [
            (1, (4, 10), &b"one\r\n"[..]),
            (2, (2, 10), b"two\r\n"),
            (3, (6, 20), b"three\r\nfour\r\n"),
        ] {
            reader.mark(at(second), Some(size));
            lines.extend(reader.feed(bytes));
        }
        lines.extend(reader.finish());
        let told: Vec<_> = lines.iter().map(|line| (text_of(&line.styled), line.at)).collect();
        let expected = [("one", 1), ("two", 2), ("three", 3), ("four", 3)];
        assert_eq!(told, expected.map(|(text, second)| (text.to_owned(), at(second))));
    }

    #[test]
    fn a_line_without_end_is_told_in_parts() {
        let mut reader = PrintedLines::new(Some((4, 100)));
        let mut told = 0;
        for _ in 0..12 {
            told +=
                reader.feed(&[b'x'; 100_000]).iter().map(|line| line.styled.len()).sum::<usize>();
        }
        assert!(told > 1_000_000, "{told}");
    }
}
