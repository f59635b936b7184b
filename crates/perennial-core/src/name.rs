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
    #[error("a name may not begin with agt_ or msg_, the prefixes of ids")]
    LooksLikeAnId,
    #[error("operator and perennial are the names of other senders of mail")]
    Reserved,
}

/// Who else writes mail: no agent may pass for them.
const RESERVED: [&str; 2] = ["operator", "perennial"];

impl Name {
    /// A name for an agent from now on. Agents that were recorded with another one keep it.
    pub fn for_agent(text: &str) -> Result<Name, BadName> {
        let name = Name::for_role(text)?;
        match RESERVED.contains(&name.key().as_str()) {
            true => Err(BadName::Reserved),
            false => Ok(name),
        }
    }

    /// A name for a role that somebody takes from now on: not the id of a message, which would say in our texts that
    /// the message arrived.
    pub fn for_role(text: &str) -> Result<Name, BadName> {
        let name: Name = text.parse()?;
        match name.key().as_str().starts_with("msg_") {
            true => Err(BadName::LooksLikeAnId),
            false => Ok(name),
        }
    }

    /// The first free name of `stem`, `stem-2`, `stem-3` …; the stem must be a name.
    pub fn first_free(stem: &str, is_free: impl Fn(&Name) -> bool) -> Name {
        // Room for the number: a name has an end.
        let short = &stem[..stem.len().min(40)];
        std::iter::once(stem.to_owned())
            .chain((2..).map(|k: usize| format!("{short}-{k}")))
            .filter_map(|text| Name::for_agent(&text).ok())
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
        if Name::for_agent(stem).is_ok() { stem.to_owned() } else { "agent".to_owned() }
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
            ("msg_x", "agent"),
            ("/usr/bin/Operator", "agent"),
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
    fn no_new_agent_has_the_name_of_another_sender() {
        for reserved in ["operator", "Operator", "PERENNIAL"] {
            assert_eq!(Name::for_agent(reserved), Err(BadName::Reserved), "{reserved}");
            // An agent that has it already can still be read.
            assert!(reserved.parse::<Name>().is_ok(), "{reserved}");
        }
        assert_eq!(Name::first_free("operator", |_| true).as_str(), "operator-2");
        assert!(Name::for_agent("operator-2").is_ok());
        assert_eq!(Name::for_agent("a b"), Err(BadName::Character));
    }

    #[test]
    fn no_new_agent_or_role_has_the_id_of_a_message() {
        let id = crate::id::MessageId(7).to_string();
        for text in [id.as_str(), "MSG_x"] {
            assert_eq!(Name::for_agent(text), Err(BadName::LooksLikeAnId), "{text}");
            assert_eq!(Name::for_role(text), Err(BadName::LooksLikeAnId), "{text}");
            // What was recorded with it can still be read.
            assert!(text.parse::<Name>().is_ok(), "{text}");
        }
        assert!(Name::for_role("operator").is_ok());
    }

    #[test]
    fn a_long_name_that_is_taken_has_room_for_a_number() {
        let long = "n".repeat(64);
        let free = Name::first_free(&long, |name| name.as_str() != long);
        assert_eq!(free.as_str(), format!("{}-2", "n".repeat(40)));
        assert_eq!(Name::first_free("bob", |_| true).as_str(), "bob");
    }
}
