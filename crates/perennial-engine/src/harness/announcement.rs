//! What a preset says of a program's announcements: which sequences for its terminal (OSC) mean what.
//!
//! Data only: the shim goes by `rule`.

use serde::Deserialize;

use crate::host::announcement::{Announced, AnnouncementRule};

/// One announcement. The first one that fits holds; a text that fits none says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announcement {
    /// The numbers of the sequence: 0 and 2 set the window's title.
    pub osc: Vec<u16>,
    /// What the text behind the number is, begins with, contains, ends with; all that is given holds.
    pub is: Option<String>,
    pub begins: Option<String>,
    pub contains: Option<String>,
    pub ends: Option<String>,
    pub means: Meaning,
    /// It says nothing before the session has begun: the program announces it in its first dialogs, too.
    #[serde(default)]
    pub once_begun: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// It is in a turn.
    Busy,
    /// It waits for input.
    Idle,
    /// A dialog asks for permission.
    Permission,
    /// A dialog asks something else.
    Question,
    /// A turn has failed; how, the transcript says.
    Failed,
}

impl Announcement {
    /// What the shim goes by.
    pub fn rule(&self) -> AnnouncementRule {
        let Announcement { osc, is, begins, contains, ends, means, once_begun: _ } = self.clone();
        let means = match means {
            Meaning::Busy => Announced::Busy,
            Meaning::Idle => Announced::Idle,
            Meaning::Permission => Announced::Permission,
            Meaning::Question => Announced::Question,
            Meaning::Failed => Announced::Failed,
        };
        AnnouncementRule { osc, is, begins, contains, ends, means }
    }
}
