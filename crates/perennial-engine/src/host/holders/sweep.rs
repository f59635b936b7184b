//! Ends what is left of sessions and jobs whose shim died: their cgroups, whatever carries their mark, whatever
//! fell to this process, and all descendants of those; again until none is left.
//!
//! One look at /proc serves all agents that are swept. Signals go through pidfds with compared start
//! times, never to a bare pid.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::session::Process;
use rustix::process::{Pid, WaitOptions, waitpid};

use super::super::ancestry;
use super::super::cgroup::Cgroup;
use super::super::directory::HolderDirectory;
use super::super::monotonic::Moment;
use super::super::owner::{self, Owner};
use super::super::process::{self, Stat};

const AGAIN_AFTER: Duration = Duration::from_millis(4);
const AGAIN_AFTER_MAX: Duration = Duration::from_millis(250);
/// A process may be born behind the eye of one look; not behind two.
const CLEAN_LOOKS: u8 = 2;
/// No chain of parents is followed further.
const LONGEST_CHAIN: usize = 4096;

/// The agents whose trees are being ended.
#[derive(Debug, Default)]
pub struct Sweep {
    entries: HashMap<Owner, Entry>,
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
    /// Where its shim was at work.
    pub directory: PathBuf,
    pub cgroups: Vec<Cgroup>,
    /// Main processes of this boot: whoever is in the kernel session of one belongs to it.
    pub mains: Vec<Process>,
}

impl Sweep {
    /// Begins to end everything of this owner.
    pub fn add(&mut self, owner: Owner, traces: Traces, now: Moment) {
        self.entries.insert(owner, Entry { traces, clean: 0 });
        self.at = Some(now);
        self.wait = AGAIN_AFTER;
    }

    pub fn is_sweeping(&self, owner: Owner) -> bool {
        self.entries.contains_key(&owner)
    }

    pub fn next_deadline(&self) -> Option<Moment> {
        self.at
    }

    /// Looks once and kills what is found; `shims`, the pids of living ones, are spared. Returns the agents of which
    /// nothing is left.
    pub fn look(&mut self, shims: &[i32], now: Moment) -> Vec<Owner> {
        for entry in self.entries.values() {
            entry.traces.cgroups.iter().for_each(Cgroup::kill);
        }
        let found = find(&self.entries, shims);
        for (stat, _) in &found {
            process::kill_exactly(stat.process);
        }
        let has_orphans = found.iter().any(|(_, owner)| owner.is_none());
        let mut done = Vec::new();
        for (owner, entry) in &mut self.entries {
            entry.traces.cgroups.retain(|cgroup| !cgroup.remove());
            let is_found = has_orphans || found.iter().any(|(_, whose)| *whose == Some(*owner));
            entry.clean =
                if is_found || !entry.traces.cgroups.is_empty() { 0 } else { entry.clean + 1 };
            if entry.clean >= CLEAN_LOOKS {
                done.push(*owner);
            }
        }
        for owner in &done {
            self.entries.remove(owner);
        }
        self.at = (!self.entries.is_empty()).then_some(now + self.wait);
        self.wait = (self.wait * 2).min(AGAIN_AFTER_MAX);
        done
    }
}

/// Every live process to be ended, with the owner it belongs to; an orphan's is not known.
fn find(entries: &HashMap<Owner, Entry>, shims: &[i32]) -> Vec<(Stat, Option<Owner>)> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let own_session = process::stat(me).map_or(0, |stat| stat.kernel_session);
    let lockers = process::lock_holders();
    let mut found: Vec<(Stat, Option<Owner>)> = Vec::new();
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
        let is_orphan = is_foreign && !is_holding_shim(pid, lockers.as_ref());
        match owner_by_mark(pid, entries, lockers.as_ref())
            .or_else(|| owner_by_kernel_session(&stat, entries))
        {
            Some(owner) => found.push((stat, Some(owner))),
            None if is_orphan => found.push((stat, None)),
            None => others.push(stat),
        }
    }
    // Descendants that threw their mark away.
    let mut next = 0;
    while next < found.len() {
        let (parent, owner) = (found[next].0.process.pid, found[next].1);
        others.retain(|stat| {
            let is_child = stat.parent == parent;
            if is_child {
                found.push((*stat, owner));
            }
            !is_child
        });
        next += 1;
    }
    found
}

/// Whose mark a process carries in the environment it was executed with.
fn owner_by_mark(
    pid: i32,
    entries: &HashMap<Owner, Entry>,
    lockers: Option<&HashSet<i32>>,
) -> Option<Owner> {
    let owner = owner::marked(pid)?;
    let entry = entries.get(&owner)?;
    // A copied home has the same agents: what another directory's shim holds is not ours.
    (!is_held_elsewhere(pid, &entry.traces.directory, lockers)).then_some(owner)
}

/// Whether a process is below a living shim that does not hold this directory. Which one a shim holds is asked
/// of the lock: the path that it was started with may be another home's by now.
fn is_held_elsewhere(pid: i32, directory: &Path, lockers: Option<&HashSet<i32>>) -> bool {
    let parent = |pid: &i32| process::stat(*pid).map(|stat| stat.parent).filter(|pid| *pid > 1);
    let mut above = std::iter::successors(Some(pid), parent).take(LONGEST_CHAIN);
    let Some(shim) = above.find(|pid| is_holding_shim(*pid, lockers)) else { return false };
    let holder = HolderDirectory::at(directory.to_owned()).shim_pid();
    !holder.is_ok_and(|holder| holder == Some(shim))
}

/// Whether a process is a shim that holds its owner's directory, whichever that is. A child of a dead shim that
/// has not executed yet looks the same but for the lock; where nobody tells of locks, both are spared.
fn is_holding_shim(pid: i32, lockers: Option<&HashSet<i32>>) -> bool {
    let is_shim = || process::stat(pid).is_some_and(|stat| ancestry::is_shim(&stat));
    lockers.is_none_or(|lockers| lockers.contains(&pid)) && is_shim()
}

/// Whose main process leads, or led, the kernel session of a process. Its number is not given to another
/// one while a member lives, unless a process of that pid but another start time is there.
fn owner_by_kernel_session(stat: &Stat, entries: &HashMap<Owner, Entry>) -> Option<Owner> {
    let (owner, main) = entries.iter().find_map(|(owner, entry)| {
        let mains = &entry.traces.mains;
        Some((*owner, *mains.iter().find(|main| main.pid == stat.kernel_session)?))
    })?;
    let leader = process::stat(main.pid);
    leader.is_none_or(|leader| leader.process == main).then_some(owner)
}

fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _not_ours = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
