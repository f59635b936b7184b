//! Ends what is left of sessions whose shim died: their cgroups, whatever carries their mark, whatever
//! fell to this process, and all descendants of those; again until none is left.
//!
//! One look at /proc serves all agents that are swept. Signals go through pidfds with compared start
//! times, never to a bare pid.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use perennial_core::id::AgentId;
use perennial_core::session::Process;
use rustix::process::{Pid, WaitOptions, waitpid};

use super::super::cgroup::Cgroup;
use super::super::directory::HolderDirectory;
use super::super::moment::Moment;
use super::super::process::{self, Stat};

const AGAIN_AFTER: Duration = Duration::from_millis(4);
const AGAIN_AFTER_MAX: Duration = Duration::from_millis(250);
/// A process may be born behind the eye of one look; not behind two.
const CLEAN_LOOKS: u8 = 2;

/// The agents whose trees are being ended.
#[derive(Debug, Default)]
pub struct Sweep {
    entries: HashMap<AgentId, Entry>,
    at: Option<Moment>,
    wait: Duration,
}

#[derive(Debug)]
struct Entry {
    traces: Traces,
    clean: u8,
}

/// Where to look for what a dead shim left.
#[derive(Debug)]
pub struct Traces {
    pub cgroups: Vec<Cgroup>,
    /// Main processes of this boot: whoever is in the kernel session of one belongs to it.
    pub mains: Vec<Process>,
}

impl Sweep {
    /// Begins to end everything of this agent.
    pub fn add(&mut self, agent: AgentId, traces: Traces, now: Moment) {
        self.entries.insert(agent, Entry { traces, clean: 0 });
        self.at = Some(now);
        self.wait = AGAIN_AFTER;
    }

    pub fn is_sweeping(&self, agent: AgentId) -> bool {
        self.entries.contains_key(&agent)
    }

    pub fn next_deadline(&self) -> Option<Moment> {
        self.at
    }

    /// Looks once and kills what is found; `shims`, the pids of living ones, are spared. Returns the agents of which
    /// nothing is left.
    pub fn look(&mut self, shims: &[i32], now: Moment) -> Vec<AgentId> {
        for entry in self.entries.values() {
            entry.traces.cgroups.iter().for_each(Cgroup::kill);
        }
        let found = find(&self.entries, shims);
        for (stat, _) in &found {
            process::kill_exactly(stat.process);
        }
        let has_orphans = found.iter().any(|(_, agent)| agent.is_none());
        let mut done = Vec::new();
        for (agent, entry) in &mut self.entries {
            entry.traces.cgroups.retain(|cgroup| !cgroup.remove());
            let is_found = has_orphans || found.iter().any(|(_, owner)| *owner == Some(*agent));
            entry.clean =
                if is_found || !entry.traces.cgroups.is_empty() { 0 } else { entry.clean + 1 };
            if entry.clean >= CLEAN_LOOKS {
                done.push(*agent);
            }
        }
        for agent in &done {
            self.entries.remove(agent);
        }
        self.at = (!self.entries.is_empty()).then_some(now + self.wait);
        self.wait = (self.wait * 2).min(AGAIN_AFTER_MAX);
        done
    }
}

/// Every live process to be ended, with the agent it belongs to; an orphan's is not known.
fn find(entries: &HashMap<AgentId, Entry>, shims: &[i32]) -> Vec<(Stat, Option<AgentId>)> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let own_session = process::stat(me).map_or(0, |stat| stat.kernel_session);
    let mut found: Vec<(Stat, Option<AgentId>)> = Vec::new();
    let mut others: Vec<Stat> = Vec::new();
    for stat in process::pids().filter_map(process::stat) {
        let pid = stat.process.pid;
        if pid == me || shims.contains(&pid) {
            continue;
        }
        // What fell to us from a dead shim is in a kernel session of its own; our own children are not.
        let is_foreign = stat.parent == me && stat.kernel_session != own_session;
        if stat.zombie {
            if is_foreign {
                reap(pid);
            }
            continue;
        }
        let is_orphan = is_foreign && !is_holding_shim(pid);
        match owner(pid, entries).or_else(|| owner_by_kernel_session(&stat, entries)) {
            Some(agent) => found.push((stat, Some(agent))),
            None if is_orphan => found.push((stat, None)),
            None => others.push(stat),
        }
    }
    // Descendants that threw their mark away.
    let mut next = 0;
    while next < found.len() {
        let (parent, agent) = (found[next].0.process.pid, found[next].1);
        others.retain(|stat| {
            let is_child = stat.parent == parent;
            if is_child {
                found.push((*stat, agent));
            }
            !is_child
        });
        next += 1;
    }
    found
}

/// Whose mark a process carries in the environment it was executed with.
fn owner(pid: i32, entries: &HashMap<AgentId, Entry>) -> Option<AgentId> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environ.split(|byte| *byte == 0);
    let session = variables.find_map(|v| v.strip_prefix(b"PERENNIAL_SESSION="))?;
    let (agent, _) = std::str::from_utf8(session).ok()?.split_once('.')?;
    agent.parse().ok().filter(|agent| entries.contains_key(agent))
}

/// Whose main process leads, or led, the kernel session of a process. Its number is not given to another
/// one while a member lives, unless a process of that pid but another start time is there.
fn owner_by_kernel_session(stat: &Stat, entries: &HashMap<AgentId, Entry>) -> Option<AgentId> {
    let (agent, main) = entries.iter().find_map(|(agent, entry)| {
        let mains = &entry.traces.mains;
        Some((*agent, *mains.iter().find(|main| main.pid == stat.kernel_session)?))
    })?;
    let leader = process::stat(main.pid);
    leader.is_none_or(|leader| leader.process == main).then_some(agent)
}

/// Whether a process is a shim that holds its agent, though we have not met it: it was started here
/// before its holders were stopped. A child of a dead shim that has not executed yet looks the same but
/// for the lock.
fn is_holding_shim(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let dir = line.strip_prefix(b"perennial\0shim\0").and_then(|dir| dir.split(|b| *b == 0).next());
    dir.is_some_and(|dir| {
        let directory = HolderDirectory::at(PathBuf::from(OsStr::from_bytes(dir)));
        directory.shim_pid().is_ok_and(|holder| holder == Some(pid))
    })
}

fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _not_ours = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
