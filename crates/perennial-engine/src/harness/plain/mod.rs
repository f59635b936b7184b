//! A dialect of no vendor: a program that calls `perennial hook` in our own words and writes its
//! conversations in our own form needs a preset and no code (docs/adding-a-vendor.md).
//!
//! Its input is hostile: the agent's own processes can write it. It is cut at `INPUT_BYTES`, and fields
//! that nobody knows are passed over.

mod hook;

use std::collections::BTreeMap;
use std::path::Path;

use perennial_core::launch::Launch;
use perennial_core::time::Time;

use super::dialect::{Call, Dialect, NotUnderstood, Wiring};
use super::prepare::{SessionFiles, Unprepared};
use super::preset::Preset;
use crate::transcript::line_reader::LineReader;
use crate::transcript::plain as transcript;
use crate::transcript::step::Usage;

/// Names this program to a session, which calls it as `"$PERENNIAL_PROGRAM" hook EVENT`.
const PROGRAM_VARIABLE: &str = "PERENNIAL_PROGRAM";

/// The dialect of programs that speak our own words.
#[derive(Debug)]
pub struct Plain;

impl Dialect for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    /// No harness has this name: the preset is what one of somebody's own begins with.
    fn preset(&self) -> &'static str {
        include_str!("../presets/plain.toml")
    }

    fn wire(
        &self,
        _preset: &Preset,
        _launch: &Launch,
        files: &SessionFiles<'_>,
        _vendor_home: &Path,
    ) -> Result<Wiring, Unprepared> {
        let exe = files.exe.to_str().ok_or_else(|| Unprepared::NotText(files.exe.to_owned()))?;
        let environment = BTreeMap::from([(PROGRAM_VARIABLE.to_owned(), exe.to_owned())]);
        Ok(Wiring { environment, ..Wiring::default() })
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
}
