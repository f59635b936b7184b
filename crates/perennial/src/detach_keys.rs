//! The keys that leave a terminal which takes every other key: a prefix, and what is pressed after it.
//!
//! Only what they are and how a person writes them; `cli/terminal/keyboard.rs` finds them among what is
//! typed.

use std::fmt;
use std::str::FromStr;

/// A prefix, Ctrl with a key, and the key that detaches after it. The prefix pressed twice detaches, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetachKeys {
    /// As a control character: `0x1c` for Ctrl-\.
    pub prefix: u8,
    pub detach: Key,
}

/// A key as terminals without a newer protocol send it: one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub u8);

impl Default for DetachKeys {
    fn default() -> DetachKeys {
        DetachKeys { prefix: 0x1c, detach: Key(b'd') }
    }
}

impl DetachKeys {
    /// The key that sends the prefix itself to the program after it.
    pub fn literal(self) -> Key {
        if self.detach == Key(b'q') { Key(b'l') } else { Key(b'q') }
    }

    /// How to leave, for people.
    pub fn summary(self) -> String {
        let DetachKeys { prefix, detach } = self;
        format!("{} {detach}", Key(prefix))
    }

    /// What the keys after the prefix do, for people.
    pub fn hint(self) -> String {
        let (prefix, detach, literal) = (Key(self.prefix), self.detach, self.literal());
        format!("{detach} or {prefix}: detach   {literal}: send {prefix} to the program")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            control @ 0..0x20 => write!(f, "Ctrl-{}", char::from(control | 0x40)),
            plain => write!(f, "{}", char::from(plain)),
        }
    }
}

/// Why keys can't be used to detach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKeys {
    #[error("detach keys are Ctrl and a key, and perhaps a second key, such as \"C-a d\"")]
    Form,
    #[error("programs need {0}")]
    Needed(Key),
}

impl FromStr for DetachKeys {
    type Err = BadKeys;

    /// `C-\` or `^\` for a prefix; a second key behind a space, such as `C-a d`.
    fn from_str(text: &str) -> Result<DetachKeys, BadKeys> {
        let mut words = text.split(' ');
        let (first, second) = (words.next().ok_or(BadKeys::Form)?, words.next());
        if words.next().is_some() {
            return Err(BadKeys::Form);
        }
        let prefix = with_control(first)?;
        let detach = match second.map(|word| (word, word.as_bytes())) {
            None => DetachKeys::default().detach,
            Some((_, [key @ b'!'..=b'~'])) => Key(*key),
            Some((word, _)) => Key(with_control(word)?),
        };
        Ok(DetachKeys { prefix, detach })
    }
}

/// `C-x`, `c-x`, `ctrl-x` or `^x`.
fn with_control(word: &str) -> Result<u8, BadKeys> {
    let lower = word.to_ascii_lowercase();
    let key = ["c-", "ctrl-", "^"].iter().find_map(|mark| lower.strip_prefix(mark));
    match key.map(str::as_bytes) {
        Some([key]) => control(*key),
        Some(_) | None => Err(BadKeys::Form),
    }
}

fn control(key: u8) -> Result<u8, BadKeys> {
    match key.to_ascii_uppercase() {
        // Ctrl-C, Ctrl-[ (escape), Ctrl-I (tab), Ctrl-J and Ctrl-M (enter) are needed by everybody.
        key @ (b'C' | b'I' | b'J' | b'M' | b'[') => Err(BadKeys::Needed(Key(key & 0x1f))),
        key @ (b'A'..=b'Z' | b'\\' | b']' | b'^' | b'_') => Ok(key & 0x1f),
        _ => Err(BadKeys::Form),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_in_several_ways() {
        let keys = |prefix, detach| Ok(DetachKeys { prefix, detach: Key(detach) });
        for (text, expected) in [
            (r"C-\", keys(0x1c, b'd')),
            ("^]", keys(0x1d, b'd')),
            ("C-a d", keys(0x01, b'd')),
            ("C-] q", keys(0x1d, b'q')),
            ("ctrl-p ctrl-q", keys(0x10, 0x11)),
            (r"C-\ C-\", keys(0x1c, 0x1c)),
            ("C-c", Err(BadKeys::Needed(Key(3)))),
            ("C-m", Err(BadKeys::Needed(Key(13)))),
            ("C-[", Err(BadKeys::Needed(Key(27)))),
            ("C-a C-c", Err(BadKeys::Needed(Key(3)))),
        ] {
            assert_eq!(text.parse(), expected, "{text:?}");
        }
        for bad in
            ["", "q", "C-a ", "qq", "é", "1", "C-", "C-aa", "C-a d d", "C-1", "C-a dd", "M-x"]
        {
            assert_eq!(bad.parse::<DetachKeys>(), Err(BadKeys::Form), "{bad:?}");
        }
    }

    #[test]
    fn keys_are_named_for_people() {
        let keys = DetachKeys::default();
        assert_eq!(keys.summary(), r"Ctrl-\ d");
        assert_eq!(keys.hint(), r"d or Ctrl-\: detach   q: send Ctrl-\ to the program");
        let keys: DetachKeys = "C-] q".parse().unwrap();
        assert_eq!(keys.hint(), "q or Ctrl-]: detach   l: send Ctrl-] to the program");
        assert_eq!(BadKeys::Needed(Key(3)).to_string(), "programs need Ctrl-C");
    }
}
