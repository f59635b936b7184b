//! The holders of sessions and jobs that live when a daemon starts. Reads only.

use std::collections::BTreeMap;

use perennial_api::Home;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, JobId, SessionNumber};
use perennial_core::owner::Owner;
use perennial_core::session::Process;
use perennial_engine::host::cgroup::{self, Cgroup};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::living::LivingHolder;
use perennial_engine::host::process;

use super::surface::identity::Registry;

/// Holders that live already, and cgroups of those that died: who calls from below or from within
/// them is known before they are connected, or swept.
pub fn register(home: &Home, fleet: &Fleet, living: &[LivingHolder]) -> Registry {
    let registry = Registry::default();
    let shims: BTreeMap<AgentId, Process> = living.iter().map(|it| (it.agent, it.shim)).collect();
    for agent in fleet.agents() {
        let Some(session) = agent.live_session() else { continue };
        let owner = Owner::Agent(agent.id);
        let holder = HolderDirectory::new(&home.holders(), agent.id);
        // One that lives and has no session yet is not among them.
        let shim = shims.get(&agent.id).copied().or_else(|| shim(&holder));
        if let Some(shim) = shim {
            registry.add(owner, shim, None);
        }
        for number in [Some(session.number), session.number.previous()].into_iter().flatten() {
            if let Some(id) = cgroup_id(home, &holder, owner, number) {
                registry.add_cgroup(owner, id);
            }
        }
    }
    register_jobs(home, &registry);
    registry
}

/// The same for jobs: every directory counts, whatever the journal says of it.
fn register_jobs(home: &Home, registry: &Registry) {
    for job in jobs_on_disk(home) {
        let holder = HolderDirectory::of_job(&home.jobs(), job);
        let shim = shim(&holder);
        if let Some(shim) = shim {
            registry.add(Owner::Job(job), shim, None);
        }
        for number in holder.unfinished() {
            let Some(file) = holder.read_process(number) else { continue };
            if let Some(id) = cgroup_id(home, &holder, Owner::Job(job), number) {
                registry.add_cgroup(Owner::Job(job), id);
            }
            if shim.is_none() {
                registry.add_orphaned_job(job, file.process.into());
            }
        }
    }
}

fn shim(holder: &HolderDirectory) -> Option<Process> {
    let pid = holder.shim_pid().ok().flatten()?;
    Some(process::stat(pid)?.process)
}

/// Every job that has a directory.
pub fn jobs_on_disk(home: &Home) -> impl Iterator<Item = JobId> {
    let entries = std::fs::read_dir(home.jobs()).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The kernel's id of the cgroup that a session or run of a job had by its process file.
fn cgroup_id(
    home: &Home,
    holder: &HolderDirectory,
    owner: Owner,
    number: SessionNumber,
) -> Option<u64> {
    let path = holder.read_process(number)?.cgroup?;
    let named = cgroup::named(&path, &home.holders(), &owner.numbered(number))?;
    Cgroup::at(named).id()
}
