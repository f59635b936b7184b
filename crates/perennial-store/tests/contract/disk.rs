//! Disks that are full or refuse: nothing half is left, and the journal works again by itself.

use perennial_store::Store;
use std::env;
use std::path::Path;
use std::process::Command;

use perennial_store::chain::verify;
use perennial_store::{AppendError, StoreError};

use crate::events::*;

const HOME: &str = "PERENNIAL_TEST_LIMITED_IN";

/// Appends until it fails; returns how many were acknowledged.
fn fill_up(journal: &dyn Store, from: u64) -> (u64, StoreError) {
    for version in from.. {
        let event = summarised(ADA, &"x".repeat(3000));
        match append(journal, batch(vec![(version, vec![event])])) {
            Ok(_) => {}
            Err(AppendError::Store(fault)) => return (version, fault),
            Err(other) => panic!("{other:?}"),
        }
    }
    unreachable!()
}

/// After space is back: nothing is lost, nothing is half, and the next append succeeds.
fn goes_on(journal: &dyn Store, acknowledged: u64) {
    let verified = verify(journal).unwrap();
    assert_eq!((verified.head.0, verified.unreadable.len()), (acknowledged, 0));
    let next = batch(vec![(acknowledged, vec![summarised(ADA, "again")])]);
    assert_eq!(append(journal, next).unwrap().0, acknowledged + 1);
}

/// A small file system of its own; unmounted at the end.
struct Mounted<'a>(&'a Path);

impl Mounted<'_> {
    fn at(path: &Path) -> Option<Mounted<'_>> {
        let options = ["-t", "tmpfs", "-o", "size=2m,mode=700", "perennial-test"];
        let mounted = Command::new("mount").args(options).arg(path).output().ok()?;
        mounted.status.success().then_some(Mounted(path))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_and_the_journal_goes_on_when_there_is_space() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::at(directory.path()) else {
        eprintln!("not checked: mounting a file system is not allowed here");
        return;
    };
    let ballast = directory.path().join("ballast");
    std::fs::write(&ballast, vec![0u8; 700 << 10]).unwrap();
    let journal = open(directory.path());
    let (acknowledged, fault) = fill_up(&journal, 0);
    assert!(matches!(fault, StoreError::Full(_)), "{fault:?}");
    assert!(acknowledged > 20, "{acknowledged}");
    // It stays full: it stays refused, and what was there stays readable.
    for _ in 0..5 {
        assert_eq!(fill_up(&journal, acknowledged).0, acknowledged);
    }
    assert_eq!(all(&journal).len() as u64, acknowledged);
    std::fs::remove_file(&ballast).unwrap();
    goes_on(&journal, acknowledged);
    // And again, to the very end of the space, and closed and opened while full.
    let (acknowledged, _) = fill_up(&journal, acknowledged + 1);
    drop(journal);
    let journal = open(directory.path());
    let verified = verify(&journal).unwrap();
    assert_eq!((verified.head.0, verified.unreadable.len()), (acknowledged, 0));
}

/// Not a test of its own: runs with a limit on the size of its files, so that writes fail.
#[test]
fn the_limited_program() {
    let Some(home) = env::var_os(HOME) else { return };
    let home = Path::new(&home);
    limit_file_size(libc::RLIM_INFINITY);
    let journal = open(home);
    fill(&journal, &[ADA], 10);
    let mut acknowledged = 10;
    // Each time a write somewhere else in a commit is the first that fails.
    for step in 0..40u64 {
        let log = std::fs::metadata(home.join("journal.db-wal")).unwrap().len();
        limit_file_size(log + 1 + step * 523);
        let (now, fault) = fill_up(&journal, acknowledged);
        assert!(matches!(fault, StoreError::Io(_) | StoreError::Full(_)), "{fault:?}");
        limit_file_size(libc::RLIM_INFINITY);
        goes_on(&journal, now);
        acknowledged = now + 1;
    }
}

fn limit_file_size(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a plain value is passed; ignoring the kill signal lets the write fail instead.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

#[test]
fn writes_that_fail_anywhere_in_a_commit_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let ran = Command::new(env::current_exe().unwrap())
        .args(["--exact", "disk::the_limited_program", "--nocapture", "--test-threads=1"])
        .env(HOME, directory.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let journal = open(directory.path());
    let verified = verify(&journal).unwrap();
    assert!(verified.head.0 > 50 && verified.unreadable.is_empty(), "{verified:?}");
}
