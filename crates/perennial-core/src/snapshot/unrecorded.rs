//! Which snapshots may be removed that no record tells of: those that a daemon took, and was killed before it recorded them.
//!
//! Pure. They look the same as snapshots whose records were lost, by a disk or by an older journal that was put back: those
//! are kept, since nothing else has what is in them.
//!
//! Invariants
//! - SU1  A daemon that found out that records were lost removes nothing that it did not have taken itself.
//! - SU2  What a daemon finds at its start is removed only if the one before may have taken it: after that one's start, and not
//!   much later than the newest record. If anything is newer than that, records may be missing, and all of it stays.

use std::ops::Range;
use std::time::Duration;

use crate::time::Time;

/// A snapshot that was taken is recorded within this, or not at all.
pub const RECORDED_WITHIN: Duration = Duration::from_secs(600);

/// What the journal tells of the daemon before this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaemonBefore {
    pub started: Time,
    /// When the newest record was made.
    pub latest: Time,
    /// Whether records are known to be missing.
    pub has_lost_records: bool,
}

/// When a snapshot was taken that is removed at a start, if any is.
pub fn left_by(before: &DaemonBefore) -> Option<Range<Time>> {
    (!before.has_lost_records).then(|| before.started..before.latest + RECORDED_WITHIN)
}

/// The same while a daemon runs that was started at a moment.
pub fn left_since(started: Time, now: Time) -> Range<Time> {
    started..Time(now.0.saturating_sub(u64::try_from(RECORDED_WITHIN.as_micros()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000)
    }

    #[test]
    fn only_what_the_daemon_before_may_have_taken_goes() {
        let before = DaemonBefore { started: at(1000), latest: at(5000), has_lost_records: false };
        let range = left_by(&before).unwrap();
        let goes = [999, 1000, 5000, 5599, 5600].map(|moment| range.contains(&at(moment)));
        assert_eq!(goes, [false, true, true, true, false]);
        assert_eq!(left_by(&DaemonBefore { has_lost_records: true, ..before }), None);
    }

    #[test]
    fn while_a_daemon_runs_only_its_own_go_that_had_their_time() {
        let range = left_since(at(1000), at(2000));
        let goes = [999, 1000, 1399, 1400].map(|moment| range.contains(&at(moment)));
        assert_eq!(goes, [false, true, true, false]);
        assert!(left_since(at(1000), at(1100)).is_empty());
    }
}
