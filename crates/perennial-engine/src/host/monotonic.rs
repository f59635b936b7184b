//! Time for waiting: the monotonic clock of this machine. Both clocks are read here and nowhere else in
//! the host.
//!
//! Moments are never compared with wall time, never stored; wall time is stored and never waited for.

use std::time::Duration;

use perennial_core::time::Time;
use rustix::time::{ClockId, clock_gettime};

/// A moment since boot; only differences mean something.
pub type Moment = Duration;

pub fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time of day, for marks in a recording.
pub fn wall_time() -> Time {
    let time = clock_gettime(ClockId::Realtime);
    let micros = time.tv_nsec.unsigned_abs() / 1000;
    Time(time.tv_sec.unsigned_abs().saturating_mul(1_000_000).saturating_add(micros))
}

/// Milliseconds to wait for the earliest of some deadlines; `None` waits for an event only.
pub fn wait_until(deadline: Option<Moment>, now: Moment) -> Option<rustix::time::Timespec> {
    let wait = deadline?.saturating_sub(now);
    Some(rustix::time::Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    })
}
