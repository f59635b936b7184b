//! Claude Code: what its hooks, its status line and its list of live sessions mean, how it is made to
//! call us, and the form of an answer that reaches its model. Measured with 2.1.325.
//!
//! Its input is hostile: the agent's own processes can write it. It is cut at `INPUT_BYTES`, what
//! breaks off is read as far as it goes, and fields that nobody knows are passed over.

mod hook;
mod session_list;
mod settings;
mod status_line;

use std::path::{Path, PathBuf};

use perennial_core::fact::Fact;
use perennial_core::launch::Launch;
use perennial_core::time::Time;

use super::dialect::{Call, Dialect, Listing, NotUnderstood, Wiring};
use super::prepare::{SessionFiles, Unprepared};
use super::preset::{ContextRules, Preset};
use crate::transcript::claude as transcript;
use crate::transcript::line_reader::LineReader;
use crate::transcript::step::Usage;

/// The dialect of Claude Code.
#[derive(Debug)]
pub struct Claude;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn preset(&self) -> &'static str {
        include_str!("../presets/claude.toml")
    }

    fn wire(
        &self,
        preset: &Preset,
        launch: &Launch,
        files: &SessionFiles<'_>,
        vendor_home: &Path,
    ) -> Result<Wiring, Unprepared> {
        settings::write_files(preset, launch, files, vendor_home)
    }

    fn hook(&self, event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
        hook::hook(event, input)
    }

    fn reply(&self, event: &str, text: &str) -> Option<Vec<u8>> {
        hook::reply(event, text)
    }

    fn status_line(
        &self,
        input: &[u8],
        context: &ContextRules,
        compaction_window: Option<u64>,
    ) -> Result<Fact, NotUnderstood> {
        status_line::status_line(input, context, compaction_window)
    }

    fn listing(&self, input: &[u8]) -> Option<Listing> {
        session_list::listing(input)
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

    fn model_name<'a>(&self, model: &'a str) -> &'a str {
        transcript::model_name(model)
    }

    fn subagents(&self, transcript: &Path) -> Vec<PathBuf> {
        transcript::subagents(transcript)
    }

    fn subagent_directories(&self, transcript: &Path) -> Vec<PathBuf> {
        transcript::subagent_directories(transcript)
    }
}
