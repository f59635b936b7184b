//! Time as the core knows it: wall microseconds since 1970, UTC, handed in by the caller.
//!
//! Never read here; it never decreases (the shell sees to that). A wall clock that was set back is
//! behind it, by `Fleet::behind`: dates of that clock are moved by as much before they are compared.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A wall clock that is ahead of the core's time by more than this has jumped: the machine slept, or the clock
/// was corrected.
pub const JUMPED_AFTER: Duration = Duration::from_secs(5);

/// A wall clock that is behind the core's time by at least this was set back; less is how clocks run.
pub const SET_BACK_FROM: Duration = Duration::from_millis(10);

/// A moment, in microseconds since the Unix epoch.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Time(pub u64);

impl Time {
    /// How long `self` is after `earlier`; zero if it is not after it.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// The moment this long before `self`.
    pub fn before(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, span: Duration) -> Time {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(micros))
    }
}
