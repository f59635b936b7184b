//! Work trees that somebody prepared to keep us busy: a snapshot that is told to end does so at once, and leaves nothing.

use std::time::{Duration, Instant};

use perennial_engine::git::GitError;
use perennial_engine::git::snapshot::{TakeOrder, take};

use crate::fixture::Fixture;

/// Far more than a snapshot needs that gives up when it is told to, far less than one that does not.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Takes a snapshot that has a little time.
fn taken_within(f: &Fixture, time: Duration) -> Result<(), GitError> {
    let begun = Instant::now();
    let snapshots = f.snapshots();
    let in_time = |_| begun.elapsed() < time;
    let taken = take(&TakeOrder { go_on: &in_time, ..f.order(&f.work, &snapshots) });
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    taken.map(|_| ())
}

#[test]
fn a_hundred_thousand_ignore_patterns_end_a_snapshot_in_its_time() {
    let f = Fixture::new();
    let patterns: String = (0..100_000).map(|n| format!("*a*a*a*b{n}\n")).collect();
    f.write(".gitignore", patterns);
    for n in 0..400 {
        f.write(&format!("many/{}{n}", "a".repeat(200)), "");
    }
    let ended = taken_within(&f, Duration::from_millis(300));
    assert!(matches!(ended, Err(GitError::Interrupted)), "{ended:?}");
    assert_eq!(f.base_refs(), [""; 0]);
}

#[test]
fn a_hundred_thousand_names_in_an_ignore_file_cost_no_time() {
    let f = Fixture::new();
    let patterns: String = (0..100_000).map(|n| format!("ignored{n}\n*.e{n}\n")).collect();
    f.write(".gitignore", patterns);
    for n in 0..400 {
        f.write(&format!("many/a{n}"), "");
        f.write(&format!("many/ignored{n}"), "");
    }
    let begun = Instant::now();
    let taken = f.take();
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!(taken.files, 5 + 1 + 400);
}

/// Each directory adds to what is in memory while those below it are walked.
#[test]
fn more_patterns_than_anybody_writes_are_refused_by_name() {
    let f = Fixture::new();
    let patterns = "x\n".repeat(90_000);
    for directory in ["", "one/", "one/two/", "one/two/three/"] {
        f.write(&format!("{directory}.gitignore"), &patterns);
    }
    let refused = f.try_take();
    assert!(matches!(refused, Err(GitError::TooManyPatterns(_))), "{refused:?}");
}

/// One who is stuck with the lock of a repository's snapshots does not hold those who have no time.
#[test]
fn a_snapshot_does_not_wait_for_a_lock_beyond_its_time() {
    let f = Fixture::new();
    let taken = f.take();
    let lock = std::fs::File::open(taken.store.join("writing.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let ended = taken_within(&f, Duration::from_millis(100));
    assert!(matches!(ended, Err(GitError::Interrupted)), "{ended:?}");
    drop(lock);
    f.take();
}
