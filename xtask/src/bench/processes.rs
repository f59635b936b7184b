//! Processes that a benchmark started or looks at: what they cost, and their end.
//!
//! A process is held by a descriptor, so that a pid that is used again is never signalled.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How long a process may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Process {
    pub pid: i32,
    handle: OwnedFd,
}

impl Process {
    pub fn open(pid: i32) -> Result<Process> {
        let number = Pid::from_raw(pid).context("not a pid")?;
        let handle = pidfd_open(number, PidfdFlags::empty())
            .with_context(|| format!("process {pid} is not there"))?;
        Ok(Process { pid, handle })
    }

    pub fn signal(&self, signal: Signal) {
        // One that is gone already is what was wanted.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// Whether it ends within the limit.
    pub fn ends(&self, limit: Duration) -> bool {
        let mut one = [PollFd::new(&self.handle, PollFlags::IN)];
        let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: 0 };
        poll(&mut one, Some(&limit)).is_ok_and(|ready| ready > 0)
    }

    /// Asks it to end, waits, and kills it if it does not.
    pub fn end(&self, signal: Signal) {
        self.signal(signal);
        if !self.ends(PATIENCE) {
            eprintln!("process {} did not end and is killed", self.pid);
            self.signal(Signal::KILL);
            self.ends(PATIENCE);
        }
    }
}

/// Its proportional share of memory, in kB. Another program's needs the right to look into it.
pub fn pss_kb(pid: i32) -> Result<f64> {
    memory_kb(pid, "Pss:")
}

/// All that it has in memory, shared or not.
pub fn rss_kb(pid: i32) -> Result<f64> {
    memory_kb(pid, "Rss:")
}

fn memory_kb(pid: i32, name: &str) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    let number = line.split_whitespace().next().context("an empty line")?;
    Ok(number.parse()?)
}

/// The mean over some processes.
pub fn mean_pss_kb(pids: &[i32]) -> Result<f64> {
    ensure!(!pids.is_empty(), "no process to look at");
    let all: Result<Vec<f64>> = pids.iter().map(|pid| pss_kb(*pid)).collect();
    Ok(all?.iter().sum::<f64>() / pids.len() as f64)
}

/// What processes did so far: on the processor, and how often they were switched to or from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Activity {
    pub run_ms: f64,
    pub switches: u64,
}

impl Activity {
    pub fn of(pids: &[i32]) -> Activity {
        let mut all = Activity::default();
        let tasks = pids.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
        for task in tasks.flatten().flatten() {
            let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let run_ns = read("schedstat").split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
            all.run_ms += run_ns.unwrap_or_default() / 1e6;
            let status = read("status");
            let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
            let counts =
                counts.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            all.switches += counts.sum::<u64>();
        }
        all
    }

    pub fn since(self, before: Activity) -> Activity {
        Activity {
            run_ms: self.run_ms - before.run_ms,
            switches: self.switches.saturating_sub(before.switches),
        }
    }
}

pub fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, spaces and parentheses too.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Processes with an argument that begins with this path: those that work in a directory of ours.
pub fn working_in(path: &Path) -> Vec<i32> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let wanted = path.as_os_str().as_encoded_bytes();
    pids.filter(|pid| *pid != std::process::id().cast_signed())
        .filter(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word.starts_with(wanted))
        })
        .collect()
}
