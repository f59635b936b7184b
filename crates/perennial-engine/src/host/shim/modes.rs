//! What a program has told its terminal: bracketed paste, the alternate screen, where the caret is.
//!
//! A byte scanner, no screen model. It runs all the time, holds a few bytes, and looks at escape
//! sequences only.

use memchr::memchr;

use super::super::delivery::{FrameEnd, InputRules};

/// The longest sequence that counts, `CSI ? 2 0 0 4 h` or a caret's place, is shorter.
const SEQUENCE_BYTES_MAX: usize = 16;

const ESCAPE: u8 = 0x1b;

#[derive(Debug, Default)]
pub struct Modes {
    frame_end: FrameEnd,
    /// Frames end with a move up and to the caret's column.
    is_upward: bool,
    /// How far up the last sequence went.
    rows_up: Option<u16>,
    /// Rows of the screen.
    rows: u16,
    is_caret_hidden: bool,
    /// The row of the last absolute move, from 1.
    row: Option<u16>,
    /// `None` until the program has said anything of it.
    bracketed_paste: Option<bool>,
    is_alternate: bool,
    /// The column of the last absolute move, from 1.
    column: Option<u16>,
    /// Where the last whole frame left the caret.
    caret: Option<Caret>,
    /// A frame's last row, in whose first column it ended so far.
    corner: Option<u16>,
    /// A frame has ended that nobody has asked for.
    is_new_frame: bool,
    /// The parameters of a control sequence whose end has not come yet.
    pending: [u8; SEQUENCE_BYTES_MAX],
    length: u8,
    place: Scan,
}

/// Where a frame left the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caret {
    /// From 1.
    pub column: u16,
    /// Rows from the screen's last one up to the caret's.
    pub rows_up: u16,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Scan {
    #[default]
    Ground,
    Escape,
    Control,
}

impl Modes {
    /// For a program with such an input line.
    pub fn of(rules: &InputRules) -> Modes {
        let InputRules { frame_end, is_caret_upward: is_upward, .. } = *rules;
        Modes { frame_end, is_upward, ..Modes::default() }
    }

    /// The screen has this many rows from here on.
    pub fn set_rows(&mut self, rows: u16) {
        self.rows = rows;
    }

    /// Whether pastes are bracketed; `None` if the program never asked for it.
    pub fn bracketed_paste(&self) -> Option<bool> {
        self.bracketed_paste
    }

    /// Whether the program draws on the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.is_alternate
    }

    /// Whether its frames end with the caret's place.
    pub fn tells_caret(&self) -> bool {
        self.is_alternate || self.is_upward
    }

    /// On the alternate screen, such a program has the caret's place as others have it.
    fn is_upward_now(&self) -> bool {
        self.is_upward && !self.is_alternate
    }

    pub fn caret_column(&self) -> Option<u16> {
        match self.frame_end {
            FrameEnd::Corner if !self.is_upward_now() => self.column,
            FrameEnd::Corner | FrameEnd::Synchronized => self.caret.map(|caret| caret.column),
        }
    }

    /// Where the last frame left the caret, if one has ended since this was asked: each frame goes to
    /// the corner at its end, and from there to the caret, where it shows one.
    pub fn take_frame(&mut self) -> Option<Option<Caret>> {
        std::mem::take(&mut self.is_new_frame).then_some(self.caret)
    }

    pub fn scan(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.place {
                Scan::Ground => {
                    let Some(start) = memchr(ESCAPE, rest) else { return };
                    rest = &rest[start + 1..];
                    self.place = Scan::Escape;
                    continue;
                }
                Scan::Escape if byte == b'[' => {
                    self.length = 0;
                    self.place = Scan::Control;
                }
                Scan::Escape if byte == ESCAPE => {}
                Scan::Escape => self.place = Scan::Ground,
                Scan::Control => self.control(byte),
            }
            rest = after;
        }
    }

    fn control(&mut self, byte: u8) {
        match byte {
            ESCAPE => self.place = Scan::Escape,
            0x40..=0x7e => {
                self.place = Scan::Ground;
                self.take(byte);
            }
            0x20..=0x3f => {
                if let Some(slot) = self.pending.get_mut(usize::from(self.length)) {
                    *slot = byte;
                    self.length += 1;
                } else {
                    // Too long to be one that counts.
                    self.place = Scan::Ground;
                }
            }
            _ => self.place = Scan::Ground,
        }
    }

    fn take(&mut self, last: u8) {
        let pending = self.pending;
        let parameters = &pending[..usize::from(self.length)];
        let rows_up = self.rows_up.take().filter(|_| self.is_upward_now());
        match (parameters, last) {
            ([b'?', modes @ ..], b'h' | b'l') => {
                for mode in modes.split(|byte| *byte == b';') {
                    match mode {
                        b"2004" => self.bracketed_paste = Some(last == b'h'),
                        b"1049" => {
                            self.is_alternate = last == b'h';
                            (self.column, self.caret, self.corner) = (None, None, None);
                        }
                        b"25" => self.is_caret_hidden = last == b'l',
                        b"2026" if last == b'l' => self.end_update(),
                        _ => {}
                    }
                }
            }
            (_, b'H' | b'f') => {
                (self.row, self.column) = (row(parameters), column(parameters));
                if self.frame_end == FrameEnd::Corner && !self.is_upward_now() {
                    self.end_frame(self.row);
                }
            }
            (_, b'A') => self.rows_up = number(parameters),
            ([_, ..], b'G') => {
                if let Some((rows_up, column)) = rows_up.zip(number(parameters)) {
                    self.caret = Some(Caret { column, rows_up });
                    self.is_new_frame = true;
                }
            }
            // The next frame begins where the last one did, or below its caret.
            ([], b'G') | (_, b'B') if self.is_upward_now() => self.caret = None,
            (_, _) => {}
        }
    }

    fn end_update(&mut self) {
        if self.frame_end == FrameEnd::Synchronized {
            let place = self.row.zip(self.column).filter(|_| !self.is_caret_hidden);
            let rows = self.rows;
            self.caret =
                place.map(|(row, column)| Caret { column, rows_up: rows.saturating_sub(row) });
            self.is_new_frame = true;
        }
    }

    fn end_frame(&mut self, row: Option<u16>) {
        let (Some(row), Some(column)) = (row, self.column) else { return };
        match self.corner.take() {
            Some(last_row) if row < last_row && row > 1 => {
                self.caret = Some(Caret { column, rows_up: last_row - row });
                self.is_new_frame = true;
            }
            Some(_) | None if column == 1 && row > 1 => {
                (self.corner, self.caret) = (Some(row), None);
                self.is_new_frame = true;
            }
            Some(_) | None => {}
        }
    }
}

/// The column of `row ; column`; both are 1 where they are left out.
pub fn column(parameters: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(parameters).ok()?;
    match text.split_once(';') {
        Some((_, "")) | None => Some(1),
        Some((_, column)) => column.parse().ok().map(|column: u16| column.max(1)),
    }
}

/// How far, or which column; 1 where it is left out.
fn number(parameters: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(parameters).ok()?;
    if text.is_empty() { Some(1) } else { text.parse().ok() }
}

/// The row, likewise.
pub fn row(parameters: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(parameters).ok()?;
    match text.split(';').next() {
        Some("") | None => Some(1),
        Some(row) => row.parse().ok().map(|row: u16| row.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(bytes: &[u8], cut: usize) -> Modes {
        let mut modes = Modes::default();
        modes.scan(&bytes[..cut]);
        modes.scan(&bytes[cut..]);
        modes
    }

    #[test]
    fn modes_and_the_caret_are_found_wherever_the_bytes_are_cut() {
        let bytes = b"x\x1b[?1049h\x1b[?25l\x1b[?1000;2004h\x1b[H\x1b[31mred\x1b[24;1H\x1b[22;18H\x1b]0;a [9;9H\x07";
        for cut in 0..bytes.len() {
            let modes = scanned(bytes, cut);
            assert_eq!(modes.bracketed_paste(), Some(true), "{cut}");
            assert!(modes.is_alternate(), "{cut}");
            assert_eq!(modes.caret_column(), Some(18), "{cut}");
        }
    }

    #[test]
    fn a_frame_ends_in_the_corner_and_from_there_at_the_caret() {
        let frames = b"\x1b[?1049h\x1b[H\r\x1b[2Cx\x1b[24;1H\x1b[22;18H\x1b[H\r\x1b[2Cy";
        let caret = Some(Caret { column: 18, rows_up: 2 });
        for cut in 0..=frames.len() {
            let mut modes = scanned(frames, cut);
            assert_eq!(modes.take_frame(), Some(caret), "{cut}");
            assert_eq!(modes.take_frame(), None, "told once");
            modes.scan(b"\x1b[24;1H");
            assert_eq!(modes.take_frame(), Some(None), "a menu without a caret");
            modes.scan(b"\x1b[H\r\x1b[2Cz");
            assert_eq!(modes.take_frame(), None, "it is being drawn");
        }
    }

    /// As one program draws: a menu, and its input line.
    #[test]
    fn a_synchronized_update_shows_the_caret_unless_it_is_hidden() {
        let menu = b"\x1b[?1049h\x1b[?2026h\x1b[?25l\x1b[40;3Hpick\x1b[?2026l";
        let line = b"\x1b[?2026h\x1b[?25l\x1b[40;3H    \x1b[42;1H>\x1b[45;1H?\x1b[0m\x1b[42;3H\x1b[?25h\x1b[?2026l";
        for cut in 0..line.len() {
            let mut modes = Modes { frame_end: FrameEnd::Synchronized, ..Modes::default() };
            modes.set_rows(45);
            modes.scan(menu);
            assert_eq!((modes.take_frame(), modes.caret_column()), (Some(None), None));
            modes.scan(&line[..cut]);
            assert_eq!((modes.take_frame(), modes.caret_column()), (None, None), "{cut}");
            modes.scan(&line[cut..]);
            let caret = Caret { column: 3, rows_up: 3 };
            assert_eq!(modes.take_frame(), Some(Some(caret)), "{cut}");
            assert_eq!(modes.caret_column(), Some(3), "{cut}");
        }
    }

    /// As Gemini CLI draws: each frame erases the last one from below, and ends above its last row.
    #[test]
    fn a_frame_on_the_main_screen_ends_with_a_move_up_to_the_caret() {
        let frame = |column: u16| {
            format!(
                "\x1b[4B\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G\r\n > x\r\n\x1b[4A\x1b[{column}G"
            )
        };
        for cut in 0..frame(4).len() {
            let mut modes = Modes { is_upward: true, ..Modes::default() };
            modes.scan(frame(9).as_bytes());
            let caret = |column| Some(Some(Caret { column, rows_up: 4 }));
            assert_eq!((modes.take_frame(), modes.caret_column()), (caret(9), Some(9)));
            modes.scan(&frame(4).as_bytes()[..cut]);
            assert_eq!(modes.take_frame(), None, "{cut}");
            modes.scan(&frame(4).as_bytes()[cut..]);
            assert_eq!((modes.take_frame(), modes.caret_column()), (caret(4), Some(4)), "{cut}");
            // A dialog without a caret.
            modes.scan(b"\x1b[4B\x1b[2K\x1b[1A\x1b[2K\x1b[G\r\nAllow?\r\n");
            assert_eq!(modes.caret_column(), None);
            assert!(modes.tells_caret() && !modes.is_alternate());
            // Where its owner wants the alternate screen, it goes to places there.
            modes.scan(b"\x1b[?1049h\x1b[24;1H\x1b[22;18H\x1b[4A\x1b[7G");
            assert_eq!(modes.caret_column(), Some(18));
        }
    }

    #[test]
    fn what_ends_is_over() {
        let bytes = b"\x1b[?1049h\x1b[?2004h\x1b[5;6H\x1b[?1049l\x1b[?2004l";
        let modes = scanned(bytes, 0);
        assert_eq!((modes.bracketed_paste(), modes.is_alternate()), (Some(false), false));
        assert_eq!(modes.caret_column(), None, "that was another screen's");
        assert_eq!(scanned(b"plain", 0).bracketed_paste(), None);
    }

    #[test]
    fn what_is_no_such_sequence_says_nothing() {
        for bytes in [
            &b"\x1b[?20041h"[..],
            b"\x1b[2004h",
            b"\x1b[?2004\x1b[h",
            b"\x1b[?11111111111111111111;2004h",
            b"[?2004h",
        ] {
            assert_eq!(scanned(bytes, 0).bracketed_paste(), None, "{bytes:?}");
        }
        assert_eq!(scanned(b"\x1b[3;99999999H", 0).caret_column(), None);
        assert_eq!(scanned(b"\x1b[3;0H", 0).caret_column(), Some(1));
        assert_eq!(scanned(b"\x1b[;7H", 0).caret_column(), Some(7));
    }
}
