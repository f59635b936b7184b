//! Whether a person has words in the input line that are not sent yet, read from their keys alone.
//!
//! Invariants
//! - D1  Errs to one side: in doubt there is a draft, and nothing is typed into it.
//! - D2  What a terminal says by itself (mouse, focus, answers to questions) is nobody's draft.
//! - D3  Keys that answer a dialog neither make nor send a draft; one from before stays.

use std::time::Duration;

use super::super::moment::Moment;
use super::super::protocol::Focus;

/// Two Escapes within this time take a draft back.
const TWICE_WITHIN: Duration = Duration::from_millis(500);
/// A longer escape sequence is none.
const SEQUENCE_BYTES_MAX: usize = 64;

#[derive(Debug, Default)]
pub struct Draft {
    line: Line,
    focus: Focus,
    place: Place,
    is_pasted: bool,
    is_after_backslash: bool,
    escaped_at: Option<Moment>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Line {
    #[default]
    Empty,
    /// So many characters, typed one after the other; the cursor is behind them.
    Plain(u32),
    /// Anything else.
    Edited,
}

/// Where in the stream of keys we are.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Ground,
    Escape,
    /// `CSI`, and what came of it so far.
    Control(Vec<u8>),
    /// `SS3`: one byte more.
    Single,
    /// A terminal's long answer, up to `BEL` or `ST`.
    Text,
    /// An old mouse report: so many bytes more.
    Mouse(u8),
}

impl Draft {
    pub fn is_kept(&self) -> bool {
        self.line != Line::Empty
    }

    pub fn is_in_dialog(&self) -> bool {
        self.focus == Focus::Dialog
    }

    /// What keys reach from now on.
    pub fn focus(&mut self, focus: Focus) {
        self.focus = focus;
    }

    /// Whoever had typed is gone.
    pub fn forget(&mut self) {
        *self = Draft { focus: self.focus, ..Draft::default() };
    }

    pub fn typed(&mut self, bytes: &[u8], now: Moment) {
        for byte in bytes {
            self.byte(*byte, now);
        }
        match self.place {
            // Nothing followed: it was the key.
            Place::Escape => {
                self.place = Place::Ground;
                self.escape(now);
            }
            // A terminal answers in one piece: this was a key with Alt.
            Place::Text if bytes.len() == 2 => {
                self.place = Place::Ground;
                self.edit();
            }
            Place::Ground | Place::Control(_) | Place::Single | Place::Text | Place::Mouse(_) => {}
        }
    }

    fn byte(&mut self, byte: u8, now: Moment) {
        match (std::mem::take(&mut self.place), byte) {
            (Place::Ground, 0x1b) => self.place = Place::Escape,
            (Place::Ground, _) => self.key(byte),
            (Place::Escape, 0x1b) => {
                self.escape(now);
                self.place = Place::Escape;
            }
            (Place::Escape, b'[') => self.place = Place::Control(Vec::new()),
            (Place::Escape, b'O') => self.place = Place::Single,
            (Place::Escape, b']' | b'P' | b'_' | b'^' | b'X') => self.place = Place::Text,
            // With Alt; the end of a long answer (ST) is none.
            (Place::Escape, b'\\') => {}
            (Place::Escape, _) => self.edit(),
            (Place::Single, b'M') => self.enter(),
            (Place::Single, b'C' | b'D' | b'F' | b'H') => self.moved(),
            (Place::Single, _) => self.edit(),
            (Place::Control(bytes), b'M') if bytes.is_empty() => self.place = Place::Mouse(3),
            (Place::Control(bytes), 0x40..=0x7e) => self.control(&bytes, byte, now),
            (Place::Control(mut bytes), _) if bytes.len() < SEQUENCE_BYTES_MAX => {
                bytes.push(byte);
                self.place = Place::Control(bytes);
            }
            (Place::Control(_), _) => self.edit(),
            (Place::Text, 0x1b) => self.place = Place::Escape,
            (Place::Text, 0x07) | (Place::Mouse(0 | 1), _) => {}
            (Place::Text, b'\r') => self.enter(),
            (Place::Text, _) => self.place = Place::Text,
            (Place::Mouse(left), _) => self.place = Place::Mouse(left - 1),
        }
    }

    /// A byte that is a key by itself.
    fn key(&mut self, byte: u8) {
        match byte {
            _ if self.is_pasted => self.edit(),
            b'\r' => self.enter(),
            // Ctrl-C takes all of it back, Ctrl-U what stands before the cursor.
            0x03 => self.set(Line::Empty),
            0x15 => match self.line {
                Line::Empty | Line::Plain(_) => self.set(Line::Empty),
                Line::Edited => {}
            },
            0x08 | 0x7f => match self.line {
                Line::Empty | Line::Plain(0 | 1) => self.set(Line::Empty),
                Line::Plain(count) => self.set(Line::Plain(count - 1)),
                Line::Edited => {}
            },
            // Ctrl with A B D E F K L O T W Z: nothing comes of them in an empty line.
            0x01 | 0x02 | 0x04..=0x06 | 0x0b | 0x0c | 0x0f | 0x14 | 0x17 | 0x1a => self.moved(),
            0x00..=0x1f => self.edit(),
            // The rest of a character that was counted.
            0x80..=0xbf => {}
            _ => {
                match self.line {
                    Line::Empty => self.set(Line::Plain(1)),
                    Line::Plain(count) => self.set(Line::Plain(count.saturating_add(1))),
                    Line::Edited => self.set(Line::Edited),
                }
                self.is_after_backslash = byte == b'\\';
            }
        }
    }

    fn control(&mut self, parameters: &[u8], last: u8, now: Moment) {
        match (parameters, last) {
            // Mouse, focus, and answers to what was asked of the terminal.
            ([b'<' | b'?' | b'>' | b'=', ..], _) | ([], b'I' | b'O') => {}
            (_, b'R' | b'c' | b'n' | b't' | b'y') => {}
            (b"200", b'~') => {
                self.edit();
                self.is_pasted = true;
            }
            (b"201", b'~') => self.is_pasted = false,
            (_, b'u') => self.coded(&numbers(parameters), now),
            ([b'2', b'7', b';', ..], b'~') => {
                let numbers = numbers(parameters);
                let coded = [numbers.get(2).copied(), numbers.get(1).copied()];
                self.coded(&coded.map(Option::unwrap_or_default), now);
            }
            (_, b'C' | b'D' | b'F' | b'H' | b'Z') => self.moved(),
            // Insert, Delete, pages and function keys.
            (_, b'~') => self.moved(),
            // An earlier prompt may be brought back by these.
            (_, _) => self.edit(),
        }
    }

    /// A key by its number, with what is held down: as newer terminals tell it.
    fn coded(&mut self, numbers: &[u32], now: Moment) {
        let held = numbers.get(1).map_or(0, |held| held.saturating_sub(1)) & 0b1111;
        match (numbers.first().copied().unwrap_or_default(), held) {
            (13, 0) => self.enter(),
            (27, 0) => self.escape(now),
            (127, 0) => self.key(0x7f),
            (letter @ 0x61..=0x7a, 4) => self.key(u8::try_from(letter & 0x1f).unwrap_or_default()),
            (_, _) => self.edit(),
        }
    }

    fn enter(&mut self) {
        // That is a new line of it.
        if self.is_after_backslash { self.edit() } else { self.set(Line::Empty) }
    }

    fn escape(&mut self, now: Moment) {
        let is_second = self.escaped_at.is_some_and(|at| now.saturating_sub(at) < TWICE_WITHIN);
        match self.focus {
            Focus::Line if is_second => self.set(Line::Empty),
            Focus::Line => self.escaped_at = Some(now),
            // The first one ends the turn: how many are left for the line is not known.
            Focus::Turn | Focus::Dialog => {}
        }
    }

    /// The cursor was moved, if there is anything to move in.
    fn moved(&mut self) {
        if self.is_kept() {
            self.edit();
        }
    }

    fn edit(&mut self) {
        self.set(Line::Edited);
    }

    fn set(&mut self, line: Line) {
        self.is_after_backslash = false;
        self.escaped_at = None;
        if self.focus != Focus::Dialog {
            self.line = line;
        }
    }
}

/// `1;2:3` as 1 and 2.
fn numbers(parameters: &[u8]) -> Vec<u32> {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    let number = |part: &str| part.split(':').next()?.parse().ok();
    text.split(';').map(|part| number(part).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_secs(1);

    /// Whether there is a draft after these keys, a second apart.
    fn kept(keys: &[&[u8]]) -> bool {
        let mut draft = Draft::default();
        for (second, keys) in (0..).zip(keys) {
            draft.typed(keys, SLOW * second);
        }
        draft.is_kept()
    }

    #[test]
    fn words_are_a_draft_until_they_are_sent() {
        for sent in [&b"\r"[..], b"\x1bOM", b"\x1b[13u", b"\x1b[13;1u"] {
            assert!(kept(&[b"words"]) && !kept(&[b"words", sent]), "{sent:?}");
            assert!(kept(&[b"words", sent, b"m"]), "{sent:?}");
        }
        for more in [&b"\\\r"[..], b"\x1b\r", b"\n", b"\x1b[13;2u", b"\x1b[27;2;13~"] {
            assert!(kept(&[b"words", more]), "{more:?} is a line more");
        }
        assert!(kept(&[b"\x1b[200~one\rtwo", b"\r\x1b[201~"]), "a paste is not sent");
        assert!(!kept(&[b"\x1b[200~one\rtwo", b"\r\x1b[201~", b"\r"]));
    }

    #[test]
    fn words_are_taken_back() {
        for back in [&b"\x03"[..], b"\x15", b"\x1b\x1b", b"\x1b[99;5u", b"\x1b[27;5;117~"] {
            assert!(!kept(&["wörd".as_bytes(), back]), "{back:?}");
        }
        assert!(!kept(&["wörd".as_bytes(), b"\x7f\x7f\x7f\x7f"]));
        assert!(kept(&["wörd".as_bytes(), b"\x7f\x7f\x7f"]));
        assert!(kept(&[b"word", b"\x1b", b"\x1b"]), "too slow");
        assert!(kept(&[b"word", b"\x1b[D", b"\x15"]), "the cursor is not at its end");
        assert!(kept(&[b"word\x1b\rword", b"\x15"]), "there is a line before");
    }

    #[test]
    fn what_nobody_typed_is_no_draft() {
        let own = [
            &b"\x1b[<35;10;5M"[..],
            b"\x1b[<0;10;5m",
            b"\x1b[M !!",
            b"\x1b[I",
            b"\x1b[O",
            b"\x1b[?62;22c",
            b"\x1b[?997;1n",
            b"\x1b[12;40R",
            b"\x1b[6;16;8t",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1bP>|xterm\x1b\\",
            b"\x1b_Gi=31;OK\x1b\\",
            b"\x1b[C\x1b[H\x1b[6~\x01\x0c\x7f",
            b"\x1b",
        ];
        for bytes in own {
            assert!(!kept(&[bytes]), "{bytes:?}");
            assert!(kept(&[bytes, b"x"]), "{bytes:?}");
        }
        assert!(!kept(&[b"\x1b[<35;1", b"0;5M"]), "in two pieces");
        assert!(kept(&[b"\x1b]", b"x"]), "a key with Alt");
        for history in [&b"\x1b[A"[..], b"\x1bOA", b"\x10", b"\x12", b"\t"] {
            assert!(kept(&[history]), "{history:?} may bring words");
        }
    }

    #[test]
    fn keys_for_a_dialog_leave_the_draft_as_it_was() {
        for (before, is_kept) in [(&b""[..], false), (b"word", true)] {
            let mut draft = Draft::default();
            draft.typed(before, SLOW);
            draft.focus(Focus::Dialog);
            draft.typed(b"\x1b[B2\r\x1b\x1b\x03", SLOW);
            draft.focus(Focus::Turn);
            draft.typed(b"\x1b\x1b", SLOW);
            assert_eq!(draft.is_kept(), is_kept);
        }
    }
}
