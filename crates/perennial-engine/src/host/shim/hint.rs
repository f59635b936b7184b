//! Whether a program shows the words that stand only in its empty input line, a hint at what to type there.
//!
//! A caret in the first column of the line does not tell whether the line is empty: an Enter that the
//! program takes for a new line puts it there, too. These words do. A byte scanner, no screen model: it
//! knows where the words were printed, and whether anything was printed or erased there since.
//!
//! Invariants
//! - HN1  The words count only where the last whole frame left them, with the caret on their first cell.
//! - E2  Whatever may have changed the row in another way than it is followed here ends the proof.
//! - E3  A program that never showed such words, perhaps because another version has others, proves and
//!   disproves nothing by them.

use super::super::delivery::InputRules;
use super::modes;

/// The longest sequence that counts is shorter.
const SEQUENCE_BYTES_MAX: usize = 16;
/// A longer run of characters is none of the words that are looked for.
const RUN_BYTES_MAX: usize = 128;

#[derive(Debug, Default)]
pub struct Hint {
    words: Vec<String>,
    first_column: u16,
    right_margin: u16,
    /// Frames on the main screen end with a move up and to the caret's column, and not elsewhere.
    is_upward: bool,
    is_alternate: bool,
    /// The last sequence was such a move up.
    has_moved_up: bool,
    /// Where the next character is printed. On the main screen the row is only known within a frame, and
    /// counts on from the one before.
    row: u32,
    column: u16,
    /// What was printed in this row from the first column on, in one piece.
    run: Vec<u8>,
    /// The row that shows the words, and the column behind them.
    shown: Option<(u32, u16)>,
    /// HN1.
    is_proven: bool,
    was_seen: bool,
    has_room: bool,
    pending: Vec<u8>,
    place: Scan,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Scan {
    #[default]
    Ground,
    Escape,
    Control,
    /// A title or another long text, up to `BEL` or `ST`.
    Text,
}

impl Hint {
    /// For a program with such an input line.
    pub fn of(rules: &InputRules) -> Hint {
        Hint {
            words: rules.hints.clone(),
            first_column: rules.first_column,
            right_margin: rules.right_margin,
            is_upward: rules.is_caret_upward,
            ..Hint::default()
        }
    }

    /// The screen has this many columns from here on. Where the words are cut off they prove nothing.
    pub fn set_columns(&mut self, columns: u16) {
        let room = columns.saturating_add(1).saturating_sub(self.first_column);
        let room = usize::from(room.saturating_sub(self.right_margin));
        self.has_room = self.words.iter().all(|words| words.len() <= room);
    }

    /// Whether the last frame showed an empty line; `None` if the program has never told so by a hint, or
    /// has no room for one, or draws in a way that is not followed here.
    pub fn is_empty_line(&self) -> Option<bool> {
        let is_followed = !self.is_upward || !self.is_alternate;
        (self.was_seen && self.has_room && is_followed).then_some(self.is_proven)
    }

    pub fn scan(&mut self, bytes: &[u8]) {
        if self.words.is_empty() {
            return;
        }
        for byte in bytes {
            self.byte(*byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        match (self.place, byte) {
            (Scan::Ground | Scan::Escape, 0x1b) => self.place = Scan::Escape,
            (Scan::Ground, b'\r') => self.move_to(self.row, 1),
            (Scan::Ground, b'\n') => self.move_to(self.row.saturating_add(1), self.column),
            (Scan::Ground, 0x08) => self.move_to(self.row, self.column.saturating_sub(1)),
            (Scan::Ground, 0x00..=0x1f | 0x7f) => {}
            (Scan::Ground, _) => self.print(byte),
            (Scan::Escape, b'[') => {
                self.pending.clear();
                self.place = Scan::Control;
            }
            (Scan::Escape, b']' | b'P' | b'_' | b'^' | b'X') => self.place = Scan::Text,
            (Scan::Escape, _) => self.place = Scan::Ground,
            (Scan::Text, 0x07) => self.place = Scan::Ground,
            (Scan::Text, 0x1b) => self.place = Scan::Escape,
            (Scan::Text, _) => {}
            (Scan::Control, 0x40..=0x7e) => {
                self.place = Scan::Ground;
                self.control(byte);
            }
            (Scan::Control, 0x20..=0x3f) if self.pending.len() < SEQUENCE_BYTES_MAX => {
                self.pending.push(byte);
            }
            // Colours may be longer; they move nothing.
            (Scan::Control, 0x20..=0x3f) => {}
            (Scan::Control, 0x1b) => self.place = Scan::Escape,
            (Scan::Control, _) => self.place = Scan::Ground,
        }
    }

    fn move_to(&mut self, row: u32, column: u16) {
        (self.row, self.column) = (row, column.max(1));
        self.run.clear();
    }

    /// One byte of a character. The words and the sign before them take a cell for each.
    fn print(&mut self, byte: u8) {
        let is_first_byte = !(0x80..=0xbf).contains(&byte);
        let is_in_line = self.column >= self.first_column;
        if is_in_line {
            // Rows are filled up with blanks.
            let is_blank_behind = |end: u16| byte == b' ' && end <= self.column;
            self.shown.take_if(|(row, end)| *row == self.row && !is_blank_behind(*end));
        }
        if self.column == self.first_column && is_first_byte {
            self.run.clear();
        }
        if is_in_line && self.run.len() < RUN_BYTES_MAX {
            self.run.push(byte);
        }
        self.column = self.column.saturating_add(u16::from(is_first_byte));
        let begins = usize::from(self.column - self.first_column.min(self.column));
        let is_from_start = self.run.len() == begins;
        let run = self.run.trim_ascii_end();
        if is_from_start && self.words.iter().any(|words| words.as_bytes() == run) {
            self.shown = Some((self.row, self.column));
            self.was_seen = true;
        }
    }

    fn control(&mut self, last: u8) {
        let pending = std::mem::take(&mut self.pending);
        let count = || std::str::from_utf8(&pending).ok().and_then(|text| text.parse().ok());
        let count: u16 = count().unwrap_or(1).max(1);
        let has_moved_up = std::mem::take(&mut self.has_moved_up);
        match (pending.as_slice(), last) {
            (b"?2026", b'l') if !self.is_upward => self.end_frame(),
            (b"?1049", b'h' | b'l') => {
                self.is_alternate = last == b'h';
                self.shown = None;
            }
            // Colours, modes, the caret's shape, questions to the terminal.
            (_, b'm' | b'h' | b'l' | b'q' | b'n' | b'c' | b'u' | b't' | b'p') => {}
            (place, b'H' | b'f') => {
                let row = modes::row(place).unwrap_or_default();
                self.move_to(row.into(), modes::column(place).unwrap_or(1));
            }
            (place, b'G') => {
                self.move_to(self.row, count);
                if self.is_upward && has_moved_up && !place.is_empty() {
                    self.end_frame();
                }
            }
            (_, b'A') => {
                self.move_to(self.row.saturating_sub(count.into()), self.column);
                self.has_moved_up = true;
            }
            (_, b'B') => self.move_to(self.row.saturating_add(count.into()), self.column),
            (_, b'C') => self.move_to(self.row, self.column.saturating_add(count)),
            (_, b'D') => self.move_to(self.row, self.column.saturating_sub(count)),
            ([] | b"0", b'K') => {
                let (row, column) = (self.row, self.column);
                self.shown.take_if(|(shown, end)| *shown == row && column < *end);
            }
            // E2: K with a number, J, L, M, S, T, X, P, @ and whatever else.
            (_, _) => self.shown = None,
        }
        self.pending = pending;
    }

    /// HN1.
    fn end_frame(&mut self) {
        let is_in_row = self.shown.is_some_and(|(row, _)| row == self.row);
        self.is_proven = is_in_row && self.column == self.first_column;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint() -> Hint {
        let words = vec!["Ask Codex to do anything".to_owned()];
        Hint { words, first_column: 3, has_room: true, ..Hint::default() }
    }

    /// What the frames show at last, however they are cut in two.
    fn shown(frames: &[&str]) -> Option<bool> {
        let bytes = frames.concat().into_bytes();
        let whole = {
            let mut hint = hint();
            hint.scan(&bytes);
            hint.is_empty_line()
        };
        for cut in 0..bytes.len() {
            let mut hint = hint();
            hint.scan(&bytes[..cut]);
            hint.scan(&bytes[cut..]);
            assert_eq!(hint.is_empty_line(), whole, "cut at {cut}");
        }
        whole
    }

    // Recorded from Codex 0.166.0 in a terminal of 24 rows and 80 columns.
    const START: &str = "\x1b[?2026h\x1b[?25l\x1b[20;1H\x1b[39;48;5;234m \x1b[21;1H\x1b[1m›\x1b[22m \x1b[2mAsk Codex to do anything\x1b[22;1H\x1b[22m \x1b[23;1H\x1b[39;49m \x1b[24;1H  \x1b[1m\x1b[38;5;231;49m?\x1b[22m\x1b[38;5;247;49m for shortcuts\x1b[39m\x1b[49m\x1b[0m\x1b[1;1H\x1b[0 q\x1b[1;1H \x1b[39m\x1b[49m\x1b[0m\x1b[21;3H\x1b[?25h\x1b[?2026l";
    const STILL: &str = "\x1b[?2026h\x1b[39m\x1b[49m\x1b[0m\x1b[21;3H\x1b[?25h\x1b[?2026l";
    const TYPED: &str = "\x1b[?2026h\x1b[?25l\x1b[21;8H\x1b[0m\x1b[48;5;234m\x1b[K\x1b[24;2H\x1b[0m\x1b[49m\x1b[K\x1b[21;3H\x1b[39;48;5;234mhello\x1b[39m\x1b[49m\x1b[0m\x1b[21;8H\x1b[?25h\x1b[?2026l";
    const ERASED: &str = "\x1b[?2026h\x1b[?25l\x1b[21;3H\x1b[2m\x1b[39;48;5;234mAsk Codex to do anything\x1b[24;3H\x1b[22m\x1b[1m\x1b[38;5;231;49m?\x1b[22m\x1b[38;5;247;49m for shortcuts\x1b[39m\x1b[49m\x1b[0m\x1b[21;3H\x1b[?25h\x1b[?2026l";
    /// Words and an Enter right behind them: the caret is in the first column of a new row.
    const NEW_ROW: &str = "\x1b[?2026h\x1b[?25l\x1b[19;2H\x1b[0m\x1b[48;5;234m\x1b[K\x1b[21;2H\x1b[0m\x1b[48;5;234m\x1b[K\x1b[24;2H\x1b[0m\x1b[49m\x1b[K\x1b[19;1H\x1b[39;48;5;234m \x1b[20;1H\x1b[1m›\x1b[20;3H\x1b[22mburst\x1b[20;9Htyped\x1b[21;1H \x1b[39m\x1b[49m\x1b[0m\x1b[21;3H\x1b[?25h\x1b[?2026l";
    const SENT: &str = "\x1b[?2026h\x1b[?25l\x1b[20;2H\x1b[0m\x1b[48;5;234m\x1b[K\x1b[20;1H\x1b[39;48;5;234m \x1b[21;1H\x1b[1m›\x1b[21;3H\x1b[22m\x1b[2m\x1b[2mAsk Codex to do anything\x1b[24;3H\x1b[22m\x1b[1m\x1b[38;5;231;49m?\x1b[39m\x1b[49m\x1b[0m\x1b[21;3H\x1b[?25h\x1b[?2026l";

    #[test]
    fn the_hint_shows_an_empty_line_until_something_else_stands_there() {
        assert_eq!(shown(&[STILL]), None, "it was never seen");
        for (frames, is_empty) in [
            (&[START][..], true),
            (&[START, STILL], true),
            (&[START, TYPED], false),
            (&[START, TYPED, ERASED], true),
            (&[START, NEW_ROW], false),
            (&[START, NEW_ROW, STILL], false),
            (&[START, NEW_ROW, SENT], true),
            (&[START, NEW_ROW, SENT, STILL], true),
        ] {
            assert_eq!(shown(frames), Some(is_empty), "{frames:?}");
        }
    }

    // Recorded from Gemini CLI 0.61.0 in a terminal of 80 columns; rows above the line and colours are left out.
    const UP_ERASE: &str =
        "\x1b[4B\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G";
    const UP_END: &str =
        "\x1b[48;5;240m  \x1b[49m\r\n workspace (/directory)\r\n /tmp/w\r\n\x1b[4A\x1b[4G";

    fn upward(line: &str) -> String {
        format!("{UP_ERASE}\r\n{line}\x1b[49m\r\n{UP_END}")
    }

    #[test]
    fn a_hint_on_the_main_screen_counts_at_the_end_of_a_frame_however_wide_the_row_is() {
        let words = vec!["  Type your message or @path/to/file".to_owned()];
        let new = || Hint {
            words: words.clone(),
            first_column: 4,
            right_margin: 3,
            is_upward: true,
            has_room: true,
            ..Hint::default()
        };
        let look = |hint: &mut Hint, frame: &str| {
            hint.scan(frame.as_bytes());
            hint.is_empty_line()
        };
        let empty = |width: usize| {
            let row = " \x1b[38;5;183m> \x1b[7m\x1b[39m \x1b[27m\x1b[38;5;248m Type your message or @path/to/file\x1b[39m";
            upward(&format!("{row}{}", " ".repeat(width - 39)))
        };
        let new_row = upward(" > third text      \x1b[49m\r\n   \x1b[7m \x1b[27m       ");
        for width in [80, 140, 300] {
            let mut hint = new();
            assert_eq!(look(&mut hint, &new_row), None, "it was never seen");
            assert_eq!(look(&mut hint, &empty(width)), Some(true), "{width}");
            assert_eq!(look(&mut hint, &new_row), Some(false), "{width}");
            let shell = upward(" ! \x1b[7m \x1b[27m Type your shell command     ");
            assert_eq!(look(&mut hint, &shell), Some(false), "{width}");
            assert_eq!(look(&mut hint, &"words\r\n".repeat(70_000)), Some(false));
            assert_eq!(look(&mut hint, &empty(width)), Some(true), "far down, {width}");
            hint.set_columns(41);
            assert_eq!(hint.is_empty_line(), None, "too narrow");
            hint.set_columns(42);
            assert_eq!(look(&mut hint, "\x1b[?1049h"), None, "other frames");
        }
    }

    #[test]
    fn where_the_hint_is_cut_off_it_tells_nothing() {
        let mut hint = hint();
        hint.scan(format!("{START}{NEW_ROW}").as_bytes());
        for (columns, expected) in [(80, Some(false)), (26, Some(false)), (25, None)] {
            hint.set_columns(columns);
            assert_eq!(hint.is_empty_line(), expected, "{columns}");
        }
    }

    #[test]
    fn only_the_whole_hint_with_the_caret_before_it_counts() {
        let frame = |row: &str, caret: &str| format!("{START}\x1b[?2026h{row}{caret}\x1b[?2026l");
        let hint = "\x1b[21;3HAsk Codex to do anything";
        for (row, caret, is_empty) in [
            (hint.to_owned(), "\x1b[21;3H", true),
            (hint.to_owned(), "\x1b[21;27H", false),
            (hint.to_owned(), "\x1b[20;3H", false),
            (format!("{hint} else"), "\x1b[21;3H", false),
            (hint.replace(";3H", ";5H"), "\x1b[21;3H", false),
            (format!("{hint}\x1b[21;9Hx"), "\x1b[21;3H", false),
            (format!("{hint}\x1b[21;27H\x1b[K"), "\x1b[21;3H", true),
            (format!("{hint}\x1b[21;9H\x1b[K"), "\x1b[21;3H", false),
            (format!("{hint}\x1b[J"), "\x1b[21;3H", false),
            (format!("{hint}\x1b]0;21 title\x07"), "\x1b[21;3H", true),
        ] {
            assert_eq!(shown(&[&frame(&row, caret)]), Some(is_empty), "{row:?} {caret:?}");
        }
    }
}
