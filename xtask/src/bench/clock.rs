//! Time for measuring: the kernel's monotonic clock, which the measured child reads too.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How often something is looked at that nobody reports.
const LOOK: Duration = Duration::from_millis(2);

pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// How long `work` took, in milliseconds, and what it gave.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed().as_secs_f64() * 1e3, result)
}

/// Lets time pass where passing time is what is measured: a child's age, an idle minute.
pub fn pass(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
}

/// Looks again and again until it is so; false: not within the limit.
pub fn until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::park_timeout(LOOK);
    }
}
