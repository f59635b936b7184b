//! Who calls: shown by processes, never by what a caller claims.
//!
//! A caller is the *agent* or *job* whose shim is above it, or whose cgroup or mark it has; a *person*
//! only with our own uid and a complete chain of parents up to pid 1 without any sign of a session.
//! Anybody else is a *viewer*; who leads to two agents is *ambiguous* and has no rights.
//!
//! Invariants
//! - ID1  A shim above the caller that this daemon does not know, of whatever home, makes it a viewer:
//!   no mark and no cgroup gives it more.
//! - ID2  Evidence only ever lowers rights: a job and an ambiguous caller, who have none, come first.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::RwLock;

use perennial_core::admission::Party;
use perennial_core::authority::Caller;
use perennial_core::id::{AgentId, JobId};
use perennial_core::session::Process;
use perennial_engine::host::ancestry::{self, Broken, Looks, TRIES};
use perennial_engine::host::owner::Owner;
use perennial_engine::host::{process, sight};

/// The process at the other end of a connection; kept, so that its pid cannot come to mean another.
#[derive(Debug)]
pub struct Peer {
    pidfd: Option<OwnedFd>,
    pid: i32,
    uid: u32,
}

/// The holders and cgroups that lead to agents and jobs.
#[derive(Debug, Default)]
pub struct Registry(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    shims: HashMap<Process, Owner>,
    cgroups: HashMap<u64, Owner>,
    /// Main processes of jobs whose shim died: whoever is in the kernel session of one is the job's.
    orphaned: Vec<(JobId, Process)>,
}

fn caller_of(owner: Owner) -> Caller {
    match owner {
        Owner::Agent(id) => Caller::Agent(id),
        Owner::Job(_) => Caller::Job,
    }
}

impl Registry {
    /// A holder's process stays its agent's, also after its connection is lost.
    pub fn add(&self, agent: AgentId, shim: Process, cgroup: Option<u64>) {
        self.add_shim(Owner::Agent(agent), shim);
        if let Some(id) = cgroup {
            self.add_cgroup(agent, id);
        }
    }

    /// The holder of a job, and its cgroup once that is known.
    pub fn add_job(&self, job: JobId, shim: Process, cgroup: Option<u64>) {
        self.add_shim(Owner::Job(job), shim);
        if let Some(id) = cgroup {
            self.add_job_cgroup(job, id);
        }
    }

    pub fn add_job_cgroup(&self, job: JobId, id: u64) {
        self.0.write().expect("nobody panics with it").cgroups.insert(id, Owner::Job(job));
    }

    /// The main process of a job whose shim died while no daemon was there to end the tree.
    pub fn add_orphaned_job(&self, job: JobId, main: Process) {
        self.0.write().expect("nobody panics with it").orphaned.push((job, main));
    }

    /// No process of the job is left.
    pub fn forget_job(&self, job: JobId) {
        let mut known = self.0.write().expect("nobody panics with it");
        known.shims.retain(|_, owner| *owner != Owner::Job(job));
        known.cgroups.retain(|_, owner| *owner != Owner::Job(job));
        known.orphaned.retain(|(orphaned, _)| *orphaned != job);
    }

    fn add_shim(&self, owner: Owner, shim: Process) {
        self.0.write().expect("nobody panics with it").shims.insert(shim, owner);
    }

    /// The cgroup of a session: who is in it is the agent's, also when its holder is dead.
    pub fn add_cgroup(&self, agent: AgentId, id: u64) {
        self.0.write().expect("nobody panics with it").cgroups.insert(id, Owner::Agent(agent));
    }

    /// Of agents that have left memory: their sessions are over, with everything below them.
    pub fn forget(&self, agents: &[AgentId]) {
        if agents.is_empty() {
            return;
        }
        let is_kept = |owner: &Owner| match owner {
            Owner::Agent(agent) => !agents.contains(agent),
            Owner::Job(_) => true,
        };
        let mut known = self.0.write().expect("nobody panics with it");
        known.shims.retain(|_, owner| is_kept(owner));
        known.cgroups.retain(|_, owner| is_kept(owner));
    }

    fn shim(&self, process: Process) -> Option<Owner> {
        self.0.read().expect("nobody panics with it").shims.get(&process).copied()
    }

    /// Whether a process is in the kernel session of an orphaned job. The session's number is not given
    /// to another process while a member lives, unless its leader has another start time.
    fn is_orphan(&self, stat: &process::Stat) -> bool {
        let known = self.0.read().expect("nobody panics with it");
        let main = known.orphaned.iter().find(|(_, main)| main.pid == stat.kernel_session);
        main.is_some_and(|(_, main)| {
            process::stat(main.pid).is_none_or(|leader| leader.process == *main)
        })
    }

    fn cgroup(&self, id: u64) -> Option<Owner> {
        self.0.read().expect("nobody panics with it").cgroups.get(&id).copied()
    }
}

impl Peer {
    pub fn of(stream: &impl AsFd) -> io::Result<Peer> {
        let fd = stream.as_fd();
        let options = nix::sys::socket::sockopt::PeerCredentials;
        let credentials = nix::sys::socket::getsockopt(&fd, options)?;
        let pidfd = nix::sys::socket::getsockopt(&fd, nix::sys::socket::sockopt::PeerPidfd).ok();
        Ok(Peer { pidfd, pid: credentials.pid(), uid: credentials.uid() })
    }

    pub fn uid(&self) -> u32 {
        self.uid
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whose places this peer takes, once it is known who it is.
    pub fn party(&self, caller: Caller) -> Party {
        // 0 if its leader is outside of this pid namespace; not by rustix, which takes no 0.
        let session = nix::unistd::getsid(Some(nix::unistd::Pid::from_raw(self.pid)));
        Party::of(caller, session.map_or(self.pid, nix::unistd::Pid::as_raw), self.uid)
    }

    pub fn is_alive(&self) -> bool {
        match &self.pidfd {
            Some(pidfd) => !process::is_over(pidfd),
            // A kernel without SO_PEERPIDFD (before 6.5): the pid must do. A process of a pid namespace that
            // is not below ours has none here.
            None => self.pid == 0 || process::stat(self.pid).is_some(),
        }
    }

    /// Whom this peer is shown to be; `None`: it is gone, and nobody.
    pub fn caller(&self, registry: &Registry) -> Option<Caller> {
        let by_cgroup = self.pidfd.as_ref().and_then(cgroup_of).and_then(|id| registry.cgroup(id));
        let is_us = self.uid == rustix::process::getuid().as_raw();
        let mut tries = (0..TRIES).flat_map(|_| by_ancestry(self.pid, is_us, registry));
        let by_ancestry = tries.next().unwrap_or(Caller::Viewer);
        if !self.is_alive() {
            return None;
        }
        Some(lowered(by_ancestry, by_cgroup))
    }
}

/// What a cgroup adds to what the parents show (ID2). It gives nobody more: whoever may write to a cgroup can
/// move into it.
fn lowered(caller: Caller, cgroup: Option<Owner>) -> Caller {
    match (caller, cgroup) {
        (Caller::Job, _) | (_, Some(Owner::Job(_))) => Caller::Job,
        (Caller::Agent(id), Some(Owner::Agent(other))) if id != other => Caller::Ambiguous,
        (Caller::Person, Some(Owner::Agent(id))) => Caller::Agent(id),
        (caller, Some(Owner::Agent(_)) | None) => caller,
    }
}

/// Who is about to start a daemon: this process, by those above it. There is nobody yet who knows shims, so any
/// of them makes it a viewer.
pub fn starter() -> Caller {
    let me = std::process::id().cast_signed();
    let unknown = Registry::default();
    let mut tries = (0..TRIES).flat_map(|_| look(me, None, &unknown));
    match tries.next() {
        // The top of a pid namespace is as good as pid 1 here: a daemon inside starts only where it sees the
        // holders of its home (`sight`), and people's commands follow its parents further than it can.
        Some(above) if above.shims.is_empty() && above.top != Top::Broken => {
            by_marks(&above.pids).unwrap_or(Caller::Person)
        }
        Some(_) | None => Caller::Viewer,
    }
}

/// What is above a caller.
struct Above {
    /// The caller and all above it, as far as they were followed.
    pids: Vec<i32>,
    /// Whose shims are among them; `None` for one that is not known.
    shims: Vec<Option<Owner>>,
    top: Top,
}

/// Where the chain of parents ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Top {
    First,
    /// The first process that is visible in a pid namespace which was entered from outside.
    Namespace,
    /// The daemon itself: what falls to it is an orphan of a dead holder.
    Daemon,
    /// A process of the kernel session of a job whose shim died.
    OrphanedJob,
    Broken,
}

/// Follows the parents upwards; an error if they changed meanwhile.
fn look(pid: i32, daemon: Option<i32>, registry: &Registry) -> Result<Above, Broken> {
    let mut above = Above { pids: Vec::new(), shims: Vec::new(), top: Top::Namespace };
    for stat in ancestry::chain(pid) {
        let stat = match stat {
            Ok(stat) => stat,
            Err(broken @ (Broken::Changed | Broken::Unreadable)) if above.shims.is_empty() => {
                return Err(broken);
            }
            Err(Broken::Changed | Broken::Unreadable | Broken::TooDeep) => {
                above.top = Top::Broken;
                break;
            }
        };
        let pid = stat.process.pid;
        if let Some(owner) = registry.shim(stat.process) {
            above.shims.push(Some(owner));
        } else if registry.is_orphan(&stat) {
            above.top = Top::OrphanedJob;
            break;
        } else if daemon == Some(pid) {
            above.top = Top::Daemon;
            break;
        } else if let Some(looks) = ancestry::shim(&stat) {
            above.shims.push(match looks {
                // A job has no rights, so that its claim can be believed.
                Looks::Named(job @ Owner::Job(_)) => Some(job),
                Looks::Named(Owner::Agent(_)) | Looks::Hidden => None,
            });
        }
        above.pids.push(pid);
        if pid == 1 {
            above.top = Top::First;
        }
    }
    Ok(above)
}

fn by_ancestry(pid: i32, is_us: bool, registry: &Registry) -> Result<Caller, Broken> {
    let daemon = std::process::id().cast_signed();
    let above = look(pid, Some(daemon), registry)?;
    let is_job = |shim: &Option<Owner>| matches!(shim, Some(Owner::Job(_)));
    Ok(match (&above.shims[..], above.top) {
        (_, Top::OrphanedJob) => Caller::Job,
        (shims, _) if shims.iter().any(is_job) => Caller::Job,
        ([Some(_)], Top::Broken) => Caller::Viewer,
        ([Some(owner)], _) => caller_of(*owner),
        ([None], _) => Caller::Viewer,
        ([_, _, ..], _) => Caller::Ambiguous,
        ([], Top::First) => match by_marks(&above.pids) {
            Some(caller) => caller,
            None if is_us => Caller::Person,
            None => Caller::Viewer,
        },
        ([], Top::Namespace | Top::Daemon | Top::Broken) => Caller::Viewer,
    })
}

/// Whose marks the environments of these processes carry.
fn by_marks(pids: &[i32]) -> Option<Caller> {
    let mut owners: Vec<Owner> = pids.iter().filter_map(|pid| Owner::marked(*pid)).collect();
    owners.dedup();
    let job = owners.iter().find(|owner| matches!(owner, Owner::Job(_)));
    match (job, &owners[..]) {
        (Some(_), _) => Some(Caller::Job),
        (None, []) => None,
        (None, [owner]) => Some(caller_of(*owner)),
        (None, [_, _, ..]) => Some(Caller::Ambiguous),
    }
}

/// The id of a process's cgroup, where the kernel tells (Linux 6.13).
fn cgroup_of(pidfd: &OwnedFd) -> Option<u64> {
    const WITH_CGROUP: u64 = 1 << 2;
    let info = sight::pidfd_info(pidfd, WITH_CGROUP)?;
    (info.mask & WITH_CGROUP != 0).then_some(info.cgroup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn peer() -> (Peer, Process, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        let peer = Peer::of(&near).unwrap();
        let own = process::stat(peer.pid).unwrap().process;
        (peer, own, far)
    }

    #[test]
    fn a_pid_with_another_start_is_another_process() {
        let (peer, own, _far) = peer();
        let registry = Registry::default();
        let reused = Process { start_ticks: own.start_ticks + 1, ..own };
        registry.add(AgentId(7), reused, None);
        assert_ne!(peer.caller(&registry), Some(Caller::Agent(AgentId(7))));
        registry.add(AgentId(7), own, None);
        assert_eq!(peer.caller(&registry), Some(Caller::Agent(AgentId(7))));
    }

    #[test]
    fn who_calls_from_below_the_shim_of_a_job_is_that_job() {
        let (peer, own, _far) = peer();
        let registry = Registry::default();
        registry.add_job(JobId(7), own, None);
        registry.forget_job(JobId(8));
        assert_eq!(peer.caller(&registry), Some(Caller::Job));
        registry.forget_job(JobId(7));
        assert_ne!(peer.caller(&registry), Some(Caller::Job));
    }

    #[test]
    fn an_orphan_of_a_job_is_no_person() {
        let (peer, _, _far) = peer();
        let stat = process::stat(peer.pid).unwrap();
        let leader = process::stat(stat.kernel_session).map(|leader| leader.process);
        let leader = leader.unwrap_or(Process { pid: stat.kernel_session, start_ticks: 0 });
        let registry = Registry::default();
        // Another process had this number before: it says nothing of us, if its successor is there.
        let earlier = Process { start_ticks: leader.start_ticks + 1, ..leader };
        registry.add_orphaned_job(JobId(7), earlier);
        if process::stat(leader.pid).is_some() {
            assert_ne!(peer.caller(&registry), Some(Caller::Job));
        }
        let registry = Registry::default();
        registry.add_orphaned_job(JobId(7), leader);
        assert_eq!(peer.caller(&registry), Some(Caller::Job));
    }

    #[test]
    fn a_cgroup_of_a_job_leaves_no_rights() {
        let (peer, own, _far) = peer();
        let registry = Registry::default();
        let Some(cgroup) = peer.pidfd.as_ref().and_then(cgroup_of) else {
            // An older kernel tells nothing here; ancestry decides alone.
            return;
        };
        registry.add(AgentId(7), own, None);
        registry.add_job_cgroup(JobId(7), cgroup);
        assert_eq!(peer.caller(&registry), Some(Caller::Job));
    }

    #[test]
    fn a_cgroup_only_ever_lowers_rights() {
        let (agent, other) = (Caller::Agent(AgentId(7)), Caller::Agent(AgentId(8)));
        let (session, job) = (Some(Owner::Agent(AgentId(7))), Some(Owner::Job(JobId(7))));
        for caller in [Caller::Person, agent, Caller::Job, Caller::Viewer, Caller::Ambiguous] {
            assert_eq!(lowered(caller, None), caller);
            assert_eq!(lowered(caller, job), Caller::Job);
        }
        assert_eq!(lowered(Caller::Person, session), agent);
        assert_eq!(lowered(agent, session), agent);
        assert_eq!(lowered(other, session), Caller::Ambiguous);
        for caller in [Caller::Job, Caller::Viewer, Caller::Ambiguous] {
            assert_eq!(lowered(caller, session), caller);
        }
    }
}
