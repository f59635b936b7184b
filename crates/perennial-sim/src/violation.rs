//! What exploration brings home: a property that did not hold, with the story that led there.

use std::fmt;

/// A property that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub property: &'static str,
    pub what: String,
}

/// A broken property with its seed and the last of what happened before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub seed: u64,
    pub property: &'static str,
    pub what: String,
    pub trace: Vec<String>,
}

/// At most this many lines of the story are shown.
const SHOWN_LINES: usize = 60;

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.property)?;
        writeln!(f, "  {}", self.what)?;
        let hidden = self.trace.len().saturating_sub(SHOWN_LINES);
        writeln!(f, "the last of {} lines:", self.trace.len())?;
        for line in &self.trace[hidden..] {
            writeln!(f, "  {line}")?;
        }
        write!(f, "again: cargo xtask explore --seeds 1 --from {}", self.seed)
    }
}

impl std::error::Error for Violation {}
