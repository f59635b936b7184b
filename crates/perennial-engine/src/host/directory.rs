//! A holder directory: where a shim, the daemon and a person with `ls` meet.
//!
//! ```text
//! <state>/holders/<agent id>/   0700; for a job: <state>/jobs/<job id>/
//!   lock      a record lock is held on it for the shim's life; the kernel says by whom, and what that is
//!   sock      the shim listens here
//!   env       the agent's environment, 0600; gone once the agent is buried
//!   harness-<N>/   what an agent CLI needs for session N, such as its settings; gone with env
//!   agent.json   who the agent is, 0600: for a daemon whose journal does not know it any more
//!   s<N>/     one per session, or run of a job; creating it is the claim of number N
//!     process.json   who runs; removed when no process of it is left
//!     exit.json      how it ended, if nobody acknowledged the news
//!     rec.<offset>   what it printed, from that byte on
//! ```
//! Invariants
//! - HS1  `claim` succeeds once per number, whoever calls it.
//! - D1  `exit.json` is durable and whole when it exists.

use std::fs::{DirBuilder, DirEntry, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_core::id::{AgentId, JobId, SessionNumber};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, fcntl_lock, openat};
use serde::{Deserialize, Serialize};

use super::ancestry;
use super::process;
use super::protocol::{ExitRecord, ProcessRecord, ViewerTerms};
use crate::regular_file::{self, Links};

pub const ENV: &str = "env";
/// The same while it is written.
pub const UNFINISHED_ENV: &str = "env.new";
const HARNESS_PREFIX: &str = "harness-";
pub const SOCKET: &str = "sock";
const LOCK: &str = "lock";
const EXIT: &str = "exit.json";
const UNHEARD_HOOKS: &str = "unheard-hooks.jsonl";
const PROCESS: &str = "process.json";
const VIEWER: &str = "viewer.json";
const CLAIM: &str = "agent.json";
const UNSEEN: &str = "the lock is held by a process that can't be seen from here";
/// What is longer than this is not what a daemon wrote.
const CLAIM_BYTES_MAX: u64 = 2 << 20;
const SMALL_BYTES_MAX: u64 = 64 << 10;

/// The holder directory of one agent or job.
#[derive(Debug, Clone)]
pub struct HolderDirectory {
    path: PathBuf,
}

/// Who ran as a session, for whoever finds the directory later.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessFile {
    #[serde(flatten)]
    pub process: ProcessRecord,
    pub boot_id: String,
    #[serde(default)]
    pub cgroup: Option<String>,
}

impl HolderDirectory {
    pub fn new(holders: &Path, agent: AgentId) -> HolderDirectory {
        HolderDirectory { path: holders.join(agent.to_string()) }
    }

    pub fn of_job(jobs: &Path, job: JobId) -> HolderDirectory {
        HolderDirectory { path: jobs.join(job.to_string()) }
    }

    pub fn at(path: PathBuf) -> HolderDirectory {
        HolderDirectory { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn socket(&self) -> PathBuf {
        self.path.join(SOCKET)
    }

    pub fn session(&self, number: SessionNumber) -> PathBuf {
        self.path.join(format!("s{number}"))
    }

    /// What the hooks of a session said while no daemon heard them.
    pub fn unheard_hooks(&self, number: SessionNumber) -> PathBuf {
        self.session(number).join(UNHEARD_HOOKS)
    }

    /// Makes it, for its owner only.
    pub fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)
    }

    /// Asks for the first session to wait for its viewer.
    pub fn write_viewer(&self, terms: ViewerTerms) -> io::Result<()> {
        std::fs::write(self.path.join(VIEWER), serde_json::to_vec(&terms)?)
    }

    /// What `write_viewer` asked for, once.
    pub fn take_viewer(&self) -> Option<ViewerTerms> {
        let path = self.path.join(VIEWER);
        let terms = serde_json::from_slice(&small(&path).ok()?).ok();
        let _gone = std::fs::remove_file(path);
        terms
    }

    /// Claims a session number: `false` if somebody has it already.
    pub fn claim(&self, number: SessionNumber) -> io::Result<bool> {
        match DirBuilder::new().mode(0o700).create(self.session(number)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Claims a session that shall never run, and says so in its exit file; `None` if somebody has it.
    pub fn fence(&self, number: SessionNumber) -> io::Result<Option<ExitRecord>> {
        self.create()?;
        if !self.claim(number)? {
            return Ok(None);
        }
        let exit = ExitRecord::NotStarted("it never began".to_owned());
        self.write_exit(number, &exit)?;
        Ok(Some(exit))
    }

    pub fn is_claimed(&self, number: SessionNumber) -> bool {
        self.session(number).is_dir()
    }

    /// Takes the lock for the life of this process; `None` if another shim lives.
    pub fn lock(&self) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file = openat(CWD, self.path.join(LOCK), flags, Mode::RUSR | Mode::WUSR)?;
        // A record lock, not flock: others can ask who holds it without taking it.
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The living shim's pid. Whoever holds the lock without being the shim of this directory is nobody's holder; it
    /// is an error if it can't be seen who that is.
    pub fn shim_pid(&self) -> io::Result<Option<i32>> {
        match self.locker()? {
            Some(pid) => self.shim_at(pid),
            None => Ok(None),
        }
    }

    /// The same, where this process is known to hold the lock.
    pub fn shim_at(&self, pid: i32) -> io::Result<Option<i32>> {
        if ancestry::is_shim_of(pid, &self.path) {
            return Ok(Some(pid));
        }
        // The lock of a process that ended meanwhile is free.
        if process::stat(pid).is_none() && self.locker()? == Some(pid) {
            return Err(io::Error::other(UNSEEN));
        }
        Ok(None)
    }

    /// Who holds the lock, as the kernel knows it.
    pub fn locker(&self) -> io::Result<Option<i32>> {
        let file = match regular_file::open(&self.path.join(LOCK), Links::Refuse) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // Something else in its place, such as a pipe: as if it had been removed.
            Err(_) if self.is_lock_replaced() => return Ok(None),
            Err(error) => return Err(error),
        };
        match process::locker(&file)? {
            // Held from outside this pid namespace.
            Some(0) => Err(io::Error::other(UNSEEN)),
            // A lock of an open file, and of no process: no shim takes one.
            Some(..0) | None => Ok(None),
            Some(pid) => Ok(Some(pid)),
        }
    }

    fn is_lock_replaced(&self) -> bool {
        let found = std::fs::symlink_metadata(self.path.join(LOCK));
        found.is_ok_and(|found| !found.is_file())
    }

    pub fn write_process(&self, number: SessionNumber, file: &ProcessFile) -> io::Result<()> {
        let text = serde_json::to_vec(file)?;
        std::fs::write(self.session(number).join(PROCESS), text)
    }

    /// No process of the session is left: nobody need look for one.
    pub fn remove_process(&self, number: SessionNumber) {
        let _absent = std::fs::remove_file(self.session(number).join(PROCESS));
    }

    /// Whether processes of this session may be alive, as far as is on disk.
    pub fn may_live(&self, number: SessionNumber) -> bool {
        self.session(number).join(PROCESS).exists() && !self.is_of_another_boot(number)
    }

    /// The numbers of which processes may be alive, as far as is on disk.
    pub fn unfinished(&self) -> Vec<SessionNumber> {
        self.claimed().into_iter().filter(|number| self.may_live(*number)).collect()
    }

    /// The numbers that were claimed, the newest first.
    pub fn claimed(&self) -> Vec<SessionNumber> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut numbers: Vec<SessionNumber> = entries
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix('s')?.parse().ok())
            .map(SessionNumber)
            .collect();
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        numbers
    }

    /// Keeps who the agent is beside its holder, for a daemon whose journal does not know it any more.
    pub fn write_claim(&self, claim: &[u8]) -> io::Result<()> {
        let unfinished = self.path.join("agent.new");
        // A leftover of a crash may have another mode; ours is set at creation only.
        let _absent = std::fs::remove_file(&unfinished);
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(claim)?;
        std::fs::rename(unfinished, self.path.join(CLAIM))
    }

    /// What was kept. Whoever runs as the same user may have written it.
    pub fn read_claim(&self) -> Option<Vec<u8>> {
        regular_file::read(&self.path.join(CLAIM), Links::Refuse, CLAIM_BYTES_MAX).ok()
    }

    /// Removes what tells of processes and of a living shim: in a copied home they are the original's.
    pub fn disown(&self) {
        self.remove_socket();
        self.unfinished().into_iter().for_each(|number| self.remove_process(number));
    }

    /// What may hold values of the agent's environment, and what only a next session would need.
    fn secrets(&self) -> impl Iterator<Item = DirEntry> {
        let is_secret = |entry: &DirEntry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_revision = name.strip_prefix(ENV).is_some_and(|rest| rest.starts_with('.'));
            name == ENV || is_revision || name.starts_with(HARNESS_PREFIX)
        };
        std::fs::read_dir(&self.path).into_iter().flatten().flatten().filter(is_secret)
    }

    pub fn has_secrets(&self) -> bool {
        self.secrets().next().is_some()
    }

    /// Removes all of them. The recordings stay.
    pub fn remove_secrets(&self) {
        for entry in self.secrets() {
            let _absent = match entry.file_type() {
                Ok(kind) if kind.is_dir() => std::fs::remove_dir_all(entry.path()),
                Ok(_) | Err(_) => std::fs::remove_file(entry.path()),
            };
        }
    }

    /// Where an agent CLI's own files for one session are: its settings, its hooks.
    pub fn harness(&self, number: SessionNumber) -> PathBuf {
        self.path.join(format!("{HARNESS_PREFIX}{number}"))
    }

    /// Who ran as this session, while a process of it may be left.
    pub fn read_process(&self, number: SessionNumber) -> Option<ProcessFile> {
        let text = small(&self.session(number).join(PROCESS)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether the session ran on an earlier boot of this machine.
    pub fn is_of_another_boot(&self, number: SessionNumber) -> bool {
        match (self.read_process(number), process::boot_id()) {
            (Some(file), Ok(boot)) => file.boot_id != boot.0,
            (None, _) | (_, Err(_)) => false,
        }
    }

    /// Records an end so that it survives power loss: written, synced, renamed, directory synced.
    pub fn write_exit(&self, number: SessionNumber, exit: &ExitRecord) -> io::Result<()> {
        let dir = self.session(number);
        let unfinished = dir.join("exit.new");
        let mut file = File::create(&unfinished)?;
        file.write_all(&serde_json::to_vec(exit)?)?;
        file.sync_data()?;
        std::fs::rename(unfinished, dir.join(EXIT))?;
        File::open(dir)?.sync_all()
    }

    pub fn read_exit(&self, number: SessionNumber) -> Option<ExitRecord> {
        let text = small(&self.session(number).join(EXIT)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Removes the socket's name, so that nobody knocks at a shim that goes.
    pub fn remove_socket(&self) {
        let _absent = rustix::fs::unlinkat(CWD, self.socket(), AtFlags::empty());
    }
}

/// One of our own small files.
fn small(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read(path, Links::Refuse, SMALL_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{FileType, mknodat};

    use super::*;

    /// A pipe that nobody writes to would be read for ever.
    #[test]
    fn what_an_agent_puts_in_the_place_of_a_file_is_not_waited_for() {
        let temporary = tempfile::tempdir().expect("a directory");
        let holder = HolderDirectory::at(temporary.path().join("h"));
        holder.create().expect("made");
        assert!(holder.claim(SessionNumber::FIRST).expect("claimed"));
        let process = holder.session(SessionNumber::FIRST).join(PROCESS);
        for path in [&process, &temporary.path().join("h").join(CLAIM)] {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        }
        assert!(holder.read_process(SessionNumber::FIRST).is_none());
        assert!(holder.may_live(SessionNumber::FIRST), "nothing says that it ran before the boot");
        assert!(holder.read_claim().is_none());
    }
}
