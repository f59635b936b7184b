//! When a crashed agent is started again: growing waits, and a breaker that opens, half opens and
//! closes.
//!
//! Pure arithmetic over times; jitter is a hash of agent and attempt, so that a replay agrees.
//!
//! Invariants
//! - R1  A breaker always half opens: no agent is given up by a timer.
//! - R2  A session that stayed healthy for `HEALTHY` forgets everything before it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::time::Time;

/// What the owner wants when a session ends unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Restart {
    Never,
    #[default]
    OnCrash,
    Always,
}

/// Restarts older than this no longer count.
pub const WINDOW: Duration = Duration::from_secs(600);
/// So many restarts within the window open the breaker at the next crash.
pub const RESTARTS_IN_WINDOW: usize = 5;
/// A session that lived this long may be restarted at once, the first time.
pub const NOT_INSTANT: Duration = Duration::from_secs(1);
/// A session that lived this long was healthy.
pub const HEALTHY: Duration = Duration::from_secs(600);
pub const LONGEST_WAIT: Duration = Duration::from_secs(300);
pub const FIRST_OPEN: Duration = Duration::from_secs(300);
pub const LONGEST_OPEN: Duration = Duration::from_secs(3600);
/// Sessions longer than this that made no progress are churn …
pub const CHURN_AFTER: Duration = Duration::from_secs(30);
/// … and this many in a row open the breaker.
pub const CHURN_LIMIT: u32 = 3;

/// What is remembered of an agent's restarts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct History {
    /// When it was restarted, within the window, oldest first.
    pub restarts: Vec<Time>,
    /// How often the breaker opened without a healthy session since.
    pub opened: u32,
    /// Long sessions in a row that made no progress.
    pub futile: u32,
}

/// Whether a session got anything done, where its harness lets us see that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    NotVisible,
    Some,
    None,
}

/// What follows a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    RetryAt(Time),
    /// The breaker is open; one try at this time.
    HalfOpenAt(Time),
}

impl History {
    /// The end of a session that lived so long, before anything is decided about the next.
    pub fn ended(&mut self, lived: Duration, progress: Progress, now: Time) {
        if lived >= HEALTHY {
            *self = History::default();
        }
        self.restarts.retain(|at| now.since(*at) < WINDOW);
        match progress {
            Progress::None if lived > CHURN_AFTER => self.futile += 1,
            Progress::Some => self.futile = 0,
            Progress::None | Progress::NotVisible => {}
        }
    }

    /// What follows the crash of a session that lived so long.
    pub fn after_crash(&self, agent: AgentId, lived: Duration, now: Time) -> Next {
        let tries = self.restarts.iter().filter(|at| now.since(**at) < WINDOW).count();
        if self.opened > 0 || tries >= RESTARTS_IN_WINDOW || self.futile >= CHURN_LIMIT {
            let doublings = self.opened.min(8);
            let open = FIRST_OPEN.saturating_mul(1 << doublings).min(LONGEST_OPEN);
            return Next::HalfOpenAt(now + open);
        }
        Next::RetryAt(now + wait(agent, tries, lived))
    }

    pub fn restarted(&mut self, at: Time) {
        self.restarts.push(at);
        // The breaker never needs to know of more.
        if self.restarts.len() > RESTARTS_IN_WINDOW {
            self.restarts.remove(0);
        }
    }

    pub fn breaker_opened(&mut self) {
        self.opened += 1;
    }
}

/// The wait before restart `tries + 1`: 0 (1 s for a session that died at once), 1, 2, 4 … 300 s.
fn wait(agent: AgentId, tries: usize, lived: Duration) -> Duration {
    let seconds = match tries {
        0 if lived >= NOT_INSTANT => return Duration::ZERO,
        0 | 1 => 1,
        more => 1u64 << (more - 1).min(9),
    };
    let whole = Duration::from_secs(seconds).min(LONGEST_WAIT);
    // Up to a fifth more, so that a thousand agents that died together do not come back together.
    let fraction = mix(agent.0 as u64 ^ (agent.0 >> 64) as u64 ^ tries as u64) % 1000;
    whole + whole.mul_f64(fraction as f64 / 5000.0)
}

/// SplitMix64's finaliser: spreads close inputs over the whole range.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: AgentId = AgentId(7);
    const NOW: Time = Time(1_000_000_000_000);
    const LONG: Duration = Duration::from_secs(5);

    fn crash(history: &mut History, lived: Duration, now: Time) -> Next {
        history.ended(lived, Progress::NotVisible, now);
        history.after_crash(AGENT, lived, now)
    }

    /// The wait of each restart in seconds, rounded down, until the breaker opens.
    fn waits(lived: Duration) -> Vec<u64> {
        let (mut history, mut now, mut waits) = (History::default(), NOW, Vec::new());
        loop {
            match crash(&mut history, lived, now) {
                Next::RetryAt(at) => {
                    waits.push(at.since(now).as_secs());
                    history.restarted(at);
                    now = at + lived;
                }
                Next::HalfOpenAt(at) => {
                    assert_eq!(at.since(now), FIRST_OPEN);
                    return waits;
                }
            }
        }
    }

    #[test]
    fn waits_grow_and_the_breaker_opens_after_the_fifth_restart() {
        let long = waits(LONG);
        assert_eq!((long.len(), long[0]), (5, 0));
        assert!(long.windows(2).all(|pair| pair[0] <= pair[1]), "{long:?}");
        assert_eq!(waits(Duration::ZERO)[0], 1);
    }

    #[test]
    fn the_breaker_stays_open_longer_each_time_up_to_an_hour() {
        let mut history = History::default();
        let mut spans = Vec::new();
        for _ in 0..6 {
            history.breaker_opened();
            match crash(&mut history, LONG, NOW) {
                Next::HalfOpenAt(at) => spans.push(at.since(NOW).as_secs()),
                Next::RetryAt(_) => panic!("a breaker that is open does not retry"),
            }
        }
        assert_eq!(spans, [600, 1200, 2400, 3600, 3600, 3600]);
    }

    #[test]
    fn a_healthy_session_forgets() {
        let mut history = History { restarts: vec![NOW; 5], opened: 3, futile: 2 };
        assert_eq!(crash(&mut history, HEALTHY, NOW), Next::RetryAt(NOW));
        assert_eq!(history, History::default());
    }

    #[test]
    fn slow_crashes_never_open_the_breaker() {
        let (mut history, mut now) = (History::default(), NOW);
        for _ in 0..50 {
            now = now + Duration::from_secs(180);
            match crash(&mut history, Duration::from_secs(180), now) {
                Next::RetryAt(at) => history.restarted(at),
                Next::HalfOpenAt(_) => panic!("3 minutes apart is under 5 in 10"),
            }
        }
    }

    #[test]
    fn three_long_sessions_without_progress_are_churn() {
        let (mut history, mut now) = (History::default(), NOW);
        for session in 1..=3 {
            now = now + Duration::from_secs(700);
            history.ended(Duration::from_secs(31), Progress::None, now);
            let next = history.after_crash(AGENT, Duration::from_secs(31), now);
            assert_eq!(matches!(next, Next::HalfOpenAt(_)), session == 3, "session {session}");
        }
    }
}
