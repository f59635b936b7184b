//! Codex: what its hooks mean, how it is made to call us, and the form of an answer that reaches its
//! model. Measured with 0.166.0 (docs/design/0036-codex.md).
//!
//! Its input is hostile: the agent's own processes can write it. It is cut at `INPUT_BYTES`, what
//! breaks off is read as far as it goes, and fields that nobody knows are passed over.
//!
//! Invariants
//! - CX1  Nothing here trusts a hook in the owner's place: ours are named to the program only where the
//!   owner has trusted exactly these in its own dialog, or wants that dialog, or has turned it off, each by
//!   an argument of their own.

mod consent;
mod hook;
mod wiring;

use std::path::Path;

use perennial_core::conversation::ConversationId;
use perennial_core::launch::Launch;
use perennial_core::time::Time;

use super::dialect::{Call, Dialect, NotUnderstood, Wiring};
use super::prepare::{SessionFiles, Unprepared};
use super::preset::Preset;
use crate::transcript::codex as transcript;
use crate::transcript::line_reader::LineReader;
use crate::transcript::step::Usage;

/// The dialect of Codex.
#[derive(Debug)]
pub struct Codex;

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn preset(&self) -> &'static str {
        include_str!("../presets/codex.toml")
    }

    fn wire(
        &self,
        preset: &Preset,
        launch: &Launch,
        files: &SessionFiles<'_>,
        vendor_home: &Path,
    ) -> Result<Wiring, Unprepared> {
        wiring::wire(preset, launch, files, vendor_home)
    }

    fn hook(&self, event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
        hook::hook(event, input)
    }

    fn reply(&self, event: &str, text: &str) -> Option<Vec<u8>> {
        hook::reply(event, text)
    }

    fn line_reader(&self) -> Box<dyn LineReader> {
        Box::new(transcript::Reader::default())
    }

    fn usages(&self, whole: &[u8], each: &mut dyn FnMut(Usage, Option<Time>)) -> u64 {
        transcript::usages(whole, each)
    }

    fn is_begun(&self, transcript: &[u8]) -> bool {
        transcript::is_begun(transcript)
    }

    fn parent_of(&self, transcript: &Path) -> Option<ConversationId> {
        transcript::parent_of(transcript)
    }
}
