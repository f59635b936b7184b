//! The clock: how much of a session's context window is used, and which thresholds have passed.
//!
//! Invariants
//! - C1  Each threshold passes once per window, in order, also when a sample jumps over one.
//! - C2  A compaction, a clear or a new conversation begins a new window; so does each session of an agent that is not
//!   known to have a conversation, such as a bare command.
//! - C3  No share is above 100 %, and no window holds more than `WINDOW_MAX`, whatever is said of it.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A share of the usable window, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Threshold {
    Half,
    ThreeQuarters,
    NineTenths,
}

impl Threshold {
    pub const ALL: [Threshold; 3] =
        [Threshold::Half, Threshold::ThreeQuarters, Threshold::NineTenths];

    pub fn percent(self) -> u64 {
        match self {
            Threshold::Half => 50,
            Threshold::ThreeQuarters => 75,
            Threshold::NineTenths => 90,
        }
    }
}

/// More tokens than any window holds: figures above this are wrong.
pub const WINDOW_MAX: u64 = 100_000_000;

/// What was measured of a session's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    pub tokens: u64,
    /// The model's whole window.
    pub window: u64,
    /// Where the harness compacts by itself, if that comes earlier.
    pub usable: u64,
    pub source: Source,
}

/// Where a sample comes from, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Source {
    StatusLine,
    Transcript,
    /// Tokens from the transcript, the window from the table of models.
    Table,
    /// The agent's own word.
    Reported,
    /// From the length of what was said, and the tools that were called.
    Estimated,
}

impl Source {
    pub fn word(self) -> &'static str {
        match self {
            Source::StatusLine => "status-line",
            Source::Transcript => "transcript",
            Source::Table => "model-table",
            Source::Reported => "self-reported",
            Source::Estimated => "estimated",
        }
    }
}

impl Sample {
    /// C3: the same figures, within what can be: a window holds no more than its size.
    #[must_use]
    pub fn bounded(self) -> Sample {
        let window = self.window.min(WINDOW_MAX);
        let (tokens, usable) = (self.tokens.min(window), self.usable.min(window));
        Sample { tokens, window, usable, ..self }
    }

    /// Percent of the whole window, as harnesses show it.
    pub fn percent(&self) -> u64 {
        share(self.tokens, self.window)
    }

    /// Percent of the usable window, which the thresholds are about.
    pub fn usable_percent(&self) -> u64 {
        share(self.tokens, self.usable)
    }
}

/// Rounded as the vendor's own figure is.
fn share(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    let (part, whole) = (u128::from(part.min(whole)), u128::from(whole));
    u64::try_from((part * 200 + whole) / (whole * 2)).unwrap_or(100)
}

/// Roughly how many tokens a text of this many bytes takes up, where nobody counts them.
pub fn estimated_tokens(bytes: u64) -> u64 {
    bytes / 4
}

/// Roughly how many tokens a tool call takes up besides its words.
pub const CALL_TOKENS: u64 = 100;

/// The context clock of an agent's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
    /// When this window began.
    pub since: Option<Time>,
    /// The highest threshold that has passed.
    pub passed: Option<Threshold>,
    /// The highest threshold that the session was told about.
    pub told: Option<Threshold>,
    /// The share has been reached at which its agent is handed off, or the operator told.
    pub is_up: bool,
}

impl Clock {
    /// Of a window that begins then.
    pub fn begin(at: Time) -> Clock {
        Clock { since: Some(at), ..Clock::default() }
    }

    /// The thresholds that this sample passes, in order.
    pub fn passes(&self, sample: &Sample) -> Vec<Threshold> {
        let percent = sample.usable_percent();
        let reached = |threshold: &Threshold| percent >= threshold.percent();
        let fresh = |threshold: &Threshold| self.passed.is_none_or(|passed| *threshold > passed);
        Threshold::ALL.into_iter().filter(reached).filter(fresh).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(tokens: u64) -> Sample {
        Sample { tokens, window: 1000, usable: 1000, source: Source::StatusLine }
    }

    fn fold(percents: &[u64]) -> Vec<u64> {
        let mut clock = Clock::default();
        let mut fired = Vec::new();
        for percent in percents {
            for threshold in clock.passes(&sample(percent * 10)) {
                clock.passed = Some(threshold);
                fired.push(threshold.percent());
            }
        }
        fired
    }

    #[test]
    fn each_threshold_passes_once_in_order_also_by_a_jump() {
        assert_eq!(fold(&[10, 40, 95, 96, 20, 99]), [50, 75, 90]);
        assert_eq!(fold(&[50, 60, 74, 75, 10, 80, 90]), [50, 75, 90]);
        assert_eq!(fold(&[49]), []);
    }

    /// C3
    #[test]
    fn figures_that_cannot_be_are_bounded() {
        let said = Sample { tokens: u64::MAX, window: u64::MAX, usable: 1, ..sample(0) };
        let bounded = said.bounded();
        assert_eq!((bounded.tokens, bounded.window, bounded.usable), (WINDOW_MAX, WINDOW_MAX, 1));
        assert_eq!((bounded.percent(), bounded.usable_percent()), (100, 100));
        assert_eq!(sample(500).bounded(), sample(500));
    }

    #[test]
    fn the_usable_window_counts_and_the_whole_one_is_shown() {
        let early = Sample {
            tokens: 167_000,
            window: 200_000,
            usable: 167_000,
            source: Source::Transcript,
        };
        assert_eq!((early.percent(), early.usable_percent()), (84, 100));
        let odd = Sample { window: 0, usable: 0, ..early };
        assert_eq!((odd.percent(), odd.usable_percent()), (0, 0));
        let huge = Sample { tokens: u64::MAX, window: 1, usable: 1, ..early };
        assert_eq!((huge.percent(), huge.bounded().tokens), (100, 1));
    }
}
