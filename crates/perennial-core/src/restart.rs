//! When a crashed agent is started again: growing waits, and a breaker that opens, half opens and
//! closes.
//!
//! Pure arithmetic over times; jitter is a hash of agent and attempt, so that a replay agrees.
//!
//! Invariants
//! - R1  A breaker always half opens: no agent is given up by a timer.
//! - R2  A session that stayed healthy for `HEALTHY` forgets everything before it. One that got nothing
//!   done was not healthy, however long it lived.
//! - R3  Folding reads none of these constants: the end of a session carries what the history becomes.

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
/// The waits before each restart within the window, in seconds …
pub const WAITS: [u64; 5] = [0, 1, 2, 4, 8];
/// … and when all of them are used, the next crash opens the breaker.
pub const RESTARTS_IN_WINDOW: usize = WAITS.len();
/// A session that lived this long may be restarted at once, the first time.
pub const NOT_INSTANT: Duration = Duration::from_secs(1);
/// A session that lived this long was healthy.
pub const HEALTHY: Duration = Duration::from_secs(600);
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

/// What the end of a session makes of the history, as its event tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tally {
    Becomes(History),
    /// Recorded before events told: by the rule of that time, which never changes.
    ByFirstRule,
}

/// Whether a session got anything done, where its harness lets us see that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionProgress {
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
    /// Notes the end of a session that lived for `lived`, before anything is decided about the next.
    pub fn ended(&mut self, lived: Duration, progress: SessionProgress, now: Time) {
        let is_futile = progress == SessionProgress::None;
        if lived >= HEALTHY && !is_futile {
            *self = History::default();
        }
        self.restarts.retain(|at| now.since(*at) < WINDOW);
        // The breaker never needs to know of more.
        let spare = self.restarts.len().saturating_sub(RESTARTS_IN_WINDOW);
        self.restarts.drain(..spare);
        match progress {
            SessionProgress::None if lived > CHURN_AFTER => self.futile += 1,
            SessionProgress::Some => self.futile = 0,
            SessionProgress::None | SessionProgress::NotVisible => {}
        }
    }

    /// `ended` as it was while events did not tell what it came to. Its numbers are those of old
    /// journals and stay, whatever the policy becomes.
    pub fn end_by_first_rule(&mut self, lived: Duration, progress: SessionProgress, now: Time) {
        const TEN_MINUTES: Duration = Duration::from_secs(600);
        if lived >= TEN_MINUTES {
            *self = History::default();
        }
        self.restarts.retain(|at| now.since(*at) < TEN_MINUTES);
        let spare = self.restarts.len().saturating_sub(5);
        self.restarts.drain(..spare);
        match progress {
            SessionProgress::None if lived > Duration::from_secs(30) => self.futile += 1,
            SessionProgress::Some => self.futile = 0,
            SessionProgress::None | SessionProgress::NotVisible => {}
        }
    }

    /// What follows the crash of a session that lived for `lived`.
    pub fn after_crash(&self, agent: AgentId, lived: Duration, now: Time) -> Next {
        let tries = self.restarts.iter().filter(|at| now.since(**at) < WINDOW).count();
        if self.opened > 0 || tries >= RESTARTS_IN_WINDOW || self.futile >= CHURN_LIMIT {
            let doublings = self.opened.min(8);
            let open = FIRST_OPEN.saturating_mul(1 << doublings).min(LONGEST_OPEN);
            return Next::HalfOpenAt(now + open);
        }
        Next::RetryAt(now + wait(agent, tries, lived))
    }

    /// The end of each session bounds what this adds.
    pub fn restarted(&mut self, at: Time) {
        self.restarts.push(at);
    }

    pub fn breaker_opened(&mut self) {
        self.opened += 1;
    }
}

/// The wait before restart `tries + 1`; the first one is 1 s for a session that died at once.
fn wait(agent: AgentId, tries: usize, lived: Duration) -> Duration {
    let seconds = match WAITS.get(tries).copied() {
        Some(0) if lived < NOT_INSTANT => 1,
        Some(seconds) => seconds,
        None => WAITS[WAITS.len() - 1],
    };
    let whole = Duration::from_secs(seconds);
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
        history.ended(lived, SessionProgress::NotVisible, now);
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
        assert_eq!(waits(LONG), [0, 1, 2, 4, 8]);
        assert_eq!(waits(Duration::ZERO), [1, 1, 2, 4, 8]);
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

    /// M4: the reset came before the count, and sessions of ten minutes were never churn.
    #[test]
    fn a_long_session_without_progress_is_churn_and_not_health() {
        for lived in [CHURN_AFTER + LONG, HEALTHY, HEALTHY * 6] {
            let mut history = History { restarts: Vec::new(), opened: 1, futile: CHURN_LIMIT - 1 };
            history.ended(lived, SessionProgress::None, NOW);
            assert_eq!((history.futile, history.opened), (CHURN_LIMIT, 1), "{lived:?}");
        }
    }

    #[test]
    fn old_journals_fold_by_the_rule_of_their_time() {
        let crowded = History { restarts: vec![NOW; 9], opened: 3, futile: 2 };
        let after = |secs, progress| {
            let mut history = crowded.clone();
            history.end_by_first_rule(Duration::from_secs(secs), progress, NOW + LONG);
            (history.restarts.len(), history.opened, history.futile)
        };
        assert_eq!(after(30, SessionProgress::None), (5, 3, 2));
        assert_eq!(after(31, SessionProgress::None), (5, 3, 3));
        assert_eq!(after(31, SessionProgress::Some), (5, 3, 0));
        assert_eq!(after(31, SessionProgress::NotVisible), (5, 3, 2));
        assert_eq!(after(600, SessionProgress::None), (0, 0, 1));
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
            history.ended(Duration::from_secs(31), SessionProgress::None, now);
            let next = history.after_crash(AGENT, Duration::from_secs(31), now);
            assert_eq!(matches!(next, Next::HalfOpenAt(_)), session == 3, "session {session}");
        }
    }
}
