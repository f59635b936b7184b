//! Every write and every sync of a file fails once, one after the other, with each error that a disk
//! gives: what was acknowledged stays, nothing is half, and the journal goes on by itself.
//!
//! This program puts its own `pwrite64`, `fsync` and `fdatasync` in front of the system's, for all that
//! is linked into it, SQLite included. One test only, since they are the whole program's.

use perennial_store::Projections;
use perennial_store::Store;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::sync::mpsc;

use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::id::AgentId;
use perennial_core::time::Time;
use perennial_store::chain::verify;
use perennial_store::{
    AppendError, Batch, Latest, Seq, SqliteJournal, StoreError, StreamAppend, Version,
};

const WRITE: i32 = 1;
const SYNC: i32 = 2;

/// Which operation fails, after how many more of it (below 1: it has), and how.
static FAILING: AtomicI32 = AtomicI32::new(0);
static LEFT: AtomicI64 = AtomicI64::new(0);
static ERRNO: AtomicI32 = AtomicI32::new(0);

fn fails(operation: i32, fd: i32) -> bool {
    if FAILING.load(Ordering::SeqCst) != operation || !is_file(fd) {
        return false;
    }
    let failed = LEFT.fetch_sub(1, Ordering::SeqCst) == 1;
    if failed {
        // SAFETY: errno is this thread's own.
        unsafe { *libc::__errno_location() = ERRNO.load(Ordering::SeqCst) };
    }
    failed
}

/// Not a directory: the names of files are synced by other means.
fn is_file(fd: i32) -> bool {
    // SAFETY: `fstat` fills what it is given; a descriptor that is not open gives an error.
    unsafe {
        let mut stat = std::mem::zeroed::<libc::stat>();
        libc::fstat(fd, &raw mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// # Safety
/// As the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    fd: i32,
    bytes: *const libc::c_void,
    count: usize,
    offset: i64,
) -> isize {
    if fails(WRITE, fd) {
        return -1;
    }
    // SAFETY: passed on as it came.
    unsafe { libc::syscall(libc::SYS_pwrite64, fd, bytes, count, offset) as isize }
}

/// # Safety
/// As the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(fd: i32) -> i32 {
    if fails(SYNC, fd) {
        return -1;
    }
    // SAFETY: passed on as it came.
    unsafe { libc::syscall(libc::SYS_fsync, fd) as i32 }
}

/// # Safety
/// As the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: i32) -> i32 {
    if fails(SYNC, fd) {
        return -1;
    }
    // SAFETY: passed on as it came.
    unsafe { libc::syscall(libc::SYS_fdatasync, fd) as i32 }
}

const AGENTS: [AgentId; 2] = [AgentId(1), AgentId(2)];

/// One event for each of two agents; `text` makes it large, so that pages are split.
fn pair(version: u64) -> Batch {
    let entry = |agent| {
        let summary = format!("{version} {}", "x".repeat(700));
        let what = What::Agent(agent, AgentEvent::Summarised { summary });
        StreamAppend {
            stream: Entity::Agent(agent),
            expected: Version(version).into(),
            events: vec![Event { at: Time(version), what }],
        }
    };
    Batch { entries: AGENTS.map(entry).to_vec(), ..Batch::default() }
}

fn append(journal: &dyn Store, batch: Batch) -> Result<Seq, AppendError> {
    let (answered, answer) = mpsc::channel();
    journal.append(batch, Box::new(move |result| answered.send(result).expect("awaited")));
    answer.recv().expect("every append is answered")
}

/// Where both streams are; whole appends only.
fn version(journal: &dyn Store) -> u64 {
    let verified = verify(journal).expect("readable");
    assert_eq!(verified.unreadable, []);
    assert_eq!(verified.head.0 % 2, 0, "half an append");
    verified.head.0 / 2
}

/// The program dies right after the failure: the failed append may be there, but whole.
fn dies_here(directory: &Path, acknowledged: u64) {
    let failing = FAILING.swap(0, Ordering::SeqCst);
    let copy = in_memory();
    for name in ["journal.db", "journal.db-wal"] {
        fs::copy(directory.join(name), copy.path().join(name)).expect("copied");
    }
    let journal = SqliteJournal::open(&copy.path().join("journal.db")).expect("opens");
    let found = version(&journal);
    assert!(found == acknowledged || found == acknowledged + 1, "{found}, not {acknowledged}");
    append(&journal, pair(found)).expect("goes on");
    FAILING.store(failing, Ordering::SeqCst);
}

/// Runs one life of a journal in which the `nth` operation fails; tells whether there was one.
fn live(directory: &Path, operation: i32, errno: i32, nth: i64) -> bool {
    let path = directory.join("journal.db");
    let journal = SqliteJournal::open(&path).expect("opened before anything fails");
    ERRNO.store(errno, Ordering::SeqCst);
    LEFT.store(nth, Ordering::SeqCst);
    FAILING.store(operation, Ordering::SeqCst);
    let mut acknowledged = 0;
    let mut failures = 0;
    while acknowledged < 12 && failures < 3 {
        let agent = AGENTS[0];
        journal.put_latest(vec![Latest::of(agent)]);
        match append(&journal, pair(acknowledged)) {
            Ok(_) => acknowledged += 1,
            Err(AppendError::Store(StoreError::Io(_) | StoreError::Full(_))) => {
                failures += 1;
                dies_here(directory, acknowledged);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(failures <= 1, "one fault, {failures} failures");
    // Here nothing is in doubt; closing meets the fault too, if nothing has yet.
    assert_eq!(version(&journal), acknowledged);
    drop(journal);
    FAILING.store(0, Ordering::SeqCst);
    let met = LEFT.load(Ordering::SeqCst) < 1;
    let journal = SqliteJournal::open(&path).expect("opens again");
    assert_eq!(version(&journal), acknowledged, "{operation} {errno} {nth}");
    append(&journal, pair(acknowledged)).expect("goes on");
    met
}

/// A sync that succeeds should cost nothing here: there are hundreds of lives.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

#[test]
fn each_operation_fails_once_and_nothing_is_lost() {
    for (operation, errno) in [(WRITE, libc::EIO), (WRITE, libc::ENOSPC), (SYNC, libc::EIO)] {
        let mut nth = 0;
        loop {
            nth += 1;
            let directory = in_memory();
            if !live(directory.path(), operation, errno, nth) {
                break;
            }
        }
        // Twelve appends write and sync at least once each.
        assert!(nth > 12, "only {nth} operations {operation} were seen");
    }
}
