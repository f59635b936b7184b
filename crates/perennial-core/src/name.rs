//! Agents' names: ASCII letters, digits, `-`, `_`, 1 to 64 long; compared ignoring case.
//!
//! A name is never a path, a flag or an id by construction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub const LONGEST: usize = 64;

/// A valid name, as its owner wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name(String);

/// What is wrong with a would-be name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("a name needs at least one character")]
    Empty,
    #[error("a name may have at most 64 characters")]
    TooLong,
    #[error("a name may contain only ASCII letters, digits, - and _")]
    Character,
    #[error("a name may not begin with -")]
    LeadingDash,
    #[error("a name may not begin with agt_, the prefix of ids")]
    LooksLikeAnId,
}

impl Name {
    /// The first free name of `stem`, `stem-2`, `stem-3` …; the stem must be a name.
    pub fn first_free(stem: &str, is_free: impl Fn(&Name) -> bool) -> Name {
        // Room for the number: a name has an end.
        let short = &stem[..stem.len().min(40)];
        std::iter::once(stem.to_owned())
            .chain((2..).map(|k: usize| format!("{short}-{k}")))
            .filter_map(|text| text.parse::<Name>().ok())
            .find(is_free)
            .expect("names do not run out before agents do")
    }

    /// A program's own name, as far as a name may have its letters; without any, `agent`.
    pub fn stem_of(program: &str) -> String {
        let last = program.rsplit('/').next().unwrap_or(program);
        let letter = |c: char| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() || c == '_' => c,
            _ => '-',
        };
        let stem: String = last.chars().map(letter).take(40).collect();
        let stem = stem.trim_matches('-');
        if stem.parse::<Name>().is_ok() { stem.to_owned() } else { "agent".to_owned() }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What two names are compared by.
    pub fn key(&self) -> NameKey {
        NameKey(self.0.to_ascii_lowercase())
    }
}

/// What two names are compared by: the name in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NameKey(String);

impl NameKey {
    /// The key of what may be a name; an invalid name has a key that no agent has.
    pub fn of(text: &str) -> NameKey {
        NameKey(text.to_ascii_lowercase())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NameKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Name, BadName> {
        if text.is_empty() {
            return Err(BadName::Empty);
        }
        if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err(BadName::Character);
        }
        if text.len() > LONGEST {
            return Err(BadName::TooLong);
        }
        if text.starts_with('-') {
            return Err(BadName::LeadingDash);
        }
        if text.to_ascii_lowercase().starts_with("agt_") {
            return Err(BadName::LooksLikeAnId);
        }
        Ok(Name(text.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_programs() {
        for (program, name) in [
            ("/usr/bin/bash", "bash"),
            ("./My Tool.sh", "my-tool-sh"),
            ("日本", "agent"),
            ("", "agent"),
            ("--", "agent"),
            ("agt_x", "agent"),
        ] {
            assert_eq!(Name::stem_of(program), name, "{program:?}");
        }
        assert!(Name::stem_of(&"x".repeat(100)).len() <= 40);
    }

    #[test]
    fn names() {
        for good in ["a", "Worker-1", "x_y", "0", &"n".repeat(64)] {
            assert_eq!(good.parse::<Name>().map(|n| n.to_string()), Ok(good.to_owned()));
        }
        for (bad, why) in [
            ("", BadName::Empty),
            ("a b", BadName::Character),
            ("../x", BadName::Character),
            ("é", BadName::Character),
            ("a\n", BadName::Character),
            ("-rf", BadName::LeadingDash),
            ("AGT_x", BadName::LooksLikeAnId),
            (&"n".repeat(65), BadName::TooLong),
        ] {
            assert_eq!(bad.parse::<Name>(), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn a_long_name_that_is_taken_has_room_for_a_number() {
        let long = "n".repeat(64);
        let free = Name::first_free(&long, |name| name.as_str() != long);
        assert_eq!(free.as_str(), format!("{}-2", "n".repeat(40)));
        assert_eq!(Name::first_free("bob", |_| true).as_str(), "bob");
    }
}
