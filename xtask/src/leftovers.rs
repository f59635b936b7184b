//! Processes that a test run left behind: all that descend from this one when the run is over.
//!
//! This process is the subreaper of what it starts, so that an orphan falls to it, whatever it did to its parent,
//! kernel session or environment. Leftovers are named, ended by pid and start time, and fail the run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Once;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpgrp, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};

use crate::failure::Failure;

/// What is just ending is given this many looks, five seconds in all.
const LOOKS: usize = 50;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);
const REAP_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    /// In clock ticks since the machine's start: with the pid, exactly this process.
    started: String,
    argv: String,
}

/// Runs a step; whatever it leaves behind is a failure.
pub fn none_of(step: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    inherit_orphans()?;
    let result = step();
    let mut left = descendants();
    for _ in 0..LOOKS {
        if left.is_empty() {
            break;
        }
        std::thread::park_timeout(LOOK_AGAIN_AFTER);
        left = descendants();
    }
    for process in &left {
        eprintln!("left behind by the tests: pid {}: {}", process.pid, process.argv);
        end(process);
    }
    result?;
    if left.is_empty() { Ok(()) } else { Err(Failure::LeftBehind { processes: left.len() }) }
}

/// From now on, orphans fall to this process, and those that have ended do not stay for ever.
fn inherit_orphans() -> Result<(), Failure> {
    static REAPER: Once = Once::new();
    set_child_subreaper(Some(getpid())).map_err(|error| Failure::NotRun {
        program: "the inheritance of orphans".into(),
        source: error.into(),
    })?;
    REAPER.call_once(|| {
        std::thread::spawn(|| {
            loop {
                reap_orphans();
                std::thread::park_timeout(REAP_EVERY);
            }
        });
    });
    Ok(())
}

/// Only of other process groups: whoever started a program in ours waits for it.
fn reap_orphans() {
    let (own, group) = (getpid().as_raw_pid(), getpgrp().as_raw_pid());
    let is_dead_orphan =
        |stat: &&Stat| stat.parent == own && stat.is_over && stat.process_group != group;
    for stat in all().values().filter(is_dead_orphan) {
        let _reaped = waitpid(Pid::from_raw(stat.pid), WaitOptions::NOHANG);
    }
}

fn end(process: &Process) {
    let handle =
        Pid::from_raw(process.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    // Exactly this one: the pid may be another's by now.
    if let Some(handle) = handle.filter(|_| descendants().contains(process)) {
        let _gone_already = pidfd_send_signal(handle, Signal::KILL);
    }
}

fn descendants() -> BTreeSet<Process> {
    let all = all();
    let own = getpid().as_raw_pid();
    let parent = |pid: &i32| all.get(pid).map(|stat| stat.parent);
    let is_below = |stat: &&Stat| {
        // A chain that changes while it is read must not become a circle.
        std::iter::successors(Some(stat.parent), parent).take(all.len()).any(|pid| pid == own)
    };
    let alive = all.values().filter(|stat| !stat.is_over).filter(is_below);
    alive
        .map(|stat| Process { pid: stat.pid, started: stat.started.clone(), argv: argv(stat.pid) })
        .collect()
}

fn argv(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned()
}

/// What /proc/PID/stat says, as far as it is needed here.
struct Stat {
    pid: i32,
    parent: i32,
    process_group: i32,
    started: String,
    is_over: bool,
}

fn all() -> BTreeMap<i32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name may hold anything, parentheses too.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat {
        pid,
        is_over: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        process_group: fields.get(2)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;

    #[test]
    fn an_orphan_that_hid_itself_is_found_and_ended() {
        inherit_orphans().expect("orphans are inherited");
        let script = "env -i setsid sleep 1000 < /dev/null > /dev/null 2>&1 &";
        program::run(&["sh", "-c", script]).expect("a shell runs");
        let sleeper = || descendants().into_iter().find(|one| one.argv == "sleep 1000");
        let left = std::iter::repeat_with(|| {
            std::thread::park_timeout(Duration::from_millis(5));
            sleeper()
        });
        let left = left.take(2_000).flatten().next().expect("it is seen");
        end(&left);
        let is_gone = std::iter::repeat_with(|| {
            std::thread::park_timeout(Duration::from_millis(5));
            sleeper().is_none()
        });
        assert!(is_gone.take(2_000).any(|is_gone| is_gone), "it is ended");
    }
}
