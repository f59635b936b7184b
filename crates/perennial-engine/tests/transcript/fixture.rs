//! Samples, and conversations made of single lines.

use std::path::{Path, PathBuf};

use perennial_engine::harness::claude::Claude;
use perennial_engine::harness::conversation::{self, TranscriptFile};
use perennial_engine::harness::{Dialect, Preset};
use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::claude::Reader;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::line_reader::LineReader;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::Step;
use perennial_engine::transcript::tail::Buffer;

/// With a branch, a compaction, subagents, and a torn last line.
pub const MAIN: &str = "11111111-1111-4111-8111-111111111111";
/// A copy of the beginning of `MAIN`, and what came after.
pub const FORK: &str = "22222222-2222-4222-8222-222222222222";
/// Everything that failed.
pub const FAILURES: &str = "33333333-3333-4333-8333-333333333333";

pub const DIALECT: &dyn Dialect = &Claude;

/// A vendor's directory with the samples.
pub fn vendor_home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcript/samples")
}

pub fn sample(conversation: &str) -> PathBuf {
    vendor_home().join(format!("projects/-w/{conversation}.jsonl"))
}

/// All transcripts in a vendor's directory, in the order of their paths: the order of a checkout says
/// nothing of when conversations began.
pub fn files(vendor_home: &Path) -> Vec<TranscriptFile> {
    let nowhere = Path::new("/proc/none");
    let preset = Preset::load(nowhere, DIALECT.name()).expect("the built-in preset");
    let mut files = conversation::all(&preset, vendor_home);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

pub fn conversation(path: PathBuf) -> Conversation {
    Conversation::new(DIALECT, path, Account::new(Prices::built_in()), 0)
}

/// Real transcripts, which are nobody's to publish: in the directory that
/// `PERENNIAL_TRANSCRIPTS` names, and in `data/transcripts` of any directory beside the checkout.
pub fn real_transcripts() -> Vec<PathBuf> {
    let checkout = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = std::fs::read_dir(checkout.join("..")).into_iter().flatten().flatten();
    let named = std::env::var_os("PERENNIAL_TRANSCRIPTS").map(PathBuf::from);
    let mut directories: Vec<PathBuf> =
        beside.map(|entry| entry.path().join("data/transcripts")).chain(named).collect();
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// A whole conversation and all of its steps.
pub fn read(path: PathBuf) -> (Conversation, Vec<Step>) {
    let mut conversation = conversation(path);
    let mut steps = Vec::new();
    conversation
        .update(&mut Buffer::default(), |step| steps.push(step.clone()))
        .expect("the sample can be read");
    (conversation, steps)
}

/// A reader that has read these lines, and their steps.
pub fn read_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> (Reader, Vec<Step>) {
    let (mut reader, mut steps) = (Reader::default(), Vec::new());
    for line in lines {
        reader.read(line.as_bytes(), &mut |step| steps.push(step));
    }
    (reader, steps)
}

/// SplitMix64: the same seed, the same run.
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }
}
