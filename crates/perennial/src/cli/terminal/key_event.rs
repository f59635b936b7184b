//! One key in what a terminal types: a plain byte, or the escape sequence of a newer protocol.
//!
//! Knows the kitty keyboard protocol (`CSI 92 ; 5 u`) and xterm's modifyOtherKeys
//! (`CSI 27 ; 5 ; 92 ~`). Everything else is a key of which only that it is one is known, or no key.

use crate::detach_keys::Key;

/// What a sequence in the input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputSequence {
    Key(KeyEvent),
    /// A cursor or function key, or something that nobody here knows.
    OtherKey,
    /// The terminal itself speaks: an answer, the mouse, the focus.
    Report,
    PasteBegins,
    PasteEnds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyEvent {
    /// What the layout has on the key, without and with Shift.
    code: u32,
    shifted: Option<u32>,
    modifiers: u32,
    pub motion: Motion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    Down,
    /// Repeated by holding it, or let go.
    Other,
}

const SHIFT: u32 = 1;
const CONTROL: u32 = 4;
/// Caps Lock and Num Lock change no key.
const LOCKS: u32 = 64 | 128;
/// Shift, Ctrl and the like as keys of their own, in the kitty protocol.
const MODIFIER_KEYS: std::ops::RangeInclusive<u32> = 57441..=57454;

impl KeyEvent {
    /// Whether it is this key, however it was encoded.
    pub fn is(&self, key: Key) -> bool {
        let modifiers = self.modifiers & !LOCKS;
        let has_shift = modifiers & SHIFT != 0;
        match key.0 {
            control @ 0..0x20 => {
                let sign = u32::from((control | 0x40).to_ascii_lowercase());
                // Ctrl-^ and Ctrl-_ need Shift on most layouts.
                let is_sign = match has_shift {
                    false => self.code == sign,
                    true => self.shifted == Some(sign) || us_shifted(self.code) == Some(sign),
                };
                modifiers & !SHIFT == CONTROL && is_sign
            }
            plain => {
                let sign = u32::from(plain);
                modifiers & !SHIFT == 0
                    && match has_shift {
                        false => self.code == sign,
                        true => self.shifted.unwrap_or(upper(self.code)) == sign,
                    }
            }
        }
    }

    /// Shift, Ctrl or another modifier by itself.
    pub fn is_modifier(&self) -> bool {
        MODIFIER_KEYS.contains(&self.code)
    }
}

fn us_shifted(code: u32) -> Option<u32> {
    match char::from_u32(code)? {
        '-' => Some(u32::from('_')),
        '6' => Some(u32::from('^')),
        sign @ ('_' | '^') => Some(u32::from(sign)),
        _ => None,
    }
}

fn upper(code: u32) -> u32 {
    char::from_u32(code).map_or(code, |sign| u32::from(sign.to_ascii_uppercase()))
}

/// What a whole escape sequence of the input is.
pub fn read(sequence: &[u8]) -> InputSequence {
    match sequence {
        b"\x1b[200~" => InputSequence::PasteBegins,
        b"\x1b[201~" => InputSequence::PasteEnds,
        [0x1b, b'[', b'<' | b'?' | b'>', ..] | [0x1b, b']' | b'P' | b'_' | b'^' | b'X', _, ..] => {
            InputSequence::Report
        }
        [0x1b, b'[', body @ .., b'u'] => {
            kitty(body).map_or(InputSequence::OtherKey, InputSequence::Key)
        }
        [0x1b, b'[', b'2', b'7', b';', body @ .., b'~'] => {
            modify_other_keys(body).map_or(InputSequence::OtherKey, InputSequence::Key)
        }
        // Where the cursor is, what the terminal is, its modes, its size, its focus, its mouse.
        [0x1b, b'[', .., b'R' | b'c' | b'n' | b'y' | b't' | b'I' | b'O' | b'M'] => {
            InputSequence::Report
        }
        _ => InputSequence::OtherKey,
    }
}

/// `code[:shifted[:base]][;modifiers[:motion][;text]]`
fn kitty(body: &[u8]) -> Option<KeyEvent> {
    let text = std::str::from_utf8(body).ok()?;
    let mut fields = text.split(';');
    let mut codes = fields.next()?.split(':');
    let code = codes.next()?.parse().ok()?;
    let shifted = codes.next().and_then(|code| code.parse().ok());
    let mut second = fields.next().unwrap_or_default().split(':');
    let modifiers = modifiers(second.next().unwrap_or_default())?;
    let motion = match second.next() {
        None | Some("" | "1") => Motion::Down,
        Some(_) => Motion::Other,
    };
    Some(KeyEvent { code, shifted, modifiers, motion })
}

/// `modifiers;code`
fn modify_other_keys(body: &[u8]) -> Option<KeyEvent> {
    let (held, code) = std::str::from_utf8(body).ok()?.split_once(';')?;
    let modifiers = modifiers(held)?;
    Some(KeyEvent { code: code.parse().ok()?, shifted: None, modifiers, motion: Motion::Down })
}

/// One more than the sum of the modifiers' bits.
fn modifiers(text: &str) -> Option<u32> {
    if text.is_empty() { Some(0) } else { text.parse::<u32>().ok()?.checked_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(sequence: &str, key: u8) -> bool {
        match read(sequence.as_bytes()) {
            InputSequence::Key(event) => event.is(Key(key)) && event.motion == Motion::Down,
            _ => false,
        }
    }

    #[test]
    fn a_key_is_known_in_every_encoding() {
        for (sequence, key) in [
            ("\x1b[92;5u", 0x1c),
            ("\x1b[92;5:1u", 0x1c),
            ("\x1b[92;69u", 0x1c),
            ("\x1b[92:124;5u", 0x1c),
            ("\x1b[27;5;92~", 0x1c),
            ("\x1b[97;5u", 0x01),
            ("\x1b[45;6u", 0x1f),
            ("\x1b[54:94;6u", 0x1e),
            ("\x1b[27;6;95~", 0x1f),
            ("\x1b[100u", b'd'),
            ("\x1b[100;;100u", b'd'),
            ("\x1b[100;2u", b'D'),
            ("\x1b[100:68;2u", b'D'),
        ] {
            assert!(is(sequence, key), "{sequence:?}");
        }
        for (sequence, key) in [
            ("\x1b[93;5u", 0x1c),
            ("\x1b[92;1u", 0x1c),
            ("\x1b[92;7u", 0x1c),
            ("\x1b[92;5:3u", 0x1c),
            ("\x1b[92;6u", 0x1c),
            ("\x1b[100;5u", b'd'),
            ("\x1b[;;u", b'd'),
            ("\x1b[92;0u", 0x1c),
            ("\x1b[99999999999;5u", 0x1c),
        ] {
            assert!(!is(sequence, key), "{sequence:?}");
        }
    }

    #[test]
    fn what_is_no_key_is_told_apart() {
        for report in [
            "\x1b[5;3R",
            "\x1b[?62;c",
            "\x1b[<0;3;4M",
            "\x1b[I",
            "\x1b]11;rgb:0/0/0\x1b\\",
            "\x1bP1+r\x1b\\",
            "\x1b[8;24;80t",
            "\x1b[?1u",
        ] {
            assert_eq!(read(report.as_bytes()), InputSequence::Report, "{report:?}");
        }
        for key in ["\x1b[A", "\x1bOP", "\x1b[3~", "\x1bx", "\x1b[15;5~"] {
            assert_eq!(read(key.as_bytes()), InputSequence::OtherKey, "{key:?}");
        }
        assert!(matches!(read(b"\x1b[57442;5u"), InputSequence::Key(key) if key.is_modifier()));
    }
}
