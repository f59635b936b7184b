//! Who calls: shown by processes, never by what a caller claims.
//!
//! A caller is an *agent* if its ancestry, its cgroup or a session mark in an ancestor's environment
//! leads to a session, and a *job* if one of them leads to a run of a job; a *person* only with a
//! complete chain of parents up to pid 1 and our own uid; anybody else is a *viewer*. Evidence only
//! ever lowers rights: a job, which has none, before an agent.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::RwLock;

use perennial_core::authority::Caller;
use perennial_core::id::{AgentId, JobId};
use perennial_core::session::Process;
use perennial_engine::host::owner::Owner;
use perennial_engine::host::process;

/// A chain of parents longer than this is nobody's we know.
const DEEPEST: usize = 64;
/// How often a chain that changed under our eyes is walked again.
const TRIES: usize = 3;

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
        let credentials = rustix::net::sockopt::socket_peercred(fd)?;
        let pidfd = nix::sys::socket::getsockopt(&fd, nix::sys::socket::sockopt::PeerPidfd).ok();
        Ok(Peer {
            pidfd,
            pid: credentials.pid.as_raw_nonzero().get(),
            uid: credentials.uid.as_raw(),
        })
    }

    fn is_alive(&self) -> bool {
        match &self.pidfd {
            Some(pidfd) => !process::is_over(pidfd),
            // A kernel without SO_PEERPIDFD (before 6.5): the pid must do.
            None => process::stat(self.pid).is_some(),
        }
    }

    /// Whom this peer is shown to be; `None`: it is gone, and nobody.
    pub fn caller(&self, registry: &Registry) -> Option<Caller> {
        let by_cgroup = self.pidfd.as_ref().and_then(cgroup_of).and_then(|id| registry.cgroup(id));
        let by_ancestry = (0..TRIES).find_map(|_| self.walk(registry)).unwrap_or(Caller::Viewer);
        if !self.is_alive() {
            return None;
        }
        Some(match (by_ancestry, by_cgroup) {
            (Caller::Job, _) | (_, Some(Owner::Job(_))) => Caller::Job,
            (Caller::Agent(id), Some(Owner::Agent(_)) | None)
            | (Caller::Person | Caller::Viewer, Some(Owner::Agent(id))) => Caller::Agent(id),
            (caller @ (Caller::Person | Caller::Viewer), None) => caller,
        })
    }

    /// Follows the parents upwards; `None`: the chain changed meanwhile.
    fn walk(&self, registry: &Registry) -> Option<Caller> {
        let mut chain = Vec::new();
        let mut pid = self.pid;
        let mut child_start = u64::MAX;
        for _ in 0..DEEPEST {
            let Some(stat) = process::stat(pid) else { return Some(Caller::Viewer) };
            // A parent is never younger than its child: this pid was used again.
            if stat.process.start_ticks > child_start {
                return None;
            }
            child_start = stat.process.start_ticks;
            if let Some(owner) = registry.shim(stat.process) {
                return Some(caller_of(owner));
            }
            if registry.is_orphan(&stat) {
                return Some(Caller::Job);
            }
            // An orphan of a dead holder falls to the daemon, which reaps for the fleet.
            if pid == std::process::id().cast_signed() {
                return Some(Caller::Viewer);
            }
            chain.push(pid);
            if pid == 1 {
                return Some(self.person_unless_marked(&chain));
            }
            pid = stat.parent;
        }
        Some(Caller::Viewer)
    }

    fn person_unless_marked(&self, chain: &[i32]) -> Caller {
        match chain.iter().find_map(|pid| mark(*pid)) {
            Some(owner) => caller_of(owner),
            None if self.uid == rustix::process::getuid().as_raw() => Caller::Person,
            None => Caller::Viewer,
        }
    }
}

/// Whose session or job left its mark in a process's environment; a job's mark counts first.
fn mark(pid: i32) -> Option<Owner> {
    // What can't be read (another user's process, such as a login) shows nothing.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    marked_by(&environment)
}

fn marked_by(environment: &[u8]) -> Option<Owner> {
    let owners = environment.split(|byte| *byte == 0).filter_map(|entry| {
        let mark = Owner::MARKS
            .iter()
            .find_map(|name| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        std::str::from_utf8(mark).ok()?.split('.').next()?.parse::<Owner>().ok()
    });
    let mut owners: Vec<Owner> = owners.collect();
    let job = owners.iter().position(|owner| matches!(owner, Owner::Job(_)));
    (!owners.is_empty()).then(|| owners.swap_remove(job.unwrap_or(0)))
}

/// The id of a process's cgroup, where the kernel tells (PIDFD_GET_INFO, Linux 6.13).
fn cgroup_of(pidfd: &OwnedFd) -> Option<u64> {
    /// struct pidfd_info of the first version, 64 bytes: mask and cgroup id are its first fields.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        mask: u64,
        cgroup: u64,
        rest: [u64; 6],
    }
    const GET_INFO: libc::Ioctl = 0xC040_FF0B;
    const WITH_CGROUP: u64 = 1 << 2;
    let mut info = Info { mask: WITH_CGROUP, ..Info::default() };
    // SAFETY: the ioctl writes at most the 64 bytes that its number says, and `info` has them.
    let done = unsafe { libc::ioctl(pidfd.as_raw_fd(), GET_INFO, &raw mut info) };
    (done == 0 && info.mask & WITH_CGROUP != 0).then_some(info.cgroup)
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
    fn the_mark_of_a_job_counts_before_that_of_a_session() {
        let (agent, job) = (AgentId(7), JobId(7));
        let session = format!("PERENNIAL_SESSION={agent}.1\0");
        let run = format!("PERENNIAL_JOB={job}.1\0");
        let marked = |text: &str| marked_by(text.as_bytes());
        assert_eq!(marked(&session), Some(Owner::Agent(agent)));
        assert_eq!(marked(&format!("A=b\0{run}")), Some(Owner::Job(job)));
        assert_eq!(marked(&format!("{session}{run}")), Some(Owner::Job(job)));
        assert_eq!(marked(&format!("{run}{session}")), Some(Owner::Job(job)));
        assert_eq!(marked("PERENNIAL_JOB=me\0PERENNIAL_JOBS=x\0"), None);
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
    fn a_cgroup_of_a_session_lowers_rights() {
        let (peer, _, _far) = peer();
        let registry = Registry::default();
        let Some(own) = peer.pidfd.as_ref().and_then(cgroup_of) else {
            // An older kernel tells nothing here; ancestry decides alone.
            return;
        };
        registry.add(AgentId(7), Process { pid: i32::MAX, start_ticks: 0 }, Some(own));
        assert_eq!(peer.caller(&registry), Some(Caller::Agent(AgentId(7))));
    }
}
