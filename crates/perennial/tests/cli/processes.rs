//! Processes as the kernel shows them: who belongs to a home, who carries a session's mark.
//!
//! Signals go through pidfds with compared start times, never to a bare pid.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use perennial_core::session::Process;
use perennial_engine::host::process;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, pidfd_send_signal};

/// A live process of a home.
#[derive(Debug, Clone)]
pub struct Found {
    pub process: Process,
    pub parent: i32,
    pub argv: Vec<String>,
    /// The session whose mark it carries, such as `agt_….2`.
    pub session: Option<String>,
}

impl Found {
    pub fn is_daemon(&self) -> bool {
        self.argv.first().is_some_and(|word| word == "perennial")
            && self.argv.get(1).is_some_and(|word| word == "daemon")
    }

    pub fn is_shim(&self) -> bool {
        self.argv.first().is_some_and(|word| word == "perennial")
            && self.argv.get(1).is_some_and(|word| word == "shim")
    }
}

/// Every live process whose environment names this home or its user's, and all descendants of those;
/// the ones that a test runs by itself (the command line) are among them while they run.
pub fn of_home(root: &Path, user: &Path) -> Vec<Found> {
    let marks = [
        [b"PERENNIAL_HOME=", root.as_os_str().as_bytes()].concat(),
        [b"HOME=", user.as_os_str().as_bytes()].concat(),
    ];
    let mut found = Vec::new();
    let mut others = Vec::new();
    for stat in process::pids().filter_map(process::stat).filter(|stat| !stat.zombie) {
        let pid = stat.process.pid;
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let session = variables
            .clone()
            .find_map(|entry| entry.strip_prefix(b"PERENNIAL_SESSION="))
            .map(|session| String::from_utf8_lossy(session).into_owned());
        let one = Found { process: stat.process, parent: stat.parent, argv: argv(pid), session };
        if variables.any(|entry| marks.iter().any(|mark| mark == entry))
            || is_shim_below(&one, root)
        {
            found.push(one);
        } else {
            others.push(one);
        }
    }
    let mut pids: BTreeSet<i32> = found.iter().map(|one| one.process.pid).collect();
    // Descendants that threw their environment away.
    while let Some(at) = others.iter().position(|one| pids.contains(&one.parent)) {
        let one = others.swap_remove(at);
        pids.insert(one.process.pid);
        found.push(one);
    }
    found
}

/// The live process that holds the lock of a file as a whole.
pub fn holder(file: &Path) -> Option<Found> {
    let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(file).ok()?).to_string();
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    // `4: FLOCK  ADVISORY  WRITE 26209 fe:00:11649071 0 EOF`
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&"FLOCK") && words.get(5)?.split(':').nth(2)? == inode;
        is_it.then(|| words[4].parse().ok())?
    })?;
    let stat = process::stat(pid).filter(|stat| !stat.zombie)?;
    Some(Found { process: stat.process, parent: stat.parent, argv: argv(pid), session: None })
}

/// A shim names its holder directory; its environment may be unreadable for us.
fn is_shim_below(one: &Found, root: &Path) -> bool {
    one.is_shim() && one.argv.get(2).is_some_and(|dir| Path::new(dir).starts_with(root))
}

/// The pids of all live processes below this one.
pub fn descendants(pid: i32) -> Vec<i32> {
    let mut others: Vec<_> =
        process::pids().filter_map(process::stat).filter(|stat| !stat.zombie).collect();
    let mut found = vec![pid];
    while let Some(at) = others.iter().position(|stat| found.contains(&stat.parent)) {
        found.push(others.swap_remove(at).process.pid);
    }
    found.split_off(1)
}

pub fn argv(pid: i32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.strip_suffix(&[0]).unwrap_or(&line).split(|byte| *byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The process that has this pid now, if one runs.
pub fn find(pid: u32) -> Option<Process> {
    let stat = process::stat(pid.cast_signed()).filter(|stat| !stat.zombie);
    stat.map(|stat| stat.process)
}

/// The process that has this pid now.
#[track_caller]
pub fn running(pid: u32) -> Process {
    find(pid).unwrap_or_else(|| panic!("no process {pid} is running"))
}

pub fn is_alive(one: Process) -> bool {
    process::stat(one.pid).is_some_and(|stat| stat.process == one && !stat.zombie)
}

/// Sends a kill signal to exactly this process; `false` if it is gone.
pub fn signal(one: Process, signal: Signal) -> bool {
    let handle = process::open(one).expect("processes can be opened");
    handle.is_some_and(|handle| pidfd_send_signal(handle, signal).is_ok())
}

/// Waits for the end of exactly this process; `false` if it is still there after `patience`.
pub fn wait_end(one: Process, patience: Duration) -> bool {
    let Some(handle) = process::open(one).expect("processes can be opened") else { return true };
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = rustix::time::Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            answer => return answer.expect("a pidfd can be polled") > 0,
        }
    }
}

/// KILL, and its effect waited for.
#[track_caller]
pub fn kill(one: Process) {
    signal(one, Signal::KILL);
    assert!(wait_end(one, Duration::from_secs(10)), "{one:?} survives KILL");
}

/// The most memory that a process ever had resident.
#[track_caller]
pub fn peak_bytes(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024
}
