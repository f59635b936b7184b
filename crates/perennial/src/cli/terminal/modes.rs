//! Which modes a program has switched on in the terminal, so that they can be undone when a person
//! leaves it.
//!
//! Undoing only what was done matters: leaving an alternate screen that was never entered would
//! move the cursor.

use std::collections::BTreeSet;

/// Private modes that a terminal has off by default and that disturb a shell.
const OFF_BY_DEFAULT: &[u16] = &[
    1, 5, 9, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1049, 2004, 2026, 2048,
];
/// … and those that it has on.
const ON_BY_DEFAULT: &[u16] = &[7, 25];

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Those that are not as by default.
    changed: BTreeSet<u16>,
    /// How often the keyboard protocol was pushed and not popped.
    keyboards: u32,
    has_application_keypad: bool,
    has_scroll_region: bool,
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
            [0x1b, b'='] => self.has_application_keypad = true,
            [0x1b, b'>'] => self.has_application_keypad = false,
            [0x1b, b'c'] => *self = Modes::default(),
            _ => {}
        }
    }

    fn note_private(&mut self, body: &[u8], end: u8) {
        let numbers = str::from_utf8(body).unwrap_or_default().split(';');
        for mode in numbers.filter_map(|text| text.parse::<u16>().ok()) {
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
        }
        text.push_str("\x1b[0m");
        text
    }
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
        assert_eq!(after(&["\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h"]), "[0m");
        assert_eq!(after(&["\x1b[>1u", "\x1b=", "\x1b[2;10r"]), "[<u7[r8>[0m");
        assert_eq!(after(&["\x1b[?1049h", "\x1bc"]), "[0m");
        assert_eq!(after(&["\x1b[?99999999h", "\x1b[?h", "\x1b[?12h"]), "[0m");
    }
}
