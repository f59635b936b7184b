//! Time for waiting: the monotonic clock of this machine, read here and nowhere else in the host.
//!
//! Never compared with wall time, never stored.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment since boot; only differences mean something.
pub type Moment = Duration;

pub fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Milliseconds to wait for the earliest of some deadlines; `None` waits for an event only.
pub fn wait_until(deadline: Option<Moment>, now: Moment) -> Option<rustix::time::Timespec> {
    let wait = deadline?.saturating_sub(now);
    Some(rustix::time::Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    })
}
