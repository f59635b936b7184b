//! Time as the core knows it: wall microseconds since 1970, UTC, handed in by the caller.
//!
//! Never read here; it never decreases (the shell sees to that). A wall clock that was set back is
//! behind it: what is dated by that clock is compared with `Fleet::clock`, not with the time.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
