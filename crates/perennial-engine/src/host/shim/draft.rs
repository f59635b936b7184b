//! Whether a person has words in the input line that are not sent yet, and whether it is known that
//! keys reach that line at all: read from their keys, and from where the program shows the caret.
//!
//! Invariants
//! - D1  Errs to one side: in doubt there is a draft, and nothing is typed into it.
//! - D2  What a terminal says by itself (mouse, focus, answers to questions) is nobody's draft.
//! - D3  Keys that answer a dialog neither make nor send a draft; one from before stays.
//! - D4  A draft lasts until it is sent or erased, whoever leaves the terminal meanwhile.
//! - D5  After a key that opens a menu or a mode (the preset names them) there is doubt, until its
//!   known way back, or until the program took a prompt that was entered after that key.
//! - D6  Keys that the program does not read yet are a draft, Enter among them.
//! - D7  A program puts words into its line by itself, too (an interrupted prompt, one that waited), and
//!   not every Enter sends. So a line that should be empty is known to be so only while the caret is
//!   shown where an empty line has it; a key that is typed while it is not leaves a draft.
//! - D8  A daemon's word about a dialog holds for keys that are typed while that daemon is there, until
//!   the caret is back in the input line's row; what is sent or erased after that is a draft still.
//! - D9  A caret from before a person's keys tells nothing: it counts when it has moved since, or the hint of an
//!   empty line came or went, a prompt was heard, frames went on for a while, or the keys were read a while ago. A line in which a text of ours
//!   was left, and that a person enters, may be that text: until the prompt is heard, nothing is typed.
//! - D10 Words that the program puts into its line by itself, behind an Enter of ours or its start, with no key
//!   of a person's since, are not a person's: a prompt that a hook blocked comes back so.
//! - D11 Where the program shows words that stand only in its empty line, they decide: with them there is no
//!   draft, and a caret in the first column without them is that of a new row.

mod line;

use std::time::Duration;

use super::super::delivery::{DoubtKey, InputRules, Key, PUT_BACK_MS};
use super::super::monotonic::Moment;
use super::super::protocol::Focus;
pub use line::EmptyBy;
use line::{Doubt, Line, Unread};

/// A prompt that was entered is heard by then.
const HEARD_WITHIN: Duration = Duration::from_secs(2);
/// A longer escape sequence is none.
const SEQUENCE_BYTES_MAX: usize = 64;

#[derive(Debug, Default)]
pub struct Draft {
    line: Line,
    doubt: Option<Doubt>,
    focus: Focus,
    /// A dialog was open when the daemon left that told of it.
    is_abandoned: bool,
    /// Where the caret is, and where it was in the input line, in rows from the last one.
    caret_row: Option<u16>,
    line_row: Option<u16>,
    /// It is where an empty line has it.
    is_at_start: bool,
    /// Whether the program shows the words of an empty line; `None` if it never did.
    hint: Option<bool>,
    /// It was outside that row since a dialog was told of.
    has_left_line: bool,
    /// The program shows where its caret is.
    shows_caret: bool,
    place: KeyScan,
    is_pasted: bool,
    is_after_newline_sign: bool,
    /// Nobody reads the keys yet.
    is_unread: bool,
    /// Keys that the program has not shown to have read.
    unread: Option<Unread>,
    caret_column: Option<u16>,
    /// A text of ours was left in the line, among words or as such.
    has_left_text: bool,
    /// When a person entered such a line.
    entered_left_at: Option<Moment>,
    /// A person has typed since our last Enter, or since the start.
    is_touched: bool,
    /// An earlier line was put aside, and comes back after the next prompt.
    is_stashed: bool,
    escaped_at: Option<Moment>,
    put_back_by: Option<Moment>,
    /// When the present keys were typed.
    now: Moment,
    keys: Vec<DoubtKey>,
    stash: Option<Key>,
    /// The last byte of what makes a new line of Enter. Another character that ends so counts, too:
    /// that errs to a draft.
    newline_byte: Option<u8>,
    /// Two Escapes within this time take the line back.
    double_escape_within: Option<Duration>,
    /// What an interruption puts back into the line is shown by then.
    put_back_within: Duration,
    /// Columns of one row of the line; 0: not known.
    room: u16,
}

/// Where in the stream of keys we are.
#[derive(Debug, Default)]
enum KeyScan {
    #[default]
    Ground,
    Escape,
    /// `CSI`, and what came of it so far.
    Control(Vec<u8>),
    /// `SS3`: one byte more.
    Single,
    /// A terminal's long answer, up to `BEL` or `ST`.
    Text,
    /// An old mouse report: this many bytes more.
    Mouse(u8),
}

impl Draft {
    /// For a program with such an input line.
    pub fn with(rules: &InputRules) -> Draft {
        Draft {
            keys: rules.doubt.clone(),
            stash: rules.stash,
            newline_byte: rules.newline_sign.and_then(last_byte),
            double_escape_within: rules.double_escape_ms.map(milliseconds),
            put_back_within: milliseconds(rules.put_back_ms),
            is_unread: true,
            ..Draft::default()
        }
    }

    /// For a bare command, of which nothing is known: in doubt it goes on with a line that ends in a
    /// backslash, as shells do, and two Escapes take nothing back.
    pub fn bare() -> Draft {
        let put_back_within = milliseconds(PUT_BACK_MS);
        Draft { newline_byte: Some(b'\\'), put_back_within, ..Draft::default() }
    }

    /// A person's words are in the line.
    pub fn is_kept(&self) -> bool {
        match self.line {
            Line::Plain { .. } | Line::Edited => true,
            Line::Empty(_) | Line::Ours { .. } => false,
        }
    }

    /// A text of ours was pasted into the line, and nobody has touched it since.
    pub fn is_ours(&self) -> bool {
        matches!(self.line, Line::Ours { .. })
    }

    /// D10: the program has put words into the line that no person typed. A line that it took and has not
    /// drawn empty for a while, `is_late`, is one.
    pub fn is_put_back(&self, is_late: bool) -> bool {
        let is_in_line = self.line_row.is_some() && self.caret_row == self.line_row;
        let is_strange = match self.line {
            Line::Empty(EmptyBy::Strange) => true,
            Line::Empty(EmptyBy::Erased) => is_late,
            Line::Empty(EmptyBy::Shown | EmptyBy::Claimed) => false,
            Line::Plain { .. } | Line::Ours { .. } | Line::Edited => false,
        };
        is_strange && is_in_line && !self.is_touched && !self.is_stashed
    }

    /// We have pressed Enter.
    pub fn entered(&mut self) {
        self.is_touched = false;
    }

    /// It is not known what the next key reaches.
    pub fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    pub fn is_in_dialog(&self) -> bool {
        self.focus == Focus::Dialog
    }

    /// What keys reach from now on, by the daemon's word.
    pub fn focus(&mut self, focus: Focus) {
        if self.focus != Focus::Dialog {
            self.has_left_line = self.caret_row != self.line_row;
        }
        self.focus = focus;
        self.is_abandoned = false;
    }

    /// D8: nobody is there to say what keys reach. A turn may begin or end unheard.
    pub fn abandon(&mut self) {
        self.is_abandoned |= self.focus == Focus::Dialog;
        self.focus = Focus::Turn;
    }

    /// D11: what the frame shows that is seen next.
    pub fn hint(&mut self, is_empty_line: Option<bool>) {
        self.hint = is_empty_line;
    }

    /// How wide a row of the line is.
    pub fn room(&mut self, columns: u16) {
        self.room = columns;
    }

    /// While the program is suspended, or has not drawn its line, keys wait in its terminal.
    pub fn unread(&mut self, is_unread: bool) {
        self.is_unread = is_unread;
    }

    /// We have pasted into the line.
    pub fn pasted(&mut self) {
        let is_alone = match self.line {
            Line::Ours { is_alone } => is_alone,
            line => line == Line::Empty(EmptyBy::Shown),
        };
        self.line = Line::Ours { is_alone };
    }

    /// What we pasted stays in the line. Unless it is alone there, it is not ours to erase.
    pub fn leave(&mut self, is_behind_words: bool) {
        if let Line::Ours { is_alone } = self.line
            && (is_behind_words || !is_alone)
        {
            self.line = Line::Edited;
            self.has_left_text = true;
        }
    }

    /// D9: whether the caret may be from before a person's keys.
    pub fn is_behind_keys(&self, now: Moment) -> bool {
        self.shows_caret && self.unread.is_some_and(|unread| !unread.is_read_long_ago(now))
    }

    /// D9: the program has read every key; what it makes of them is drawn a moment later.
    pub fn read(&mut self, now: Moment) {
        if let Some(unread) = &mut self.unread {
            unread.read_at.get_or_insert(now);
        }
    }

    /// D9: whether a person has just entered what may be a text of ours.
    pub fn may_have_entered_ours(&self, now: Moment) -> bool {
        self.entered_left_at.is_some_and(|at| now.saturating_sub(at) < HEARD_WITHIN)
    }

    /// It is proven that nothing of a person's is in the line.
    pub fn forget(&mut self) {
        self.line = Line::default();
        self.unread = None;
    }

    /// Nothing of ours is in the line any more.
    pub fn emptied(&mut self, by: EmptyBy) {
        let by = if self.shows_caret { by } else { EmptyBy::Shown };
        let before = self.doubt.as_mut().map(|doubt| &mut doubt.before);
        for line in before.into_iter().chain([&mut self.line]) {
            if matches!(line, Line::Ours { .. }) {
                *line = Line::Empty(by);
            }
        }
    }

    /// D5: the program took a prompt, so keys reach its line again.
    pub fn heard(&mut self) {
        self.unread = None;
        self.entered_left_at = None;
        self.doubt.take_if(|doubt| doubt.is_entered);
        if !self.shows_caret && self.line == Line::Empty(EmptyBy::Claimed) {
            self.forget();
        }
    }

    pub fn typed(&mut self, bytes: &[u8], now: Moment) {
        self.now = now;
        self.is_touched = true;
        for byte in bytes {
            self.byte(*byte, now);
        }
        match self.place {
            // Nothing followed: it was the key.
            KeyScan::Escape => {
                self.place = KeyScan::Ground;
                self.escape(now);
            }
            // A terminal answers in one piece: this was a key with Alt.
            KeyScan::Text if bytes.len() == 2 => {
                self.place = KeyScan::Ground;
                self.edit();
            }
            KeyScan::Ground
            | KeyScan::Control(_)
            | KeyScan::Single
            | KeyScan::Text
            | KeyScan::Mouse(_) => {}
        }
    }

    fn byte(&mut self, byte: u8, now: Moment) {
        match (std::mem::take(&mut self.place), byte) {
            (KeyScan::Ground, 0x1b) => self.place = KeyScan::Escape,
            (KeyScan::Ground, _) => self.key(byte),
            (KeyScan::Escape, 0x1b) => {
                self.escape(now);
                self.place = KeyScan::Escape;
            }
            (KeyScan::Escape, b'[') => self.place = KeyScan::Control(Vec::new()),
            (KeyScan::Escape, b'O') => self.place = KeyScan::Single,
            (KeyScan::Escape, b']' | b'P' | b'_' | b'^' | b'X') => self.place = KeyScan::Text,
            // With Alt; the end of a long answer (ST) is none.
            (KeyScan::Escape, b'\\') => {}
            (KeyScan::Escape, _) if self.opens(Key::Alt(byte)) => {}
            (KeyScan::Escape, _) => self.edit(),
            (KeyScan::Single, b'M') => self.enter(),
            (KeyScan::Single, b'D') if self.opens(Key::Left) => {}
            (KeyScan::Single, b'C' | b'D' | b'F' | b'H') => self.moved(),
            (KeyScan::Single, _) => self.edit(),
            (KeyScan::Control(bytes), b'M') if bytes.is_empty() => self.place = KeyScan::Mouse(3),
            (KeyScan::Control(bytes), 0x40..=0x7e) => self.control(&bytes, byte, now),
            (KeyScan::Control(mut bytes), _) if bytes.len() < SEQUENCE_BYTES_MAX => {
                bytes.push(byte);
                self.place = KeyScan::Control(bytes);
            }
            (KeyScan::Control(_), _) => self.edit(),
            (KeyScan::Text, 0x1b) => self.place = KeyScan::Escape,
            (KeyScan::Text, 0x07) | (KeyScan::Mouse(0 | 1), _) => {}
            (KeyScan::Text, b'\r') => self.enter(),
            (KeyScan::Text, _) => self.place = KeyScan::Text,
            (KeyScan::Mouse(left), _) => self.place = KeyScan::Mouse(left - 1),
        }
    }

    /// A byte that is a key by itself.
    fn key(&mut self, byte: u8) {
        match byte {
            _ if self.is_pasted || self.is_unread => {
                self.edit();
                self.is_after_newline_sign = self.newline_byte == Some(byte);
            }
            b'\r' => self.enter(),
            0x01..=0x1a if self.opens(Key::Control(byte | 0x60)) => {}
            0x01..=0x1a if self.stash == Some(Key::Control(byte | 0x60)) => self.put_aside(),
            0x03 => self.interrupt(),
            // Ctrl-U takes back what stands before the caret in its row.
            0x15 => match self.line {
                Line::Plain { columns, .. } if columns < u32::from(self.room) => {
                    self.set(Line::Empty(EmptyBy::Erased));
                }
                Line::Empty(_) | Line::Plain { .. } | Line::Ours { .. } | Line::Edited => {
                    self.moved();
                }
            },
            0x08 | 0x7f => match self.line {
                Line::Plain { characters: 0 | 1, .. } => self.set(Line::Empty(EmptyBy::Erased)),
                Line::Plain { characters, columns } => {
                    self.set(Line::Plain { characters: characters - 1, columns });
                }
                Line::Empty(_) | Line::Ours { .. } | Line::Edited => self.moved(),
            },
            // Ctrl with A B D E F K L O T W Z: nothing comes of them in an empty line.
            0x01 | 0x02 | 0x04..=0x06 | 0x0b | 0x0c | 0x0f | 0x14 | 0x17 | 0x1a => self.moved(),
            0x00..=0x1f => self.edit(),
            // The rest of a character that was counted.
            0x80..=0xbf => self.is_after_newline_sign = self.newline_byte == Some(byte),
            0x20..=0x7e | 0xc0..=0xff => {
                let width = if byte.is_ascii() { 1 } else { 2 };
                match self.line {
                    Line::Empty(_) if self.is_known_empty() => {
                        self.set(Line::Plain { characters: 1, columns: width });
                    }
                    Line::Plain { characters, columns } => self.set(Line::Plain {
                        characters: characters.saturating_add(1),
                        columns: columns.saturating_add(width),
                    }),
                    Line::Empty(_) | Line::Ours { .. } | Line::Edited => self.edit(),
                }
                self.is_after_newline_sign = self.newline_byte == Some(byte);
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
            ([] | b"1", b'D') if self.opens(Key::Left) => {}
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
            (letter @ 0x61..=0x7a, 2)
                if self.opens(Key::Alt(u8::try_from(letter).unwrap_or_default())) => {}
            (_, _) => self.edit(),
        }
    }
}

fn milliseconds(number: u16) -> Duration {
    Duration::from_millis(number.into())
}

fn last_byte(sign: char) -> Option<u8> {
    sign.encode_utf8(&mut [0; 4]).bytes().last()
}

/// `1;2:3` as 1 and 2.
fn numbers(parameters: &[u8]) -> Vec<u32> {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    let number = |part: &str| part.split(':').next()?.parse().ok();
    text.split(';').map(|part| number(part).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests;
