//! Ctrl and a key, pressed twice: how a person leaves a terminal that takes every other key.
//!
//! A single press is held for a moment and then typed like any other key, so that nothing is lost.

use std::time::Duration;

/// Two presses within this are a detachment.
pub const WITHIN: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct DetachKey {
    /// As a control character: `0x1c` for Ctrl-\.
    key: u8,
    /// The first press, as it came.
    held: Vec<u8>,
}

/// What to do with what was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Send(Vec<u8>),
    /// After what was typed before it.
    Detach(Vec<u8>),
}

impl DetachKey {
    pub fn new(key: u8) -> DetachKey {
        DetachKey { key, held: Vec::new() }
    }

    pub fn is_waiting(&self) -> bool {
        !self.held.is_empty()
    }

    /// The moment has passed: the single press was meant for the program.
    pub fn give_up(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Typed {
        let mut send = Vec::new();
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            match self.press(rest) {
                Some((length, Press::Down)) if self.is_waiting() => {
                    debug_assert!(length > 0);
                    return Typed::Detach(send);
                }
                Some((length, Press::Down)) => {
                    self.held = rest[..length].to_vec();
                    rest = &rest[length..];
                }
                Some((length, Press::Up)) => {
                    // The release of a key that is held back goes with it.
                    let into = if self.is_waiting() { &mut self.held } else { &mut send };
                    into.extend_from_slice(&rest[..length]);
                    rest = &rest[length..];
                }
                None => {
                    send.append(&mut self.held);
                    send.push(*first);
                    rest = after;
                }
            }
        }
        Typed::Send(send)
    }

    /// Whether the key is at the start of `bytes`: plain, or as the newer keyboard protocol has it.
    fn press(&self, bytes: &[u8]) -> Option<(usize, Press)> {
        if bytes.first() == Some(&self.key) {
            return Some((1, Press::Down));
        }
        let letter = u32::from((self.key | 0x40).to_ascii_lowercase());
        let report = format!("\x1b[{letter};5");
        let rest = bytes.strip_prefix(report.as_bytes())?;
        let (tail, press): (&[u8], Press) = [
            (&b"u"[..], Press::Down),
            (b":1u", Press::Down),
            (b":2u", Press::Up),
            (b":3u", Press::Up),
        ]
        .into_iter()
        .find(|(tail, _)| rest.starts_with(tail))?;
        Some((report.len() + tail.len(), press))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Press {
    Down,
    /// Let go, or repeated by holding it.
    Up,
}

/// A key as written by a person: one character, pressed with Ctrl.
pub fn parse(text: &str) -> Result<u8, String> {
    let key = match text.as_bytes() {
        [b'^', key] | [key] => key.to_ascii_uppercase(),
        _ => 0,
    };
    match key {
        // Ctrl-C, Ctrl-[ (escape), Ctrl-I (tab), Ctrl-J and Ctrl-M (enter) are needed by everybody.
        b'C' | b'I' | b'J' | b'M' | b'[' => Err(format!("programs need Ctrl-{}", char::from(key))),
        b'A'..=b'Z' | b'\\' | b']' | b'^' | b'_' => Ok(key & 0x1f),
        _ => Err("use one letter, or one of \\ ] ^ _".to_owned()),
    }
}

/// The key for people.
pub fn name(key: u8) -> String {
    format!("Ctrl-{}", char::from(key | 0x40))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> DetachKey {
        DetachKey::new(parse("\\").unwrap())
    }

    #[test]
    fn twice_detaches_and_once_is_typed() {
        assert_eq!(key().feed(b"a\x1c\x1cb"), Typed::Detach(b"a".to_vec()));
        let mut split = key();
        assert_eq!(split.feed(b"a\x1c"), Typed::Send(b"a".to_vec()));
        assert!(split.is_waiting());
        assert_eq!(split.feed(b"\x1c"), Typed::Detach(Vec::new()));
        let mut other = key();
        assert_eq!(other.feed(b"\x1cx\x1c"), Typed::Send(b"\x1cx".to_vec()));
        assert_eq!(other.give_up(), b"\x1c");
        assert!(!other.is_waiting());
    }

    #[test]
    fn the_newer_keyboard_protocol_is_understood() {
        assert_eq!(key().feed(b"\x1b[92;5u\x1b[92;5u"), Typed::Detach(Vec::new()));
        let released = key().feed(b"\x1b[92;5:1u\x1b[92;5:3u\x1b[92;5:1u");
        assert_eq!(released, Typed::Detach(Vec::new()));
        assert_eq!(key().feed(b"\x1b[93;5u"), Typed::Send(b"\x1b[93;5u".to_vec()));
    }

    #[test]
    fn keys_are_named_and_parsed() {
        assert_eq!((parse("\\"), parse("^]"), parse("q")), (Ok(0x1c), Ok(0x1d), Ok(0x11)));
        assert_eq!(name(0x1c), "Ctrl-\\");
        for bad in ["", "c", "m", "[", "qq", "é", "1"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
