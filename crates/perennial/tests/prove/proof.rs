//! One run of a row: its chance, its trials, what was violated, and what is told of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How often a run says how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Proof {
    row: &'static str,
    wanted: u64,
    done: u64,
    violations: u64,
    seed: u64,
    chance: u64,
    began: Instant,
    told: Instant,
}

impl Proof {
    pub fn new(row: &'static str, wanted: u64, seed: u64) -> Proof {
        let now = Instant::now();
        println!("{row}: {wanted} trials, seed {seed}");
        Proof { row, wanted, done: 0, violations: 0, seed, chance: seed, began: now, told: now }
    }

    /// Each trial that is wanted stands for this many.
    pub fn multiply(&mut self, trials: usize) {
        self.wanted *= trials as u64;
    }

    /// Whether there are trials left.
    pub fn goes_on(&self) -> bool {
        self.done < self.wanted
    }

    /// The number of the next trial, which counts from now on.
    pub fn begin_trial(&mut self) -> u64 {
        self.done += 1;
        if self.told.elapsed() > PROGRESS_EVERY {
            self.told = Instant::now();
            println!(
                "{}: {} of {}, {} violations",
                self.row, self.done, self.wanted, self.violations
            );
        }
        self.done
    }

    pub fn violated(&mut self, what: &str) {
        self.violations += 1;
        println!("violation in {} (seed {}), trial {}: {what}", self.row, self.seed, self.done);
    }

    /// Runs a few trials that share a home. If they break off, that is a violation too (V2).
    pub fn home(&mut self, trials: impl FnOnce(&mut Proof)) {
        let before = self.done;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| trials(self))) {
            let why = panic.downcast_ref::<String>().cloned();
            let why = why.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            self.violated(&format!("broke off: {}", why.unwrap_or_default()));
        }
        // A home that breaks before its first trial must not be tried for ever.
        if self.done == before {
            self.begin_trial();
        }
    }

    /// SplitMix64: a number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.chance;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % limit
    }

    /// A random moment: lets up to this many milliseconds pass.
    pub fn pass_up_to(&mut self, limit_ms: u64) {
        let end = Instant::now() + Duration::from_millis(self.below(limit_ms + 1));
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(left);
        }
    }

    /// The last line (V1). Whether nothing was violated.
    pub fn close(&self) -> bool {
        let Proof { row, done, violations, seed, .. } = self;
        let seconds = self.began.elapsed().as_secs();
        // The rule of three: what was never seen in n trials is rarer than 3/n, with 95 %.
        let bound = match violations {
            0 => format!("at most {:.4} of all at 95 %", 3.0 / (*done).max(1) as f64),
            _ => format!("{:.4} of all", *violations as f64 / (*done).max(1) as f64),
        };
        println!(
            "{row}: {done} trials, {violations} violations, {seconds} s, seed {seed}: {bound}"
        );
        *violations == 0
    }
}

/// Looks again and again until it is so; false: not within the limit.
pub fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !is_so() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    true
}
