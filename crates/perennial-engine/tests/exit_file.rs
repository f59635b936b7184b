//! The exit file survives power loss: its content is synced before it has its name, and the name after.
//!
//! This program puts its own `fsync`, `fdatasync` and `rename` in front of the system's, notes their
//! order and has one of them fail. One test only, since they are the whole program's.

use std::ffi::c_char;
use std::sync::Mutex;

use perennial_core::id::{AgentId, SessionNumber};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::protocol::ExitRecord;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    SyncFile,
    Rename,
    SyncDirectory,
}

static STEPS: Mutex<Vec<Step>> = Mutex::new(Vec::new());
/// The step that fails.
static FAILING: Mutex<Option<Step>> = Mutex::new(None);

/// Notes the step; true if it has to fail.
fn fails(step: Step) -> bool {
    STEPS.lock().expect("not poisoned").push(step);
    let is_failing = *FAILING.lock().expect("not poisoned") == Some(step);
    if is_failing {
        // SAFETY: errno is this thread's own.
        unsafe { *libc::__errno_location() = libc::EIO };
    }
    is_failing
}

fn synced(fd: i32) -> Step {
    // SAFETY: `fstat` fills what it is given; a descriptor that is not open gives an error.
    let is_directory = unsafe {
        let mut stat = std::mem::zeroed::<libc::stat>();
        libc::fstat(fd, &raw mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFDIR
    };
    if is_directory { Step::SyncDirectory } else { Step::SyncFile }
}

/// # Safety
/// As the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(fd: i32) -> i32 {
    if fails(synced(fd)) {
        return -1;
    }
    // SAFETY: passed on as it came.
    unsafe { libc::syscall(libc::SYS_fsync, fd) as i32 }
}

/// # Safety
/// As the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: i32) -> i32 {
    if fails(synced(fd)) {
        return -1;
    }
    // SAFETY: passed on as it came.
    unsafe { libc::syscall(libc::SYS_fdatasync, fd) as i32 }
}

/// # Safety
/// As the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> i32 {
    if fails(Step::Rename) {
        return -1;
    }
    let here = libc::AT_FDCWD;
    // SAFETY: passed on as it came.
    unsafe { libc::syscall(libc::SYS_renameat2, here, from, here, to, 0) as i32 }
}

#[test]
fn an_exit_is_told_to_be_on_disk_only_when_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = HolderDirectory::new(dir.path(), AgentId(1));
    directory.create().expect("made");
    let exit = ExitRecord::NotStarted("for a reason".to_owned());
    let write = |number: u32, failing: Option<Step>| {
        let number = SessionNumber(number);
        assert!(directory.claim(number).expect("claims"));
        STEPS.lock().expect("not poisoned").clear();
        *FAILING.lock().expect("not poisoned") = failing;
        let written = directory.write_exit(number, &exit);
        (written.is_ok(), STEPS.lock().expect("not poisoned").clone())
    };
    let all = [Step::SyncFile, Step::Rename, Step::SyncDirectory];
    assert_eq!(write(1, None), (true, all.to_vec()));
    assert!(directory.read_exit(SessionNumber(1)).is_some());
    for (index, step) in all.into_iter().enumerate() {
        let number = 2 + index as u32;
        // Nothing is done after a step that failed.
        assert_eq!(write(number, Some(step)), (false, all[..=index].to_vec()));
        let is_there = directory.read_exit(SessionNumber(number)).is_some();
        // What was not synced never gets its name.
        assert_eq!(is_there, step == Step::SyncDirectory);
    }
}
