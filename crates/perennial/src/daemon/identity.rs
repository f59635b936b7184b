//! Who calls: shown by processes, never by what a caller claims.
//!
//! A caller is an *agent* if its ancestry, its cgroup or a session mark in an ancestor's environment
//! leads to a session; a *person* only with a complete chain of parents up to pid 1 and our own uid;
//! anybody else is a *viewer*. Evidence only ever lowers rights.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::RwLock;

use perennial_core::authority::Caller;
use perennial_core::id::AgentId;
use perennial_core::session::Process;
use perennial_engine::host::process;

/// A chain of parents longer than this is nobody's we know.
const DEEPEST: usize = 64;
/// How often a chain that changed under our eyes is walked again.
const TRIES: usize = 3;
const MARK: &[u8] = b"PERENNIAL_SESSION=";

/// The process at the other end of a connection; kept, so that its pid cannot come to mean another.
#[derive(Debug)]
pub struct Peer {
    pidfd: Option<OwnedFd>,
    pid: i32,
    uid: u32,
}

/// The holders and cgroups that lead to agents.
#[derive(Debug, Default)]
pub struct Registry(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    shims: HashMap<Process, AgentId>,
    cgroups: HashMap<u64, AgentId>,
}

impl Registry {
    /// Kept for good: a holder's process stays its agent's, also after its connection is lost.
    pub fn add(&self, agent: AgentId, shim: Process, cgroup: Option<u64>) {
        self.0.write().expect("nobody panics with it").shims.insert(shim, agent);
        if let Some(id) = cgroup {
            self.add_cgroup(agent, id);
        }
    }

    /// The cgroup of a session: who is in it is the agent's, also when its holder is dead.
    pub fn add_cgroup(&self, agent: AgentId, id: u64) {
        self.0.write().expect("nobody panics with it").cgroups.insert(id, agent);
    }

    fn shim(&self, process: Process) -> Option<AgentId> {
        self.0.read().expect("nobody panics with it").shims.get(&process).copied()
    }

    fn cgroup(&self, id: u64) -> Option<AgentId> {
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
            (Caller::Agent(id), _) | (Caller::Person | Caller::Viewer, Some(id)) => {
                Caller::Agent(id)
            }
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
            if let Some(agent) = registry.shim(stat.process) {
                return Some(Caller::Agent(agent));
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
        match chain.iter().find_map(|pid| session_mark(*pid)) {
            Some(agent) => Caller::Agent(agent),
            None if self.uid == rustix::process::getuid().as_raw() => Caller::Person,
            None => Caller::Viewer,
        }
    }
}

/// The agent whose session left its mark in a process's environment.
fn session_mark(pid: i32) -> Option<AgentId> {
    // What can't be read (another user's process, such as a login) shows nothing.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mark = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(MARK))?;
    let session = std::str::from_utf8(mark).ok()?;
    session.split('.').next()?.parse().ok()
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
        let parent = process::stat(process::stat(peer.pid).unwrap().parent).unwrap().process;
        (peer, parent, far)
    }

    #[test]
    fn a_pid_with_another_start_is_another_process() {
        let (peer, parent, _far) = peer();
        let registry = Registry::default();
        let reused = Process { start_ticks: parent.start_ticks + 1, ..parent };
        registry.add(AgentId(7), reused, None);
        assert_ne!(peer.caller(&registry), Some(Caller::Agent(AgentId(7))));
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
