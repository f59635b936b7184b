//! What a program announces about itself by sequences for its terminal (OSC): which texts count, and
//! what they mean.
//!
//! Types only; the shim's `announcements` looks for them. Like all of the wire they only grow.

use serde::{Deserialize, Serialize};

/// One announcement. The first rule that fits holds; a text that fits none says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncementRule {
    /// The numbers of the sequence: 0 and 2 set the window's title.
    pub osc: Vec<u16>,
    /// The text behind the number, each where it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
    pub means: Announced,
}

/// What a program says that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Announced {
    Busy,
    Idle,
    /// A dialog asks for permission.
    Permission,
    /// A dialog asks something else.
    Question,
    /// A turn has failed; how, the transcript says.
    Failed,
    /// From a newer side.
    #[serde(other)]
    Unknown,
}

impl AnnouncementRule {
    pub fn fits(&self, osc: u16, text: &str) -> bool {
        let AnnouncementRule { osc: numbers, is, begins, contains, ends, means: _ } = self;
        numbers.contains(&osc)
            && is.as_ref().is_none_or(|is| text == is)
            && begins.as_ref().is_none_or(|begins| text.starts_with(begins))
            && contains.as_ref().is_none_or(|part| text.contains(part))
            && ends.as_ref().is_none_or(|ends| text.ends_with(ends))
    }
}

impl Announced {
    /// Keys would answer what is asked.
    pub fn asks(self) -> bool {
        match self {
            Announced::Permission | Announced::Question => true,
            Announced::Busy | Announced::Idle | Announced::Failed | Announced::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_that_is_given_has_to_hold() {
        let rule = AnnouncementRule {
            osc: vec![0, 2],
            is: None,
            begins: Some("a".to_owned()),
            contains: Some("b".to_owned()),
            ends: Some("c".to_owned()),
            means: Announced::Idle,
        };
        assert!(rule.fits(0, "a b c") && rule.fits(2, "abc"));
        for (osc, text) in [(1, "abc"), (0, "bc"), (0, "ac"), (0, "ab"), (0, "")] {
            assert!(!rule.fits(osc, text), "{osc} {text}");
        }
        let exact =
            AnnouncementRule { is: Some("a".to_owned()), contains: None, ends: None, ..rule };
        assert!(exact.fits(2, "a") && !exact.fits(2, "ab"));
    }
}
