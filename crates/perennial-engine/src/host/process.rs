//! Who a process is: pid and start time together, its parent, its pidfd.
//!
//! Reads /proc and nothing else; never signals by a bare pid.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
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
    /// A kill signal has stopped it until it is continued.
    pub stopped: bool,
}

/// More than the kernel writes: a name of 64 bytes and 51 numbers.
const STAT_BYTES_MAX: usize = 2048;

/// What the kernel says of `pid` now; `None` if it is gone.
pub fn stat(pid: i32) -> Option<Stat> {
    // The kernel gives the whole line at once. A daemon that starts asks for thousands of them.
    let mut line = [0; STAT_BYTES_MAX];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse_stat(pid, &line[..length])
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
    let stopped = matches!(state, "T" | "t");
    Some(Stat { process: Process { pid, start_ticks }, parent, kernel_session, zombie, stopped })
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

/// The processes that a process has started and that it has not outlived.
pub fn children(pid: i32) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| std::fs::read_to_string(it.path().join("children")).ok());
    let children = lists.flat_map(|list| {
        list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
    });
    children.collect()
}

/// Whether exactly this process runs.
pub fn is_alive(process: Process) -> bool {
    stat(process.pid).is_some_and(|seen| seen.process == process && !seen.zombie)
}

/// Waits for the end of a child of ours, for this long at most; whether it came.
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

/// A kill signal to exactly this process, if it is still there.
pub fn signal_exactly(process: Process, signals: &[Signal]) {
    if let Ok(Some(handle)) = open(process) {
        for signal in signals {
            let _gone_already = pidfd_send_signal(&handle, *signal);
        }
    }
}

/// Whether a process ignores this kill signal; one that is gone does not.
pub fn ignores(pid: i32, signal: Signal) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal.as_raw() - 1) & 1 == 1
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

/// The user of the process at the other end of a unix socket.
pub fn peer_uid(socket: impl AsFd) -> io::Result<u32> {
    peer(socket).map(|peer| peer.uid)
}

/// The process at the other end of a unix socket. Not by rustix: its pid is 0 if it is not visible here.
pub fn peer(socket: impl AsFd) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the kernel writes at most `length` bytes into `peer`, which has them.
    match unsafe { libc::getsockopt(socket, level, name, (&raw mut peer).cast(), &raw mut length) }
    {
        0 => Ok(peer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Which process has a file locked as a whole: by a record lock, or else by `flock`, as the kernel lists it.
pub fn whole_file_locker(file: impl AsFd) -> Option<i32> {
    let locker = locker(&file).ok().flatten().filter(|pid| *pid > 0);
    locker.or_else(|| {
        let seen = rustix::fs::fstat(&file).ok()?;
        let (major, minor) = (rustix::fs::major(seen.st_dev), rustix::fs::minor(seen.st_dev));
        let place = format!("{major:02x}:{minor:02x}:{}", seen.st_ino);
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        // `4: FLOCK  ADVISORY  WRITE 26209 fe:00:11649071 0 EOF`
        locks.lines().find_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let is_it = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&place.as_str());
            is_it.then(|| words[4].parse().ok().filter(|pid| *pid > 0))?
        })
    })
}

/// Which process holds a record lock on a file: 0 if it is outside this pid namespace, -1 if the lock belongs to an
/// open file and not to a process. Not by rustix: it takes no number below 0.
pub fn locker(file: impl AsFd) -> io::Result<Option<i32>> {
    let kind = i16::try_from(libc::F_RDLCK).expect("a small number");
    let whence = i16::try_from(libc::SEEK_SET).expect("a small number");
    let mut lock = libc::flock { l_type: kind, l_whence: whence, l_start: 0, l_len: 0, l_pid: 0 };
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the kernel reads and writes the one `flock` that it is given.
    match unsafe { libc::fcntl(file, libc::F_GETLK, &raw mut lock) } {
        0 => Ok((libc::c_int::from(lock.l_type) != libc::F_UNLCK).then_some(lock.l_pid)),
        _ => Err(io::Error::last_os_error()),
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
