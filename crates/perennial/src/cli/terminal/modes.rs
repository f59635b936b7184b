//! Which modes a program has switched on in the terminal, so that they can be undone when a person
//! leaves it.
//!
//! Undoing only what was done matters: leaving an alternate screen that was never entered would
//! move the cursor.

use std::collections::BTreeSet;

/// Private modes that a terminal has off by default and that disturb a shell.
const OFF_BY_DEFAULT: &[u16] = &[
    1, 5, 6, 9, 47, 66, 69, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1049, 2004, 2026,
    2031, 2048, 9001,
];
/// … and those that it has on.
const ON_BY_DEFAULT: &[u16] = &[7, 25];
/// Modes that are not private, and off by default: insert, and a line feed that returns.
const ANSI: &[u16] = &[4, 20];
/// Colours that a program may set, and what sets them back: palette, text, background, cursor.
const COLOURS: &[(&str, u16)] = &[("4;", 104), ("10;", 110), ("11;", 111), ("12;", 112)];

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Those that are not as by default.
    changed: BTreeSet<u16>,
    /// How often the keyboard protocol was pushed and not popped.
    keyboards: u32,
    has_application_keypad: bool,
    has_scroll_region: bool,
    ansi: BTreeSet<u16>,
    /// What sets the colours back that were set.
    colours: BTreeSet<u16>,
    has_character_sets: bool,
    has_cursor_shape: bool,
    has_other_keys: bool,
}

impl Modes {
    /// Takes note of one whole escape sequence.
    pub fn note(&mut self, sequence: &[u8]) {
        match sequence {
            [0x1b, b'[', b'?', body @ .., end @ (b'h' | b'l')] => self.note_private(body, *end),
            [0x1b, b'[', b'>', .., b'u'] => self.keyboards = self.keyboards.saturating_add(1),
            [0x1b, b'[', b'<', .., b'u'] => self.keyboards = self.keyboards.saturating_sub(1),
            [0x1b, b'[', body @ .., b'r'] if !body.starts_with(b"?") => {
                self.has_scroll_region = !body.is_empty();
            }
            [0x1b, b'[', b'>', b'4', rest @ .., b'm'] => {
                self.has_other_keys = !matches!(rest, b"" | b";0" | b";");
            }
            [0x1b, b'[', body @ .., b' ', b'q'] => {
                self.has_cursor_shape = !matches!(body, b"" | b"0");
            }
            [0x1b, b'[', body @ .., end @ (b'h' | b'l')] => {
                for mode in numbers(body).filter(|mode| ANSI.contains(mode)) {
                    let _was =
                        if *end == b'h' { self.ansi.insert(mode) } else { self.ansi.remove(&mode) };
                }
            }
            [0x1b, b'(' | b')' | b'*' | b'+', set] if *set != b'B' => {
                self.has_character_sets = true;
            }
            [0x1b, b']', body @ ..] => self.note_colour(body),
            [0x1b, b'='] => self.has_application_keypad = true,
            [0x1b, b'>'] => self.has_application_keypad = false,
            [0x1b, b'c'] => *self = Modes::default(),
            _ => {}
        }
    }

    fn note_private(&mut self, body: &[u8], end: u8) {
        for mode in numbers(body) {
            let is_default = if ON_BY_DEFAULT.contains(&mode) {
                end == b'h'
            } else if OFF_BY_DEFAULT.contains(&mode) {
                end == b'l'
            } else {
                continue;
            };
            if is_default {
                self.changed.remove(&mode);
            } else {
                self.changed.insert(mode);
            }
        }
    }

    /// A question for a colour sets none.
    fn note_colour(&mut self, body: &[u8]) {
        let body = String::from_utf8_lossy(body);
        let set = COLOURS.iter().find(|(start, _)| body.starts_with(start));
        if let Some((_, back)) = set.filter(|_| !body.contains('?')) {
            self.colours.insert(*back);
        }
    }

    /// Whether the program draws on the alternate screen.
    pub fn is_alternate(&self) -> bool {
        [47, 1047, 1049].iter().any(|mode| self.changed.contains(mode))
    }

    /// What brings the terminal back.
    pub fn undo(&self) -> String {
        let mut text = String::new();
        for _ in 0..self.keyboards.min(32) {
            text.push_str("\x1b[<u");
        }
        if self.has_scroll_region {
            // Setting the region moves the cursor home; save and restore keep it.
            text.push_str("\x1b7\x1b[r\x1b8");
        }
        if self.has_application_keypad {
            text.push_str("\x1b>");
        }
        for mode in &self.changed {
            let end = if ON_BY_DEFAULT.contains(mode) { 'h' } else { 'l' };
            text.push_str(&format!("\x1b[?{mode}{end}"));
            if *mode == 6 {
                // It moved the cursor to the top, where it would overwrite what is shown.
                text.push_str("\x1b[999;1H");
            }
        }
        for mode in &self.ansi {
            text.push_str(&format!("\x1b[{mode}l"));
        }
        for back in &self.colours {
            text.push_str(&format!("\x1b]{back}\x1b\\"));
        }
        for (is_changed, back) in [
            (self.has_other_keys, "\x1b[>4m"),
            (self.has_cursor_shape, "\x1b[0 q"),
            (self.has_character_sets, "\x1b(B\x1b)B\x0f"),
        ] {
            text.push_str(if is_changed { back } else { "" });
        }
        text.push_str("\x1b[0m");
        text
    }
}

fn numbers(body: &[u8]) -> impl Iterator<Item = u16> {
    let numbers = str::from_utf8(body).unwrap_or_default().split(';');
    numbers.filter_map(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sequences: &[&str]) -> String {
        let mut modes = Modes::default();
        for sequence in sequences {
            modes.note(sequence.as_bytes());
        }
        modes.undo().replace('\x1b', "")
    }

    #[test]
    fn only_what_was_done_is_undone() {
        assert_eq!(after(&[]), "[0m");
        assert_eq!(
            after(&["\x1b[?1049h", "\x1b[?25l", "\x1b[?1000;1006h"]),
            "[?25h[?1000l[?1006l[?1049l[0m"
        );
        let mut modes = Modes::default();
        assert!(!modes.is_alternate());
        modes.note(b"\x1b[?1049h");
        assert!(modes.is_alternate());
        assert_eq!(after(&["\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h"]), "[0m");
        assert_eq!(after(&["\x1b[>1u", "\x1b=", "\x1b[2;10r"]), "[<u7[r8>[0m");
        assert_eq!(after(&["\x1b[?1049h", "\x1bc"]), "[0m");
        assert_eq!(after(&["\x1b[4;20h", "\x1b[20l", "\x1b[?6h"]), "[?6l[999;1H[4l[0m");
        assert_eq!(after(&["\x1b[>4;2m", "\x1b[5 q", "\x1b(0"]), "[>4m[0 q(B)B\x0f[0m");
        assert_eq!(after(&["\x1b[>4;2m", "\x1b[>4m", "\x1b[5 q", "\x1b[ q", "\x1b(B"]), "[0m");
        let colours = ["\x1b]11;#fff\x07", "\x1b]4;1;red\x1b\\", "\x1b]10;?\x07", "\x1b]0;x\x07"];
        assert_eq!(after(&colours), "]104\\]111\\[0m");
        assert_eq!(after(&["\x1b[?99999999h", "\x1b[?h", "\x1b[?12h"]), "[0m");
    }
}
