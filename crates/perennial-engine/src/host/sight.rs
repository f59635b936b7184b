//! What a process must be able to see before it may be a daemon: the processes above it, and whoever holds the locks
//! of the home's holders.
//!
//! Whoever starts it may have given it namespaces or mounts of its own. What can't be seen counts as a refusal, never
//! as the death of a session. Reads only.
//!
//! | asked | of | shows |
//! |---|---|---|
//! | the type of `/proc`, and the mount that each file read there is on | `statfs`, `statx` | another file system, or a mount over a process's own files |
//! | the parents | `getppid`, `PIDFD_GET_INFO` (Linux 6.13) | a `/proc` that tells of other parents |
//! | who holds each holder's lock | `F_GETLK` | a pid namespace without the holders; a holder above this process, whatever its argv |

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statfs, statx};
use rustix::process::{Pid, PidfdFlags, getpid, getppid, pidfd_open};

use super::ancestry::{self, Broken, TRIES};
use super::directory::HolderDirectory;

const PROC: &str = "/proc";
const PROC_MAGIC: i64 = 0x9fa0;

/// Why this process may not be a daemon here.
#[derive(Debug, thiserror::Error)]
pub enum Blind {
    #[error("/proc does not show this process and its parents as the kernel knows them")]
    Proc,
    #[error("the processes above this one can't be followed")]
    Ancestors(#[source] Broken),
    #[error("a holder of this home's sessions is above this process")]
    InSession,
    #[error("whoever holds {} can't be seen from here", .0.display())]
    Holder(PathBuf),
}

/// Refuses unless this process sees what a daemon must see of a home with these directories of holders.
pub fn check(directories: &[PathBuf]) -> Result<(), Blind> {
    let above = (1..TRIES).find_map(|_| above().ok()).map_or_else(above, Ok)?;
    for directory in directories {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let holder = HolderDirectory::at(entry.path());
            let locker = match holder.locker() {
                Ok(locker) => locker,
                // Closed to its own user: of one agent nothing is known, and the others must not wait for that.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(_) => return Err(Blind::Holder(entry.path())),
            };
            let Some(pid) = locker else { continue };
            if above.contains(&pid) {
                return Err(Blind::InSession);
            }
            holder.shim_at(pid).map_err(|_| Blind::Holder(entry.path()))?;
        }
    }
    Ok(())
}

/// This process and all above it, by /proc, where nothing speaks against what that says.
fn above() -> Result<Vec<i32>, Blind> {
    let me = getpid().as_raw_nonzero().get();
    let is_proc = statfs(PROC).is_ok_and(|found| found.f_type == PROC_MAGIC);
    let is_ours = std::fs::read_link("/proc/self").is_ok_and(|to| to == Path::new(&me.to_string()));
    if !is_proc || !is_ours {
        return Err(Blind::Proc);
    }
    let mount = mount_of(Path::new(PROC));
    let mut above = Vec::new();
    for stat in ancestry::chain(me) {
        let stat = stat.map_err(Blind::Ancestors)?;
        let pid = stat.process.pid;
        let is_covered = ["stat", "cmdline"]
            .iter()
            .any(|file| mount_of(&Path::new(PROC).join(pid.to_string()).join(file)) != mount);
        let parent = if pid == me { Some(own_parent()) } else { parent_of(pid) };
        if is_covered || parent.is_some_and(|parent| parent != stat.parent) {
            return Err(Blind::Proc);
        }
        above.push(pid);
    }
    Ok(above)
}

/// The mount that a file is on; `None` before Linux 5.8.
fn mount_of(path: &Path) -> Option<u64> {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    let is_told = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    is_told.then_some(found.stx_mnt_id)
}

/// 0 if the parent is outside this pid namespace.
fn own_parent() -> i32 {
    getppid().map_or(0, |pid| pid.as_raw_nonzero().get())
}

/// The parent of a process by a system call; `None` before Linux 6.13.
fn parent_of(pid: i32) -> Option<i32> {
    let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let info = pidfd_info(&handle, 0)?;
    Some(info.parent.cast_signed())
}

/// struct pidfd_info of the first version, 64 bytes.
#[repr(C)]
#[derive(Debug, Default)]
pub struct PidfdInfo {
    pub mask: u64,
    pub cgroup: u64,
    pid: u32,
    group: u32,
    parent: u32,
    rest: [u32; 9],
}

/// What the kernel says of the process behind a handle; `None` before Linux 6.13, or if it is gone.
pub fn pidfd_info(handle: &OwnedFd, also: u64) -> Option<PidfdInfo> {
    const GET_INFO: libc::Ioctl = 0xC040_FF0B;
    const { assert!(size_of::<PidfdInfo>() == 64) };
    let mut info = PidfdInfo { mask: also, ..PidfdInfo::default() };
    // SAFETY: the ioctl writes at most the 64 bytes that its number says, and `info` has them.
    let done = unsafe { libc::ioctl(handle.as_raw_fd(), GET_INFO, &raw mut info) };
    (done == 0).then_some(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_and_proc_agree_on_the_parents_of_this_process() {
        let above = above().expect("nothing is hidden here");
        assert_eq!(above.first(), Some(&getpid().as_raw_nonzero().get()));
        if let Some(parent) = parent_of(above[0]) {
            assert_eq!(parent, own_parent());
        }
    }
}
