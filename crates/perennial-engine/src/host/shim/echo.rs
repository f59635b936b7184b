//! Looks in a program's output for the echo of a paste, and for where the caret stands behind it.
//!
//! A byte scanner, no screen model: programs print only the cells that change, and jump over blanks.
//! So escape sequences and white space are left out on both sides. It lives from a paste to its Enter.
//!
//! Invariants
//! - E1  Memory is bounded, whatever the program prints.
//! - E2  The proof speaks of output after the paste only.
//! - E3  In a row of its own the text ends exactly where the caret is, and without a caret it begins
//!   where a line does: a text that was appended to something else is not proven.
//! - E4  A text with something behind it in its last row is not proven.

use super::modes::column;

/// More of the output than this is never held.
const PRINTED_BYTES_MAX: usize = 32 << 10;
/// A longer text is shown by its stand-in only.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// What is printed in one row of a terminal, with room to spare.
const ROW_BYTES_MAX: usize = 4 << 10;
/// Without a caret's place, a shorter text is found in anything.
const BYTES_WITHOUT_CARET: usize = 8;
const SEQUENCE_BYTES_MAX: usize = 32;

#[derive(Debug)]
pub struct Echo {
    sought: Sought,
    place: Scan,
    /// The parameters of the control sequence that is being read.
    parameters: Vec<u8>,
    /// All that was printed since the paste, without white space.
    printed: Vec<u8>,
    /// What was printed in the present row from where a line begins: a prompt sign before it counts
    /// for nothing, anything else that does not begin there is not held.
    row: Vec<u8>,
    /// The column behind it.
    row_end: Option<u16>,
    /// Where the next character goes, as far as that is known.
    at: u16,
    found: Found,
    caret: Option<u16>,
    /// The row of the next character, and the caret's, as far as that is known.
    at_row: u16,
    caret_row: u16,
}

/// What a paste should look like.
#[derive(Debug, Clone)]
pub struct Sought {
    /// Without white space.
    text: Vec<u8>,
    /// Its first and its last line, likewise.
    first_line: Vec<u8>,
    last_line: Vec<u8>,
    /// The stand-in's beginning, without white space.
    placeholder: Vec<u8>,
    first_column: u16,
    /// Where the caret should be behind the text; `None` if its last line is wider than a row.
    end_column: Option<u16>,
    is_one_row: bool,
    has_caret: bool,
    /// An earlier text of ours may not be erased yet.
    is_after_ours: bool,
}

impl Sought {
    /// `columns` are the widths of the text's lines, `room` the width of a row.
    pub fn new(
        text: &str,
        placeholder: Option<&str>,
        columns: &[u32],
        first_column: u16,
        room: u16,
        has_caret: bool,
    ) -> Sought {
        let last = columns.last().copied().unwrap_or(0);
        let fits = u16::try_from(last).ok().filter(|last| *last < room);
        Sought {
            text: without_space(text.as_bytes()),
            first_line: without_space(text.lines().next().unwrap_or_default().as_bytes()),
            last_line: without_space(text.lines().next_back().unwrap_or_default().as_bytes()),
            placeholder: placeholder.map(|text| without_space(text.as_bytes())).unwrap_or_default(),
            first_column,
            end_column: fits.map(|last| first_column.saturating_add(last)),
            is_one_row: columns.len() == 1 && fits.is_some(),
            has_caret,
            is_after_ours: false,
        }
    }

    /// An earlier text of ours was erased just before, unseen: it may still be before this one.
    pub fn after_ours(self, is_after_ours: bool) -> Sought {
        Sought { is_after_ours, ..self }
    }
}

#[derive(Debug, Default)]
struct Found {
    text: bool,
    /// A row that begins where a line does and holds the text, all of it and nothing else.
    whole_row: bool,
    /// A row that begins where a line does and holds the text's beginning.
    head_row: bool,
    /// The column behind a row that holds the text's end.
    tail_end: Option<u16>,
    /// The column behind a stand-in that begins where a line does.
    placeholder_end: Option<u16>,
    /// The row that holds the text's last line, and more behind it.
    longer_row: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scan {
    Ground,
    Escape,
    Control,
    /// A title or another long word, up to `BEL` or `ST`.
    Text,
}

impl Echo {
    pub fn new(sought: Sought) -> Echo {
        Echo {
            sought,
            place: Scan::Ground,
            parameters: Vec::new(),
            printed: Vec::new(),
            row: Vec::new(),
            row_end: None,
            at: 1,
            found: Found::default(),
            caret: None,
            at_row: 1,
            caret_row: 1,
        }
    }

    /// The same is looked for in what is drawn from here on, where it may be drawn several times.
    pub fn anew(&self) -> Echo {
        Echo::new(self.sought.clone().after_ours(false))
    }

    /// Anything was printed.
    pub fn has_printed(&self) -> bool {
        !self.printed.is_empty()
    }

    /// The text, its end or its stand-in was printed, wherever the caret is.
    pub fn shows_text(&self) -> bool {
        self.found.text || self.found.tail_end.or(self.found.placeholder_end).is_some()
    }

    /// Takes in output; whether the paste is proven by now.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().for_each(|byte| self.byte(*byte));
        self.look();
        self.is_proven()
    }

    /// The text is in the output, and words that are not ours stand before or behind it.
    pub fn is_among_words(&self) -> bool {
        let Sought { end_column, has_caret, is_after_ours, .. } = self.sought;
        let is_further = self.caret.zip(end_column).is_some_and(|(caret, end)| caret > end);
        let is_before = self.found.text && is_further && !is_after_ours;
        has_caret && (is_before || self.has_more_behind())
    }

    /// E4.
    fn has_more_behind(&self) -> bool {
        self.found.longer_row == Some(self.caret_row)
    }

    fn is_proven(&self) -> bool {
        let Sought { first_column, end_column, is_one_row, has_caret, .. } = self.sought;
        if !has_caret {
            let is_long = self.sought.text.len() >= BYTES_WITHOUT_CARET;
            let begins_line = self.found.head_row || self.is_head(&without_space(&self.row));
            let is_alone = begins_line && (!self.sought.is_after_ours || self.is_once());
            let is_found = self.found.whole_row || self.found.text && is_long && is_alone;
            return is_found || self.found.placeholder_end.is_some();
        }
        let Some(caret) = self.caret.filter(|_| !self.has_more_behind()) else { return false };
        if self.found.placeholder_end == Some(caret) {
            return true;
        }
        match end_column {
            Some(end) if is_one_row => self.found.text && caret == end,
            // Rows above may have shown the same letters in the same places.
            Some(end) => (self.found.text || self.found.tail_end == Some(end)) && caret == end,
            None => self.found.tail_end == Some(caret) || self.found.text && caret >= first_column,
        }
    }

    fn byte(&mut self, byte: u8) {
        match (self.place, byte) {
            (Scan::Ground | Scan::Escape | Scan::Control, 0x1b) => self.place = Scan::Escape,
            (Scan::Ground, _) => self.print(byte),
            (Scan::Escape, b'[') => {
                self.parameters.clear();
                self.place = Scan::Control;
            }
            (Scan::Escape, b']' | b'P' | b'_' | b'^' | b'X') => self.place = Scan::Text,
            (Scan::Escape, _) => self.place = Scan::Ground,
            (Scan::Control, 0x40..=0x7e) => {
                self.place = Scan::Ground;
                self.control(byte);
            }
            (Scan::Control, _) if self.parameters.len() < SEQUENCE_BYTES_MAX => {
                self.parameters.push(byte);
            }
            (Scan::Control, _) => self.place = Scan::Ground,
            (Scan::Text, 0x07) => self.place = Scan::Ground,
            (Scan::Text, 0x1b) => self.place = Scan::Escape,
            (Scan::Text, _) => {}
        }
    }

    fn print(&mut self, byte: u8) {
        match byte {
            b'\r' => {
                self.end_row();
                self.at = 1;
            }
            b'\n' => {
                self.end_row();
                self.at_row = self.at_row.saturating_add(1);
            }
            0x08 => self.at = self.at.saturating_sub(1).max(1),
            0x00..=0x1f | 0x7f => {}
            b' ' => self.at = self.at.saturating_add(1),
            _ => {
                // The rest of a character stands where its first byte does.
                let is_rest = (0x80..=0xbf).contains(&byte);
                let is_in_line = self.row_end.is_some();
                let is_first = !is_rest && self.at == self.sought.first_column;
                self.at = self.at.saturating_add(u16::from(!is_rest));
                if is_in_line || is_first {
                    self.row_end = Some(self.at);
                    if self.row.len() < ROW_BYTES_MAX {
                        self.row.push(byte);
                    }
                }
                if self.printed.len() >= PRINTED_BYTES_MAX {
                    self.look();
                    let kept = self.sought.text.len().min(TEXT_BYTES_MAX);
                    self.printed.drain(..self.printed.len() - kept);
                }
                self.printed.push(byte);
            }
        }
    }

    fn control(&mut self, last: u8) {
        let first: Option<u16> = std::str::from_utf8(&self.parameters)
            .ok()
            .and_then(|text| text.split(';').next()?.parse().ok());
        let count = first.unwrap_or(1).max(1);
        match last {
            b'C' | b'a' => self.at = self.at.saturating_add(count),
            b'D' => self.at = self.at.saturating_sub(count).max(1),
            b'G' | b'`' => self.at = count,
            b'A' | b'B' | b'd' | b'E' | b'F' => {
                self.end_row();
                self.at_row = match last {
                    b'd' => count,
                    b'A' | b'F' => self.at_row.saturating_sub(count).max(1),
                    _ => self.at_row.saturating_add(count),
                };
                self.at = if matches!(last, b'E' | b'F') { 1 } else { self.at };
            }
            b'H' | b'f' => {
                self.end_row();
                self.caret = column(&self.parameters);
                self.at = self.caret.unwrap_or(1);
                (self.at_row, self.caret_row) = (count, count);
            }
            _ => {}
        }
    }

    /// The printing goes on in another row.
    fn end_row(&mut self) {
        self.look_at_row();
        self.row.clear();
        self.row_end = None;
    }

    fn look_at_row(&mut self) {
        let Some(end) = self.row_end else { return };
        let row = without_space(&self.row);
        self.found.whole_row |= self.sought.is_one_row && row == self.sought.text;
        self.found.head_row |= self.is_head(&row) || row == self.sought.first_line;
        if !row.is_empty() && self.sought.text.ends_with(&row) {
            // Wide characters are counted by the sender; here only plain text is.
            self.found.tail_end = if row.is_ascii() { Some(end) } else { self.sought.end_column };
        }
        let last_line = &self.sought.last_line;
        if !last_line.is_empty() && row.len() > last_line.len() && row.starts_with(last_line) {
            self.found.longer_row = Some(self.at_row);
        }
        let placeholder = &self.sought.placeholder;
        let is_one = row.iter().position(|byte| *byte == b']') == Some(row.len().wrapping_sub(1));
        if !placeholder.is_empty() && row.starts_with(placeholder) && is_one {
            self.found.placeholder_end = Some(end);
        }
    }

    /// What begins where a line does, as far as it was printed, is the text's beginning.
    fn is_head(&self, row: &[u8]) -> bool {
        row.len() >= BYTES_WITHOUT_CARET && self.sought.text.starts_with(row)
    }

    /// The text stands in the output, and not twice.
    fn is_once(&self) -> bool {
        let printed = without_space(&self.printed);
        memchr::memmem::find_iter(&printed, &self.sought.text).count() == 1
    }

    fn look(&mut self) {
        let text = &self.sought.text;
        let is_searched = !self.found.text && !text.is_empty() && text.len() <= TEXT_BYTES_MAX;
        if is_searched && self.printed.len() >= text.len() {
            let printed = without_space(&self.printed);
            self.found.text = memchr::memmem::find(&printed, text).is_some();
        }
    }
}

/// The bytes of a text without its white space. What is cut inside a character loses that character.
fn without_space(bytes: &[u8]) -> Vec<u8> {
    let mut kept = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        kept.extend(chunk.valid().chars().filter(|character| !character.is_whitespace()));
    }
    kept.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: u16 = 75;

    fn echo(text: &str, columns: &[u32]) -> Echo {
        Echo::new(Sought::new(text, Some("[Pasted text #"), columns, 3, ROOM, true))
    }

    /// The classic renderer shows no caret's place: a short text needs a row of its own.
    #[test]
    fn without_a_caret_a_short_text_is_proven_by_its_row() {
        let classic = |is_after_ours| {
            let sought = || Sought::new("plain 0", None, &[7], 3, ROOM, false);
            move || Echo::new(sought().after_ours(is_after_ours))
        };
        assert!(proves(classic(false), b"\r\x1b[2Cplain\x1b[9G0\r\n"));
        assert!(proves(classic(true), b"\r\x1b[2Cplain\x1b[9G0\r\n"));
        assert!(!proves(classic(false), b"\r\x1b[5Cplain\x1b[12G0\r\n"), "behind something else");
        assert!(!proves(classic(false), b"\r\x1b[2Cplain\x1b[9G0 or more\r\n"));
    }

    #[test]
    fn without_a_caret_a_text_that_does_not_begin_the_line_is_not_proven() {
        let long = || Echo::new(Sought::new("number two", None, &[10], 3, ROOM, false));
        assert!(proves(long, b"\r\x1b[2Cnumber\x1b[10Gtwo\r\n"));
        assert!(!proves(long, b"\r\x1b[11Cnumber\x1b[19Gtwo\r\n"), "behind what stood there");
        assert!(!proves(long, b"\r\x1b[2Cnumber\x1b[10Gtwnumber\x1b[19Gtwo\r\n"), "redrawn");
        let lines = || Echo::new(Sought::new("one\ntwo three", None, &[3, 9], 3, ROOM, false));
        assert!(proves(lines, b"\r\x1b[2Cone\r\n\x1b[2Ctwo\x1b[7Gthree\r\n"));
        assert!(!proves(lines, b"\r\x1b[8Cone\r\n\x1b[2Ctwo\x1b[7Gthree\r\n"));
    }

    /// Whether these bytes prove it, however they are cut in two.
    fn proves(make: impl Fn() -> Echo, bytes: &[u8]) -> bool {
        let whole = make().feed(bytes);
        for cut in 0..bytes.len() {
            let mut echo = make();
            echo.feed(&bytes[..cut]);
            assert_eq!(echo.feed(&bytes[cut..]), whole, "cut at {cut}");
        }
        whole
    }

    // The frames were recorded from Claude Code 2.1.325.
    #[test]
    fn a_line_is_proven_by_its_text_and_the_caret() {
        let make = || echo("hello big world", &[15]);
        let frame = "\x1b[H\r\x1b[2C\x1b[21Bhello\x1b[9Gbig\x1b[13Gworld\x1b[7m \r\x1b[18C\x1b[2B\x1b[27m\x1b[K\x1b[24;1H\x1b[22;";
        assert!(proves(make, format!("{frame}18H").as_bytes()));
        assert!(!proves(make, format!("{frame}21H").as_bytes()), "behind a draft");
        assert!(!proves(make, frame.as_bytes()), "the frame has not ended");
        assert!(!proves(make, b"\x1b[22;18H"), "no text");
        assert!(!proves(make, b"hello big\x1b[22;18H"), "half of it");
        assert!(!proves(make, b"\x1b]0;hello big world\x07\x1b[22;18H"), "a title");
    }

    /// Home was typed in a line that the program had filled.
    #[test]
    fn a_text_before_something_else_is_not_proven() {
        let make = || echo("pasted", &[6]);
        let frame = "\x1b[H\r\x1b[50C\x1b[19B /effor\r\x1b[2C\x1b[2B\x1b[39mpasted";
        let end = "\x1b[24;1H\x1b[22;9H";
        let alone = format!("{frame}\x1b[7m \x1b[27m{end}");
        assert!(proves(make, alone.as_bytes()));
        let glued = format!("{frame}\x1b[7mp\x1b[11G\x1b[27mease look\x1b[21Gat{end}");
        assert!(!proves(make, glued.as_bytes()));
        let elsewhere = format!("\x1b[5;3Hpasted words\x1b[H{alone}");
        assert!(proves(make, elsewhere.as_bytes()), "another row begins alike");
        let mut among = make();
        among.feed(glued.as_bytes());
        assert!(among.is_among_words());
    }

    #[test]
    fn a_text_behind_words_is_among_them() {
        let among = |frame: &str| {
            let mut echo = echo("text", &[4]);
            assert!(!echo.feed(frame.as_bytes()));
            echo.is_among_words()
        };
        assert!(among("\x1b[H\x1b[21B\x1b[10Gtext\x1b[24;1H\x1b[22;14H"));
        assert!(!among("\x1b[H\x1b[24;1H\x1b[22;14H"), "it was not shown");
        assert!(!among("\x1b[H\x1b[21B\x1b[3Gtext\x1b[24;1H\x1b[22;5H"), "not all of it yet");
    }

    #[test]
    fn wide_characters_count_as_the_sender_counted_them() {
        let text = "fam 👨\u{200d}👩\u{200d}👧 heart ❤\u{fe0f} end";
        let frame = "\x1b[H\r\x1b[2C\x1b[21Bfam\x1b[7G👨\u{200d}👩\u{200d}👧\x1b[10Gheart\x1b[17G \x1b[16G❤\u{fe0f}\x1b[19Gend\x1b[7m \r\x1b[18C\x1b[2B\x1b[27m\x1b[K\x1b[24;1H\x1b[22;22H";
        assert!(proves(|| echo(text, &[19]), frame.as_bytes()));
    }

    #[test]
    fn the_last_row_proves_several() {
        let make = || echo("one\ntwo three\nfour", &[3, 9, 4]);
        let frame = "\r\x1b[1B\x1b[39m❯\u{a0}one\x1b[51G\x1b[K\r\x1b[1B  two three\x1b[K\r\x1b[1B  four\x1b[7m \r\x1b[18C\x1b[2B\x1b[27m\x1b[K\x1b[24;1H\x1b[22;";
        assert!(proves(make, format!("{frame}7H").as_bytes()));
        assert!(!proves(make, format!("{frame}8H").as_bytes()));
        // A row above kept a letter that was there before.
        let skipped =
            "❯\u{a0}o\x1b[5Ge\r\x1b[1B  two three\r\x1b[1B  four\x1b[7m \x1b[24;1H\x1b[22;7H";
        assert!(proves(make, skipped.as_bytes()));
        let wrapped = format!("{} wo", "x".repeat(90));
        let frame = format!("❯\u{a0}{}\r\x1b[1B  wo\x1b[7m \x1b[24;1H\x1b[22;5H", "x".repeat(75));
        assert!(proves(|| echo(&wrapped, &[93]), frame.as_bytes()));
    }

    #[test]
    fn a_stand_in_proves_a_long_paste_in_an_empty_line() {
        let text = "l\n".repeat(11) + "l";
        let make = || echo(&text, &[1; 12]);
        let frame = |column: u16| {
            let middle =
                "[Pasted\x1b[11Gtext\x1b[16G#2\x1b[19G+11\x1b[23Glines]\x1b[7m \x1b[27m\x1b[24;1H";
            format!("\x1b[H\r\x1b[2C\x1b[21B{middle}\x1b[22;{column}H")
        };
        assert!(proves(make, frame(29).as_bytes()));
        assert!(!proves(make, frame(31).as_bytes()));
        // Over a hint, the whole row is printed again, with the sign in front.
        let over_a_hint = "\x1b[H\r\x1b[21B\x1b[38;5;246m❯\u{a0}\x1b[39m[Pasted text #1]\x1b[7m \x1b[27m\x1b[K\r\x1b[2C\x1b[2Bpaste \x1b[10Ggain\x1b[K\x1b[24;1H\x1b[22;19H";
        assert!(proves(make, over_a_hint.as_bytes()));
        let behind =
            "\x1b[H\r\x1b[4C\x1b[21B[Pasted\x1b[13Gtext\x1b[18G#1]\x1b[7m \x1b[24;1H\x1b[22;21H";
        assert!(!proves(make, behind.as_bytes()), "behind a draft");
        let two = "\x1b[22;3H[Pasted text #1][Pasted text #2]\x1b[24;1H\x1b[22;35H";
        assert!(!proves(make, two.as_bytes()), "behind another paste");
    }

    #[test]
    fn without_a_caret_a_short_text_proves_nothing() {
        let make = |text: &str| Echo::new(Sought::new(text, None, &[9], 3, ROOM, false));
        assert!(make("long enough").feed(b"> long enough"));
        assert!(!make("yes").feed(b"> yes"));
    }

    #[test]
    fn without_a_caret_a_text_of_several_rows_stands_alone() {
        let text = "a text of more than one row ".repeat(4);
        let text = text.trim_end();
        let (head, tail) = text.split_at(74);
        let make = || {
            let sought = Sought::new(text, None, &[text.len() as u32], 3, ROOM, false);
            Echo::new(sought.after_ours(true))
        };
        assert!(proves(make, format!("\r\x1b[2C{head}\r\n  {tail}\r\n").as_bytes()));
        let behind = format!("\r\x1b[20C{text}\r\n");
        assert!(!proves(make, behind.as_bytes()), "behind the earlier one");
        let twice = format!("\r\x1b[2C{head}\r\n  {tail}{text}\r\n");
        assert!(!proves(make, twice.as_bytes()), "drawn again, with the earlier one");
    }

    #[test]
    fn a_flood_is_not_held() {
        let mut echo = echo("needle", &[6]);
        for _ in 0..100 {
            echo.feed(&[b'x'; 4096]);
        }
        assert!(echo.printed.len() <= PRINTED_BYTES_MAX && echo.row.len() <= ROW_BYTES_MAX);
        assert!(echo.feed(b"nee\x1b[5Gdle\x1b[22;9H"));
    }
}
