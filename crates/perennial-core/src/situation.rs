//! Situations: the projects or matters that an agent works on. The first is its primary one.
//!
//! A situation is a word, not an entity: it exists as long as somebody names it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An agent has at most this many.
pub const SITUATIONS_MAX: usize = 8;
pub const SITUATION_BYTES_MAX: usize = 64;

/// The text is no situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 64 letters, digits and the characters - _ . : / #")]
pub struct NotASituation;

/// A word such as `PRD-AUTH-001` or `haak/site#12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Situation(String);

impl Situation {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a person who writes this word means it.
    pub fn is(&self, word: &str) -> bool {
        self.0.eq_ignore_ascii_case(word)
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Situation {
    type Err = NotASituation;

    fn from_str(text: &str) -> Result<Situation, NotASituation> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/#".contains(&byte);
        let is_word = (1..=SITUATION_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_fine);
        // A word that begins with a dash would be an option wherever it is written.
        match is_word && !text.starts_with('-') {
            true => Ok(Situation(text.to_owned())),
            false => Err(NotASituation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_situations_and_nothing_else_is() {
        for good in ["a", "PRD-AUTH-001", "haak/site#12", &"x".repeat(64)] {
            assert_eq!(good.parse::<Situation>().map(|it| it.to_string()).as_deref(), Ok(good));
        }
        for bad in ["", "two words", "-x", "é", "a\nb", &"x".repeat(65)] {
            assert_eq!(bad.parse::<Situation>(), Err(NotASituation), "{bad:?}");
        }
    }

    #[test]
    fn a_situation_is_meant_in_any_case() {
        let situation: Situation = "PRD-Auth".parse().expect("a situation");
        assert!(situation.is("prd-auth") && !situation.is("prd"));
    }
}
