//! Who a process is: pid and start time together, its parent, its pidfd.
//!
//! Reads /proc and nothing else; never signals by a bare pid.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use perennial_core::id::BootId;
use perennial_core::session::Process;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One line of /proc/PID/stat, as far as it is needed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub process: Process,
    pub parent: i32,
    /// The session (in the kernel's sense) that it belongs to.
    pub kernel_session: i32,
    pub zombie: bool,
}

/// What the kernel says of `pid` now; `None` if it is gone.
pub fn stat(pid: i32) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(pid, &text)
}

/// The name in parentheses may hold anything, so fields are counted after the last parenthesis.
fn parse_stat(pid: i32, text: &[u8]) -> Option<Stat> {
    let after = text.iter().rposition(|byte| *byte == b')')? + 2;
    let rest = std::str::from_utf8(text.get(after..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let kernel_session = fields.nth(1)?.parse().ok()?;
    // Fields 7 to 21 lie between the session and the start time, which is field 22.
    let start_ticks = fields.nth(15)?.parse().ok()?;
    let zombie = matches!(state, "Z" | "X");
    Some(Stat { process: Process { pid, start_ticks }, parent, kernel_session, zombie })
}

pub fn this_process() -> Option<Process> {
    stat(rustix::process::getpid().as_raw_nonzero().get()).map(|stat| stat.process)
}

/// A handle on exactly this process; `None` if it is gone, its pid reused or not.
pub fn open(process: Process) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = Pid::from_raw(process.pid) else { return Ok(None) };
    let handle = match pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH | rustix::io::Errno::INVAL) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Compared after opening: the handle cannot move to a later process.
    Ok(stat(process.pid).filter(|stat| stat.process == process).map(|_| handle))
}

/// Waits for the end of a child of ours, for so long at most; whether it came.
pub fn ends_within(child: &std::process::Child, patience: Duration) -> bool {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    handle.is_some_and(|handle| {
        let wait = super::monotonic::wait_until(Some(patience), Duration::ZERO);
        matches!(poll(&mut [PollFd::new(&handle, PollFlags::IN)], wait.as_ref()), Ok(1..))
    })
}

/// Whether the process behind a pidfd has ended.
pub fn is_over(handle: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&handle, PollFlags::IN)];
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// KILL through a pidfd; one that is gone already is no error.
pub fn kill(handle: impl AsFd) {
    let _gone_already = pidfd_send_signal(handle, Signal::KILL);
}

/// KILL to exactly this process, if it is still there.
pub fn kill_exactly(process: Process) {
    if let Ok(Some(handle)) = open(process) {
        kill(handle);
    }
}

/// The id of this boot: pids and start times of another one mean nothing.
pub fn boot_id() -> io::Result<BootId> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BootId(text.trim().to_owned()))
}

/// Whether a process is a shim, of whatever home.
pub fn is_shim(pid: i32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|line| line.starts_with(b"perennial\0shim\0"))
}

/// A handle on the process at the other end of a unix socket, as it was when it connected; `None`
/// before Linux 6.5.
pub fn peer_handle(socket: impl AsFd) -> Option<OwnedFd> {
    let mut handle: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes one descriptor of our own into `handle`, or nothing.
    unsafe {
        let failed = libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut handle).cast(),
            &raw mut length,
        );
        (failed == 0 && handle >= 0).then(|| OwnedFd::from_raw_fd(handle))
    }
}

/// All pids that exist now.
pub fn pids() -> impl Iterator<Item = i32> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Who holds a record lock on anything; nothing where the kernel does not say.
pub fn lock_holders() -> Option<HashSet<i32>> {
    let text = std::fs::read_to_string("/proc/locks").ok()?;
    Some(text.lines().filter_map(record_locker).collect())
}

/// `1: POSIX  ADVISORY  WRITE 26650 fe:00:11649087 0 EOF`: who holds it, not who waits for it.
fn record_locker(line: &str) -> Option<i32> {
    let mut words = line.split_whitespace().skip(1);
    (words.next()? == "POSIX").then_some(())?;
    words.nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_record_lock_is_told_and_who_waits_for_one_is_not() {
        let held = "1: POSIX  ADVISORY  WRITE 26650 fe:00:11649087 0 EOF";
        let waited = "1: -> POSIX  ADVISORY  WRITE 7 fe:00:11649087 0 EOF";
        let whole = "4: FLOCK  ADVISORY  WRITE 26209 fe:00:11649071 0 EOF";
        assert_eq!([held, waited, whole].map(record_locker), [Some(26650), None, None]);
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = b"7 (a) b (c) S 3 7 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 1";
        let stat = parse_stat(7, text).expect("parses");
        assert_eq!((stat.parent, stat.kernel_session, stat.process.start_ticks), (3, 9, 4242));
        assert!(!stat.zombie);
    }

    #[test]
    fn another_start_time_is_another_process() {
        let me = this_process().expect("this process exists");
        assert!(open(me).expect("opens").is_some());
        let other = Process { start_ticks: me.start_ticks + 1, ..me };
        assert!(open(other).expect("opens").is_none());
    }
}
