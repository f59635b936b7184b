//! Gemini CLI: what its hooks mean, how it is made to call us, and the form of an answer that reaches its
//! model. Measured with 0.61.0 (docs/design/0037-gemini.md).
//!
//! Its input is hostile: the agent's own processes can write it. It is cut at `INPUT_BYTES`, what
//! breaks off is read as far as it goes, and fields that nobody knows are passed over.

mod home_view;
mod hook;
mod settings;

use std::path::Path;

use perennial_core::conversation::ConversationId;
use perennial_core::launch::Launch;
use perennial_core::time::Time;

use super::dialect::{Call, Dialect, NotUnderstood, Wiring};
use super::prepare::{SessionFiles, Unprepared};
use super::preset::Preset;
use crate::transcript::gemini as transcript;
use crate::transcript::line_reader::LineReader;
use crate::transcript::step::Usage;

/// The dialect of Gemini CLI.
#[derive(Debug)]
pub struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn preset(&self) -> &'static str {
        include_str!("../presets/gemini.toml")
    }

    fn wire(
        &self,
        preset: &Preset,
        _launch: &Launch,
        files: &SessionFiles<'_>,
        vendor_home: &Path,
    ) -> Result<Wiring, Unprepared> {
        settings::write_files(preset, files, vendor_home)
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

    fn has_cut_off_starts(&self) -> bool {
        true
    }

    fn cut_off_at(&self, transcript: &[u8]) -> Option<usize> {
        transcript::cut_off_at(transcript)
    }

    fn conversation_of(&self, transcript: &Path) -> Option<ConversationId> {
        transcript::conversation_of(transcript)
    }
}
