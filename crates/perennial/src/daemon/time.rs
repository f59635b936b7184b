//! The daemon's clock: the one place that reads time.
//!
//! Core time is wall time that never decreases. Between readings it follows the monotonic clock. If
//! the wall clock is ahead of that (after a suspend or a correction), core time jumps, and the jump is
//! reported. If the wall clock was set back, the distance is reported.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use perennial_core::time::{JUMPED_AFTER, SET_BACK_FROM, Time};
pub use perennial_engine::timestamp::rfc3339;

#[derive(Debug)]
pub struct CoreClock {
    anchor: Time,
    anchored: Instant,
}

/// A moment, and by how much the clock jumped just before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub now: Time,
    pub jump: Option<Duration>,
    /// How far the wall clock is behind: it was set back.
    pub behind: Duration,
}

impl CoreClock {
    /// A clock that is never behind `floor`, the newest moment in the journal.
    pub fn start(floor: Time) -> CoreClock {
        CoreClock { anchor: wall().max(floor), anchored: Instant::now() }
    }

    pub fn read(&mut self) -> Reading {
        self.reading(self.anchored.elapsed(), wall())
    }

    fn reading(&mut self, elapsed: Duration, wall: Time) -> Reading {
        let steady = self.anchor + elapsed;
        let ahead = wall.since(steady);
        if ahead <= JUMPED_AFTER {
            let behind = Some(steady.since(wall)).filter(|behind| *behind >= SET_BACK_FROM);
            return Reading { now: steady, jump: None, behind: behind.unwrap_or_default() };
        }
        self.anchor = wall;
        self.anchored += elapsed;
        Reading { now: wall, jump: Some(ahead), behind: Duration::ZERO }
    }
}

pub fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Time = Time(1_700_000_000_000_000);
    const HOUR: Duration = Duration::from_secs(3600);

    fn clock() -> CoreClock {
        CoreClock { anchor: NOON, anchored: Instant::now() }
    }

    #[test]
    fn a_wall_clock_that_goes_back_is_not_followed_and_told() {
        let reading = clock().reading(HOUR, NOON);
        assert_eq!(reading, Reading { now: NOON + HOUR, jump: None, behind: HOUR });
    }

    #[test]
    fn a_wall_clock_that_jumps_ahead_is_followed_once_and_told() {
        let mut clock = clock();
        let later = NOON + HOUR * 8;
        let first = clock.reading(Duration::from_secs(1), later);
        assert_eq!(first.now, later);
        assert_eq!(first.jump, Some(HOUR * 8 - Duration::from_secs(1)));
        let behind = Duration::ZERO;
        assert_eq!(
            clock.reading(Duration::ZERO, later),
            Reading { now: later, jump: None, behind }
        );
    }
}
