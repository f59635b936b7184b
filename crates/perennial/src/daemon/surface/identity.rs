//! Who calls: shown by processes, never by what a caller claims.
//!
//! Only looks. Which caller follows from what is seen here is the core's table (`caller.rs`).

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use perennial_core::admission::Party;
use perennial_core::authority::Caller;
use perennial_core::caller::{CallerEvidence, ShimAbove, Top};
use perennial_core::id::{AgentId, JobId};
use perennial_core::owner::Owner;
use perennial_core::session::Process;
use perennial_engine::host::ancestry::{self, Broken, Looks, TRIES};
use perennial_engine::host::{owner, process, sight};

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

impl Registry {
    /// A holder's process stays its owner's, also after its connection is lost.
    pub fn add(&self, owner: Owner, shim: Process, cgroup: Option<u64>) {
        let mut known = self.write();
        known.shims.insert(shim, owner);
        known.cgroups.extend(cgroup.map(|id| (id, owner)));
    }

    /// Who is in this cgroup is the owner's, also when its holder is dead.
    pub fn add_cgroup(&self, owner: Owner, id: u64) {
        self.write().cgroups.insert(id, owner);
    }

    /// The main process of a job whose shim died while no daemon was there to end the tree.
    pub fn add_orphaned_job(&self, job: JobId, main: Process) {
        self.write().orphaned.push((job, main));
    }

    /// No process of the job is left.
    pub fn forget_job(&self, job: JobId) {
        let mut known = self.write();
        known.shims.retain(|_, owner| *owner != Owner::Job(job));
        known.cgroups.retain(|_, owner| *owner != Owner::Job(job));
        known.orphaned.retain(|(orphaned, _)| *orphaned != job);
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
        let mut known = self.write();
        known.shims.retain(|_, owner| is_kept(owner));
        known.cgroups.retain(|_, owner| is_kept(owner));
    }

    // What is known is changed by what can't panic half-way, so that a poisoned lock says nothing.
    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn shim(&self, process: Process) -> Option<Owner> {
        self.read().shims.get(&process).copied()
    }

    fn cgroup(&self, id: u64) -> Option<Owner> {
        self.read().cgroups.get(&id).copied()
    }

    /// Whether a process is in the kernel session of an orphaned job. The session's number is not given
    /// to another process while a member lives, unless its leader has another start time.
    fn is_orphan(&self, stat: &process::Stat) -> bool {
        let known = self.read();
        let main = known.orphaned.iter().find(|(_, main)| main.pid == stat.kernel_session);
        main.is_some_and(|(_, main)| {
            process::stat(main.pid).is_none_or(|leader| leader.process == *main)
        })
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

    /// One that had the same pid, and has ended.
    #[cfg(test)]
    pub fn ended(&self) -> Peer {
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let pid = rustix::process::Pid::from_child(&child);
        let flags = rustix::process::PidfdFlags::empty();
        let pidfd = rustix::process::pidfd_open(pid, flags).expect("a handle");
        child.wait().expect("it ends");
        Peer { pidfd: Some(pidfd), ..*self }
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
        let cgroup = self.pidfd.as_ref().and_then(cgroup_of).and_then(|id| registry.cgroup(id));
        let is_own_user = self.uid == rustix::process::getuid().as_raw();
        let (seen, pids) = look(self.pid, Some(std::process::id().cast_signed()), registry);
        let caller = CallerEvidence { cgroup, is_own_user, ..seen }.caller(|| marks(&pids));
        self.is_alive().then_some(caller)
    }
}

/// Who is about to start a daemon: this process, by those above it.
pub fn starter() -> Caller {
    let me = std::process::id().cast_signed();
    let (seen, pids) = look(me, None, &Registry::default());
    seen.starter(|| marks(&pids))
}

/// What is above a process, and the process and all above it, as far as they were followed. A chain that changed is
/// followed again.
fn look(pid: i32, daemon: Option<i32>, registry: &Registry) -> (CallerEvidence, Vec<i32>) {
    let mut tries = (0..TRIES).flat_map(|_| look_once(pid, daemon, registry));
    tries.next().unwrap_or_else(|| (CallerEvidence::none(), Vec::new()))
}

fn look_once(
    pid: i32,
    daemon: Option<i32>,
    registry: &Registry,
) -> Result<(CallerEvidence, Vec<i32>), Broken> {
    let (mut shims, mut top, mut pids) = (Vec::new(), Top::Namespace, Vec::new());
    for stat in ancestry::chain(pid) {
        let stat = match stat {
            Ok(stat) => stat,
            Err(broken @ (Broken::Changed | Broken::Unreadable)) if shims.is_empty() => {
                return Err(broken);
            }
            Err(Broken::Changed | Broken::Unreadable | Broken::TooDeep) => {
                top = Top::Broken;
                break;
            }
        };
        let pid = stat.process.pid;
        if let Some(owner) = registry.shim(stat.process) {
            shims.push(ShimAbove::Known(owner));
        } else if registry.is_orphan(&stat) {
            top = Top::OrphanedJob;
            break;
        } else if daemon == Some(pid) {
            top = Top::Daemon;
            break;
        } else if let Some(looks) = ancestry::shim(&stat) {
            shims.push(match looks {
                Looks::Named(owner) => ShimAbove::Claimed(owner),
                Looks::Hidden => ShimAbove::Hidden,
            });
        }
        pids.push(pid);
        if pid == 1 {
            top = Top::First;
        }
    }
    Ok((CallerEvidence { shims, top, ..CallerEvidence::none() }, pids))
}

/// Whose marks the environments of these processes carry.
fn marks(pids: &[i32]) -> Vec<Owner> {
    pids.iter().filter_map(|pid| owner::marked(*pid)).collect()
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
        registry.add(Owner::Agent(AgentId(7)), reused, None);
        assert_ne!(peer.caller(&registry), Some(Caller::Agent(AgentId(7))));
        registry.add(Owner::Agent(AgentId(7)), own, None);
        assert_eq!(peer.caller(&registry), Some(Caller::Agent(AgentId(7))));
    }

    #[test]
    fn who_calls_from_below_the_shim_of_a_job_is_that_job() {
        let (peer, own, _far) = peer();
        let registry = Registry::default();
        registry.add(Owner::Job(JobId(7)), own, None);
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
        registry.add(Owner::Agent(AgentId(7)), own, None);
        registry.add_cgroup(Owner::Job(JobId(7)), cgroup);
        assert_eq!(peer.caller(&registry), Some(Caller::Job));
    }
}
