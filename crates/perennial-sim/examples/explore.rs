//! Explores as many worlds as wanted: `explore SEEDS [FROM [THREADS]]`. What `cargo xtask explore` runs.
//!
//! A violation is told when it is found, and the seeds after it are explored all the same; the end of
//! the first one's story is told at last, and the whole of it where one seed is explored. Which thread explores a seed makes no difference to its world.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use perennial_sim::{Summary, Violation, explore_one};

/// How often it says how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// With this many violations something is wrong with everything.
const MOST_VIOLATIONS: usize = 50;

struct Exploration {
    next: AtomicU64,
    end: u64,
    wanted: u64,
    began: Instant,
    found: Mutex<Found>,
}

struct Found {
    summary: Summary,
    violations: Vec<Violation>,
    told: Instant,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
    let (seeds, from, threads) = match numbers.as_deref() {
        Some([seeds]) => (*seeds, 0, 1),
        Some([seeds, from]) => (*seeds, *from, 1),
        Some([seeds, from, threads]) => (*seeds, *from, *threads),
        Some(_) | None => {
            eprintln!("usage: explore SEEDS [FROM [THREADS]]");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let exploration = Exploration {
        next: AtomicU64::new(from),
        end: from.saturating_add(seeds),
        wanted: seeds,
        began,
        found: Mutex::new(Found {
            summary: Summary::default(),
            violations: Vec::new(),
            told: began,
        }),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| exploration.explore());
        }
    });
    exploration.close()
}

impl Exploration {
    fn explore(&self) {
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end {
                return;
            }
            let explored = explore_one(seed);
            let Ok(mut found) = self.found.lock() else { return };
            match explored {
                Ok(summary) => found.summary += summary,
                Err(violation) => {
                    println!("seed {seed}: {}\n  {}", violation.property, violation.what);
                    found.violations.push(violation);
                }
            }
            if found.violations.len() >= MOST_VIOLATIONS {
                return;
            }
            if found.told.elapsed() > PROGRESS_EVERY {
                found.told = Instant::now();
                eprintln!("{}", self.progress(&found));
            }
        }
    }

    fn progress(&self, found: &Found) -> String {
        let (violations, wanted) = (found.violations.len(), self.wanted);
        let explored = found.summary.seeds + violations as u64;
        let rate = explored as f64 / self.began.elapsed().as_secs_f64();
        format!("explored {explored} of {wanted} seeds, {violations} violations, {rate:.0} seeds/s")
    }

    fn close(self) -> ExitCode {
        let found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        println!("{}\n{}", found.summary, self.progress(&found));
        let Some(first) = found.violations.iter().min_by_key(|violation| violation.seed) else {
            return ExitCode::SUCCESS;
        };
        if self.wanted == 1 {
            first.trace.iter().for_each(|line| println!("  {line}"));
        }
        println!("\n{first}");
        ExitCode::FAILURE
    }
}
