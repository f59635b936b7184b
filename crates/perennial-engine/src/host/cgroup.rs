//! One cgroup per session or run of a job, where cgroup v2 is writable: then a whole tree ends with one write.
//!
//! No controller is enabled and no limit set. Without a cgroup a session works all the same; its tree
//! is then ended by peeling.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, CWD, Mode, OFlags, access, openat, statfs};

const CGROUP2_MAGIC: i64 = 0x6367_7270;

/// Why sessions get no cgroup here.
#[derive(Debug, thiserror::Error)]
pub enum NoCgroup {
    #[error("no cgroup v2 hierarchy is mounted")]
    NotMounted,
    #[error("cgroup v2 is mounted at {at}, but not writable there or in the daemon's own cgroup")]
    NotWritable { at: String },
    #[error("the kernel's cgroups have no cgroup.kill (Linux 5.14)")]
    NoKill,
}

/// The directory below which sessions get their cgroups; makes it. `doctor` shows the answer.
pub fn available() -> Result<PathBuf, NoCgroup> {
    let mount = fs::read("/proc/self/mountinfo").ok().and_then(|text| find_mount(&text));
    let mount = mount.ok_or(NoCgroup::NotMounted)?;
    // Below the daemon's own cgroup it works where that one is delegated (systemd: Delegate=yes).
    let own = fs::read("/proc/self/cgroup").ok().and_then(|text| find_own(&text));
    let parents = [Some(mount.clone()), own.map(|own| mount.join(own))];
    let name = format!("perennial-{}", rustix::process::getuid().as_raw());
    for parent in parents.into_iter().flatten() {
        let dir = parent.join(&name);
        let made = match DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::AlreadyExists,
        };
        // A process enters a cgroup by the right to write in the common ancestor, too.
        if made && may_write(&dir) && may_write(&parent.join("cgroup.procs")) {
            let has_kill = dir.join("cgroup.kill").exists();
            return if has_kill { Ok(dir) } else { Err(NoCgroup::NoKill) };
        }
    }
    Err(NoCgroup::NotWritable { at: mount.display().to_string() })
}

fn may_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

/// The mount point in a line like `… / /sys/fs/cgroup rw - cgroup2 cgroup2 rw`.
fn find_mount(mountinfo: &[u8]) -> Option<PathBuf> {
    let text = String::from_utf8_lossy(mountinfo);
    text.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let is_cgroup2 = file_system.split(' ').next() == Some("cgroup2");
        // Spaces in the path are written as \040: such a mount is not used.
        is_cgroup2.then(|| mount.split(' ').nth(4).map(PathBuf::from)).flatten()
    })
}

/// The path of this process in the v2 hierarchy, the line `0::/…`, without its leading slash.
fn find_own(cgroup: &[u8]) -> Option<PathBuf> {
    let line = cgroup.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::/"))?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(line))).filter(|own| !own.as_os_str().is_empty())
}

/// Where the cgroup of a session is: one name per home and session, or run of a job. A home is told by its
/// directory and not by its path: a copied home must not reach into the first one's sessions, also if that
/// was moved and the copy stands in its place.
pub fn path_for(root: &Path, holders_dir: &Path, session: &impl std::fmt::Display) -> PathBuf {
    root.join(format!("{}{session}", prefix(holders_dir)))
}

/// The cgroup that a file names as that of a session, if it can be: a true cgroup with that session's own name.
/// Whoever runs as the same user can write the file.
pub fn named(path: &str, holders_dir: &Path, session: &impl std::fmt::Display) -> Option<PathBuf> {
    let path = Path::new(path);
    let is_own = path_for(path.parent()?, holders_dir, session) == path;
    let is_straight = fs::canonicalize(path).is_ok_and(|straight| straight == path);
    let is_cgroup = statfs(path).is_ok_and(|found| found.f_type == CGROUP2_MAGIC);
    (is_own && is_straight && is_cgroup).then(|| path.to_owned())
}

/// Removes the cgroups of this home that no process is in: those of sessions whose end nobody saw. A session
/// that is being started at this very moment may lose its own, and then does without.
pub fn remove_empty(root: &Path, holders_dir: &Path) {
    let prefix = prefix(holders_dir);
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let is_own = |name: &std::ffi::OsStr| name.as_bytes().starts_with(prefix.as_bytes());
    for entry in entries.filter(|entry| is_own(&entry.file_name())) {
        let _busy = Cgroup::at(entry.path()).remove();
    }
}

/// What the names of all cgroups of a home begin with.
fn prefix(holders_dir: &Path) -> String {
    let home = match std::fs::metadata(holders_dir) {
        Ok(found) => [found.dev().to_be_bytes(), found.ino().to_be_bytes()].concat(),
        Err(_) => holders_dir.as_os_str().as_bytes().to_vec(),
    };
    // FNV-1a
    let home = home.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3_u64)
    });
    format!("{home:016x}-")
}

/// The cgroup of one session.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    pub fn at(path: PathBuf) -> Cgroup {
        Cgroup { path }
    }

    /// Makes it, empty. One that is there already has processes of somebody else: an error.
    pub fn create(path: PathBuf) -> io::Result<Cgroup> {
        let _absent = fs::remove_dir(&path);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Cgroup { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kernel's id for it, as a caller's pidfd shows it too.
    pub fn id(&self) -> Option<u64> {
        fs::metadata(&self.path).ok().map(|metadata| metadata.ino())
    }

    /// The handle with which a process is born into it.
    pub fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(CWD, &self.path, flags, Mode::empty())?)
    }

    /// KILL to every process in it, forks in flight included.
    pub fn kill(&self) {
        let _gone_already = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Removes it; `true` proves that no process was in it.
    pub fn remove(&self) -> bool {
        self.remove_children();
        match fs::remove_dir(&self.path) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// A session may have made cgroups of its own below; they are empty once everything is killed.
    fn remove_children(&self) {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let child = Cgroup::at(entry.path());
            child.remove_children();
            let _still_busy = fs::remove_dir(&child.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_found_among_others() {
        let text = b"30 25 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs tmpfs rw\n\
            35 30 0:31 / /sys/fs/cgroup/unified rw,nosuid shared:5 - cgroup2 cgroup2 rw\n";
        assert_eq!(find_mount(text), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(find_mount(b"30 25 0:26 / / rw - ext4 /dev/vda rw\n"), None);
    }

    #[test]
    fn a_directory_that_is_no_cgroup_is_not_taken_for_one() {
        let home = tempfile::tempdir().expect("a directory");
        let path = path_for(home.path(), home.path(), &"agt_x.1");
        fs::create_dir(&path).expect("a directory of the right name");
        assert_eq!(named(path.to_str().expect("a path"), home.path(), &"agt_x.1"), None);
        assert_eq!(named("/", home.path(), &"agt_x.1"), None);
        let Ok(root) = available() else { return };
        let own = Cgroup::create(path_for(&root, home.path(), &"agt_x.1")).expect("a cgroup");
        let text = own.path().to_str().expect("a path");
        assert_eq!(named(text, home.path(), &"agt_x.1"), Some(own.path().to_owned()));
        assert_eq!(named(text, home.path(), &"agt_x.2"), None, "another session's");
        assert!(own.remove());
    }

    #[test]
    fn the_own_cgroup_is_below_the_mount() {
        assert_eq!(find_own(b"3:pids:/\n0::/user.slice/x\n"), Some(PathBuf::from("user.slice/x")));
        assert_eq!(find_own(b"0::/\n"), None);
    }
}
