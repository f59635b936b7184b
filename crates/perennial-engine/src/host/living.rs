//! Which holders live, and which session each has: asked of the kernel and of their directories, so that it is
//! known also where the journal has lost it.
//!
//! Reads only. What a directory says is believed where the kernel confirms it.

use std::collections::HashMap;
use std::path::Path;

use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Process;

use super::directory::HolderDirectory;
use super::owner::{self, Owner};
use super::process::{self, Stat};

/// A living holder and the newest session that it has.
#[derive(Debug, Clone)]
pub struct LivingHolder {
    pub agent: AgentId,
    pub directory: HolderDirectory,
    pub shim: Process,
    pub number: SessionNumber,
    /// The session's program, while it runs.
    pub process: Option<Process>,
}

/// Every agent's holder that lives and has, or had, a session.
pub fn holders(holders: &Path) -> Vec<LivingHolder> {
    let entries = std::fs::read_dir(holders).into_iter().flatten().flatten();
    let agents = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut children = None;
    agents.filter_map(|agent| look(holders, agent, &mut children)).collect()
}

/// The children of every process, made when they are first asked for: that reads all of /proc.
type Children = Option<HashMap<i32, Vec<Stat>>>;

fn look(holders: &Path, agent: AgentId, children: &mut Children) -> Option<LivingHolder> {
    let directory = HolderDirectory::new(holders, agent);
    let shim = process::stat(directory.shim_pid().ok()??)?.process;
    let claimed = directory.claimed();
    let recorded = claimed.iter().find_map(|number| {
        let process = Process::from(directory.read_process(*number)?.process);
        let seen = process::stat(process.pid).filter(|seen| seen.process == process)?;
        (seen.parent == shim.pid && !seen.zombie).then_some((*number, Some(process)))
    });
    let (number, process) = recorded
        .or_else(|| marked(agent, children.get_or_insert_with(all_children).get(&shim.pid)?))
        .or_else(|| Some((*claimed.first()?, None)))?;
    Some(LivingHolder { agent, directory, shim, number, process })
}

/// The session of the newest number that a child of the shim carries the mark of.
fn marked(agent: AgentId, children: &[Stat]) -> Option<(SessionNumber, Option<Process>)> {
    let own = |stat: &Stat| {
        let number = mark(agent, stat.process.pid)?;
        // Of what a session left behind, its first process is its own.
        let is_main = stat.kernel_session == stat.process.pid;
        Some((number, is_main, std::cmp::Reverse(stat.process.start_ticks), stat.process))
    };
    let (number, _, _, process) = children.iter().filter_map(own).max()?;
    Some((number, Some(process)))
}

fn all_children() -> HashMap<i32, Vec<Stat>> {
    let mut children: HashMap<i32, Vec<Stat>> = HashMap::new();
    for stat in process::pids().filter_map(process::stat).filter(|stat| !stat.zombie) {
        children.entry(stat.parent).or_default().push(stat);
    }
    children
}

/// The number of the session whose mark a process was executed with.
fn mark(agent: AgentId, pid: i32) -> Option<SessionNumber> {
    let own = |(owner, number)| if owner == Owner::Agent(agent) { number } else { None };
    owner::marks_of(pid).into_iter().find_map(own)
}
