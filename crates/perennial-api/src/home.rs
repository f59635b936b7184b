//! Where a fleet's files are: under `PERENNIAL_HOME` when set, else by XDG.
//!
//! Pure paths but for `create`, `check` and `SocketAddress`. Invariants
//! - HM1  Every directory of a home is made 0700: sockets and environments live in them.
//! - HM2  A home is used by its owner only, root included: whoever else could write to it decides what runs.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub const VARIABLE: &str = "PERENNIAL_HOME";
/// Once `hooks_missed` is this long, nothing is added to it.
pub const HOOKS_MISSED_BYTES_MAX: u64 = 1 << 20;

/// The directories of one fleet on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The value of `PERENNIAL_HOME`, made absolute, when it is what decides.
    pub root: Option<PathBuf>,
    pub data: PathBuf,
    pub state: PathBuf,
    pub config: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("neither PERENNIAL_HOME nor HOME is set to a directory")]
    Homeless,
    #[error("the current directory can't be read, and PERENNIAL_HOME is relative to it")]
    NoCurrentDirectory(#[source] io::Error),
}

/// Why a home, or its socket, is not to be used (HM2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    #[error("{} belongs to another user (uid {owner})", .path.display())]
    NotOurs { path: PathBuf, owner: u32 },
    #[error("other users can write to {}", .path.display())]
    Open { path: PathBuf },
    #[error("the process that listens on {} belongs to another user (uid {owner})", .path.display())]
    ForeignListener { path: PathBuf, owner: u32 },
    #[error("the process that listens on {} {why}", .path.display())]
    Misplaced { path: PathBuf, why: Misplaced },
}

/// Why a process of our own user is not where a daemon can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    #[error("(pid {pid}) is inside an agent's session: it is not your daemon")]
    InSession { pid: i32 },
    #[error("(pid {pid}) does not hold this home's lock: it is not the daemon of this home")]
    AnotherHome { pid: i32 },
    #[error("can't be seen from here, so nothing shows that it is your daemon")]
    Unseen,
    #[error("has ended")]
    Ended,
}

impl Home {
    pub fn from_env() -> Result<Home, HomeError> {
        Home::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(read: impl Fn(&str) -> Option<OsString>) -> Result<Home, HomeError> {
        if let Some(root) = read(VARIABLE).filter(|root| !root.is_empty()) {
            let root = std::path::absolute(root).map_err(HomeError::NoCurrentDirectory)?;
            return Ok(Home::at(root));
        }
        let absolute = |name: &str| read(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let user = absolute("HOME");
        // The XDG specification says to ignore relative values.
        let base = |name: &str, below_user: &str| {
            absolute(name)
                .or_else(|| user.as_ref().map(|user| user.join(below_user)))
                .map(|base| base.join("perennial"))
                .ok_or(HomeError::Homeless)
        };
        Ok(Home {
            root: None,
            data: base("XDG_DATA_HOME", ".local/share")?,
            state: base("XDG_STATE_HOME", ".local/state")?,
            config: base("XDG_CONFIG_HOME", ".config")?,
        })
    }

    /// A home with everything under one directory.
    pub fn at(root: impl Into<PathBuf>) -> Home {
        let root = root.into();
        Home {
            data: root.join("data"),
            state: root.join("state"),
            config: root.join("config"),
            root: Some(root),
        }
    }

    /// Whether the directories that exist are ours, and nobody else can put others in their place. What is
    /// below the root may still be open to others: `create` closes it.
    pub fn check(&self) -> Result<(), Untrusted> {
        let us = rustix::process::geteuid().as_raw();
        if let Some(root) = &self.root
            && let Ok(found) = root.metadata()
        {
            // Root may have made it for us; the directories in it are ours all the same.
            if found.uid() != us && found.uid() != 0 {
                return Err(Untrusted::NotOurs { path: root.clone(), owner: found.uid() });
            }
            let (is_open, is_sticky) = (found.mode() & 0o022 != 0, found.mode() & 0o1000 != 0);
            if is_open && !is_sticky {
                return Err(Untrusted::Open { path: root.clone() });
            }
        }
        for dir in [&self.data, &self.state, &self.config] {
            // The link itself, too: whoever made it decides where it leads.
            for found in [dir.symlink_metadata(), dir.metadata()].into_iter().flatten() {
                let owner = found.uid();
                if owner != us {
                    return Err(Untrusted::NotOurs { path: dir.clone(), owner });
                }
            }
        }
        Ok(())
    }

    /// Makes what is missing, and closes to others what is there (HM1).
    pub fn create(&self) -> io::Result<()> {
        self.check().map_err(|why| io::Error::new(io::ErrorKind::PermissionDenied, why))?;
        for dir in
            [&self.data, &self.state, &self.config, &self.holders(), &self.panes(), &self.log_dir()]
        {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            if dir.metadata()?.permissions().mode() & 0o077 != 0 {
                std::fs::set_permissions(dir, Permissions::from_mode(0o700))?;
            }
        }
        Ok(())
    }

    pub fn journal(&self) -> PathBuf {
        self.data.join("journal.db")
    }

    /// Which hooks no daemon heard.
    pub fn hooks_missed(&self) -> PathBuf {
        self.state.join("hooks-missed.jsonl")
    }

    /// Our copies of conversations, by harness.
    pub fn conversations(&self) -> PathBuf {
        self.data.join("conversations")
    }

    pub fn socket(&self) -> PathBuf {
        self.state.join("sock")
    }

    /// Listened on while the daemon is being replaced: whoever finds no daemon can wait here.
    pub fn swap_socket(&self) -> PathBuf {
        self.state.join("swap")
    }

    /// Held by the daemon. Beside the journal: who removes what can be made again does not let a second daemon
    /// in.
    pub fn lock(&self) -> PathBuf {
        self.data.join("daemon.lock")
    }

    /// Where a daemon of an earlier version has its lock.
    pub fn earlier_lock(&self) -> PathBuf {
        self.state.join("daemon.lock")
    }

    pub fn holders(&self) -> PathBuf {
        self.state.join("holders")
    }

    pub fn jobs(&self) -> PathBuf {
        self.state.join("jobs")
    }

    /// Where the processes in agents' tmux panes listen.
    pub fn panes(&self) -> PathBuf {
        self.state.join("panes")
    }

    /// Where the one in the tmux session of this name does.
    pub fn pane(&self, tmux_session: &str) -> PathBuf {
        self.panes().join(tmux_session)
    }

    pub fn log_dir(&self) -> PathBuf {
        self.state.join("log")
    }

    pub fn daemon_log(&self) -> PathBuf {
        self.log_dir().join("daemon.log")
    }

    /// The entity graph; made again from the journal if it is gone.
    pub fn graph(&self) -> PathBuf {
        self.state.join("graph.db")
    }

    /// Repositories that hold snapshots of work trees.
    pub fn snapshots(&self) -> PathBuf {
        self.state.join("snapshots")
    }

    pub fn mirror(&self) -> PathBuf {
        self.state.join("mirror")
    }
}

/// The longest socket path that every system takes.
const PATH_LIMIT: usize = 100;

/// An address for a socket whose path may be longer than an address can hold: the path goes
/// through an open directory then. Bind or connect while this lives.
#[derive(Debug)]
pub struct SocketAddress {
    path: PathBuf,
    /// Keeps the number in `path` good.
    _dir: Option<File>,
}

impl SocketAddress {
    pub fn of(socket: &Path) -> io::Result<SocketAddress> {
        let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if socket.as_os_str().len() <= PATH_LIMIT {
            return Ok(SocketAddress { path: socket.to_owned(), _dir: None });
        }
        let dir = File::open(dir)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
        Ok(SocketAddress { path, _dir: Some(dir) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(variables: &[(&str, &str)]) -> Result<Home, HomeError> {
        Home::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn perennial_home_decides_alone() {
        let found = home(&[("PERENNIAL_HOME", "/x"), ("XDG_DATA_HOME", "/y")]).unwrap();
        assert_eq!(found, Home::at("/x"));
        assert_eq!(found.socket(), Path::new("/x/state/sock"));
    }

    #[test]
    fn xdg_with_defaults_and_relative_values_ignored() {
        let found = home(&[
            ("HOME", "/home/eve"),
            ("XDG_DATA_HOME", "/data"),
            ("XDG_STATE_HOME", "not/absolute"),
            ("PERENNIAL_HOME", ""),
        ])
        .unwrap();
        assert_eq!(found.data, Path::new("/data/perennial"));
        assert_eq!(found.state, Path::new("/home/eve/.local/state/perennial"));
        assert_eq!(found.config, Path::new("/home/eve/.config/perennial"));
        assert_eq!(found.root, None);
    }

    #[test]
    fn without_any_of_them_there_is_no_home() {
        assert!(matches!(home(&[("HOME", "relative")]), Err(HomeError::Homeless)));
    }

    #[test]
    fn directories_are_closed_to_others_also_when_they_were_open() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home"));
        std::fs::create_dir_all(&home.state).unwrap();
        std::fs::set_permissions(&home.state, Permissions::from_mode(0o777)).unwrap();
        home.create().unwrap();
        for dir in [&home.data, &home.state, &home.config, &home.holders()] {
            assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{dir:?}");
        }
    }

    #[test]
    fn a_home_that_others_can_write_to_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home"));
        assert_eq!(home.check(), Ok(()), "what is not there can be made");
        home.create().unwrap();
        let root = home.root.clone().unwrap();
        for (mode, is_used) in [(0o755, true), (0o777, false), (0o775, false), (0o1777, true)] {
            std::fs::set_permissions(&root, Permissions::from_mode(mode)).unwrap();
            assert_eq!(home.check().is_ok(), is_used, "{mode:o}");
            assert_eq!(home.create().is_ok(), is_used, "{mode:o}");
        }
    }

    /// Only root can make a link of another user's.
    #[test]
    fn a_link_of_another_user_is_not_followed() {
        use std::os::unix::fs::{lchown, symlink};
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home"));
        let elsewhere = temp.path().join("elsewhere");
        std::fs::create_dir_all(&elsewhere).unwrap();
        std::fs::create_dir_all(home.root.as_ref().unwrap()).unwrap();
        symlink(&elsewhere, &home.state).unwrap();
        assert_eq!(home.check(), Ok(()), "a link of our own");
        if rustix::process::geteuid().is_root() {
            lchown(&home.state, Some(65534), None).unwrap();
            let path = home.state.clone();
            assert_eq!(home.check(), Err(Untrusted::NotOurs { path, owner: 65534 }));
        }
    }

    #[test]
    fn a_socket_with_a_long_path_can_be_bound_and_reached() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("d".repeat(120));
        std::fs::create_dir(&dir).unwrap();
        let socket = dir.join("sock");
        let bound = SocketAddress::of(&socket).unwrap();
        let _listener = UnixListener::bind(bound.path()).unwrap();
        drop(bound);
        UnixStream::connect(SocketAddress::of(&socket).unwrap().path()).unwrap();
    }
}
