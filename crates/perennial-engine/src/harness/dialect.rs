//! The port to agent CLIs: one vendor's words into facts, and our replies into the vendor's words.
//!
//! One implementation for each vendor, in `harness/<vendor>`, chosen by the key `dialect` of a preset
//! and listed in `vendors`. What can be said in data is not here but in the preset: argv, paths,
//! environment, keys of the input line, which texts are no prompts.
//!
//! Invariants
//! - DI1  An implementation holds no state and decides nothing: what follows from a fact is for the
//!   core to say.
//! - DI2  Its input is hostile. No input makes it panic or keep more than a few times the input's
//!   length.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use perennial_core::conversation::ConversationId;
use perennial_core::fact::Fact;
use perennial_core::launch::Launch;
use perennial_core::session::Process;
use perennial_core::time::Time;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::prepare::{SessionFiles, Unprepared};
use super::preset::{ContextRules, Preset};
use super::template::Values;
use super::vendors::{DIALECTS, PLAIN};
use crate::transcript::line_reader::LineReader;
use crate::transcript::step::Usage;

/// The words of one vendor's agent CLI.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// What presets call it.
    fn name(&self) -> &'static str;

    /// The preset that it was measured with, as TOML. It is built in under the dialect's name.
    fn preset(&self) -> &'static str;

    /// Makes a session call us: writes its own settings files, and says what the placeholders of its
    /// argv stand for (`{settings}`, `{mcp}`).
    fn wire(
        &self,
        preset: &Preset,
        launch: &Launch,
        files: &SessionFiles<'_>,
        vendor_home: &Path,
    ) -> Result<Wiring, Unprepared>;

    /// What one call of a hook says. `event` is the preset's name of it. A vendor that chooses the
    /// ids of its conversations itself names them here: the fact carries the id.
    fn hook(&self, event: &str, input: &[u8]) -> Result<Call, NotUnderstood>;

    /// What a hook prints so that this text reaches the model; `None` if no answer to it does.
    fn reply(&self, event: &str, text: &str) -> Option<Vec<u8>>;

    /// What the input of a status line says. `compaction_window` is where the agent's owner has the
    /// context compacted, if they moved that point.
    fn status_line(
        &self,
        _input: &[u8],
        _context: &ContextRules,
        _compaction_window: Option<u64>,
    ) -> Result<Fact, NotUnderstood> {
        Err(NotUnderstood::NoStatusLine)
    }

    /// What one file of the vendor's list of live sessions says; `None` if it says nothing yet.
    fn listing(&self, _input: &[u8]) -> Option<Listing> {
        None
    }

    /// Reads the lines of one transcript, from its beginning.
    fn line_reader(&self) -> Box<dyn LineReader>;

    /// Hands out the usages in whole lines, without reading the rest of them; returns how many lines
    /// were damaged.
    fn usages(&self, whole: &[u8], each: &mut dyn FnMut(Usage, Option<Time>)) -> u64;

    /// Whether a transcript holds something that was said. In doubt it does.
    fn is_begun(&self, transcript: &[u8]) -> bool;

    /// Whether a start that is cut off may leave the vendor without the conversation.
    fn has_cut_off_starts(&self) -> bool {
        false
    }

    /// How much of a transcript holds its conversation, where a start that was cut off behind that leaves
    /// the vendor with none.
    fn cut_off_at(&self, _transcript: &[u8]) -> Option<usize> {
        None
    }

    /// Whose transcript a file is, where its name holds only part of the conversation's id.
    fn conversation_of(&self, _transcript: &Path) -> Option<ConversationId> {
        None
    }

    /// The conversation that this transcript continues and refers to, without having its lines.
    fn parent_of(&self, _transcript: &Path) -> Option<ConversationId> {
        None
    }

    /// What the price table calls one of the vendor's models: its name without what clouds, dates and
    /// versions add to it. Other names come back as they are, or as none of the table.
    fn model_name<'a>(&self, model: &'a str) -> &'a str {
        model
    }

    /// The transcripts of a conversation's subagents, where they have their own.
    fn subagents(&self, _transcript: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The directories that such transcripts are, or will be, written to.
    fn subagent_directories(&self, _transcript: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// How a session is wired to us.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wiring {
    /// What placeholders of its argv stand for.
    pub values: Values,
    /// Variables of this session, besides those of its preset.
    pub environment: BTreeMap<String, String>,
    /// The owner's own settings choose a permission mode.
    pub owner_has_mode: bool,
}

/// What a call of a hook said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Nothing where the event says nothing of the session.
    pub fact: Option<Fact>,
    /// The input broke off or was not well formed: there may have been more.
    pub is_partial: bool,
}

/// One session in the vendor's list of live sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub process: Process,
    /// The one that it has open.
    pub conversation: Option<ConversationId>,
    /// Nothing where the vendor does not say yet what the session does.
    pub fact: Option<Fact>,
}

/// An input that is not what the vendor writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotUnderstood {
    #[error("not a JSON object")]
    NotAnObject,
    #[error("it names no conversation")]
    NoConversation,
    #[error("this agent CLI has no status line")]
    NoStatusLine,
}

/// Of one input no more than this is read.
pub const INPUT_BYTES: usize = 1 << 20;

/// As much of an input as is read.
pub fn bounded(input: &[u8]) -> &[u8] {
    &input[..input.len().min(INPUT_BYTES)]
}

/// Two dialects of one name are one.
impl PartialEq for dyn Dialect {
    fn eq(&self, other: &dyn Dialect) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Dialect {}

/// The dialect that a preset names.
pub(super) fn by_name<'de, D>(deserializer: D) -> Result<&'static dyn Dialect, D::Error>
where
    D: Deserializer<'de>,
{
    let name = String::deserialize(deserializer)?;
    let mut all = DIALECTS.into_iter().chain([PLAIN]);
    all.find(|dialect| dialect.name() == name).ok_or_else(|| {
        let known = DIALECTS.into_iter().chain([PLAIN]).map(Dialect::name);
        let known = known.collect::<Vec<_>>().join(", ");
        Error::custom(format!("no dialect `{name}`; there is {known}"))
    })
}
