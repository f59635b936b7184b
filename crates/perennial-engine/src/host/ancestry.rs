//! The processes above a process, and which of them are shims, of whatever home and version.
//!
//! Reads what the kernel shows; what a process says of itself never counts in its favour.
//!
//! | sign of a shim | what it proves |
//! |---|---|
//! | it leads its kernel session | a shim calls `setsid` before anything else, and a leader stays one for life |
//! | its argv is `NAME shim /…/<id of an agent or job>` | only a process itself can rewrite its argv; a shim never does, and can't be traced. Anybody can execute a program with the same argv, and loses rights by it |
//! | its executable is a Perennial | where it can be read. An ordinary user can't read that of a shim, which is not dumpable; one that was upgraded or moved has another file. So it is asked for only where being a shim would give something: the holder of a lock |
//!
//! Invariants
//! - AN1  Whoever looks like a shim counts as one where that lowers rights.
//! - AN2  The holder of a holder's lock counts as a shim only if nothing speaks against it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::owner::Owner;
use super::process::{self, Stat};

/// No chain of parents is followed further.
pub const DEEPEST: usize = 64;
/// How often a chain that changed meanwhile is followed again.
pub const TRIES: usize = 3;
/// Three words, the last one a path: the longest command line that can be a shim's.
const SHIM_LINE_BYTES_MAX: u64 = 8 << 10;
/// Most are read at once with so much room.
const SHIM_LINE_BYTES_COMMON: usize = 512;

/// Why a chain of parents can't be followed to its top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("a process above it can't be read")]
    Unreadable,
    #[error("the processes above it changed meanwhile")]
    Changed,
    #[error("there are too many processes above it")]
    TooDeep,
}

/// A process and all above it, up to the first of its pid namespace.
#[derive(Debug)]
pub struct Chain {
    /// 0 once the top was reached.
    next: i32,
    youngest: u64,
    left: usize,
}

/// Follows the parents of a process upwards; it is the first one itself.
pub fn chain(pid: i32) -> Chain {
    Chain { next: pid, youngest: u64::MAX, left: DEEPEST }
}

impl Iterator for Chain {
    type Item = Result<Stat, Broken>;

    fn next(&mut self) -> Option<Result<Stat, Broken>> {
        let pid = std::mem::replace(&mut self.next, 0);
        if pid == 0 {
            return None;
        }
        if self.left == 0 {
            return Some(Err(Broken::TooDeep));
        }
        let Some(stat) = process::stat(pid) else { return Some(Err(Broken::Unreadable)) };
        // A parent is never younger than its child: this pid was used again.
        if stat.process.start_ticks > self.youngest {
            return Some(Err(Broken::Changed));
        }
        self.left -= 1;
        self.youngest = stat.process.start_ticks;
        self.next = if pid == 1 { 0 } else { stat.parent };
        Some(Ok(stat))
    }
}

/// What makes a process look like a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// Its argv names this owner: a claim, good for nothing but to lower rights.
    Named(Owner),
    /// It can't be read, and leads its session.
    Hidden,
}

/// Whether a process looks like a shim (AN1), and why.
pub fn shim(stat: &Stat) -> Option<Looks> {
    // Most processes lead no session, and cost no second look.
    if !leads_session(stat) {
        return None;
    }
    match directory_of(stat.process.pid) {
        Ok(directory) => directory.as_deref().and_then(owner).map(Looks::Named),
        // It ended meanwhile: whoever was below it has another parent by now.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => None,
        Err(_) => Some(Looks::Hidden),
    }
}

fn leads_session(stat: &Stat) -> bool {
    stat.kernel_session == stat.process.pid
}

pub fn is_shim(stat: &Stat) -> bool {
    shim(stat).is_some()
}

/// Whose holder directory has this name.
fn owner(directory: &Path) -> Option<Owner> {
    directory.file_name()?.to_str()?.parse().ok()
}

/// The holder directory that a process's argv names, if it is that of a shim.
fn directory_of(pid: i32) -> io::Result<Option<PathBuf>> {
    let mut line = Vec::with_capacity(SHIM_LINE_BYTES_COMMON);
    File::open(format!("/proc/{pid}/cmdline"))?.take(SHIM_LINE_BYTES_MAX).read_to_end(&mut line)?;
    Ok(shim_directory(&line))
}

fn shim_directory(line: &[u8]) -> Option<PathBuf> {
    let mut words = line.strip_suffix(&[0])?.split(|byte| *byte == 0);
    let (_name, verb, directory, rest) =
        (words.next()?, words.next()?, words.next()?, words.next());
    let directory = Path::new(std::ffi::OsStr::from_bytes(directory));
    let is_shim = verb == b"shim" && rest.is_none() && directory.is_absolute();
    (is_shim && owner(directory).is_some()).then(|| directory.to_owned())
}

/// Whether a process is the shim of this holder directory (AN2): by its argv, by its executable where that can be
/// read, and because it is below no other shim. The path in its argv may be an old one: a home can be moved.
pub fn is_shim_of(pid: i32, directory: &Path) -> bool {
    let Some(stat) = process::stat(pid) else { return false };
    let is_named = directory_of(pid)
        .is_ok_and(|named| named.is_some_and(|named| named.file_name() == directory.file_name()));
    let is_shim = leads_session(&stat) && is_named;
    is_shim && runs_perennial(pid) && is_below_shim(stat.parent) == Ok(false)
}

/// Whether a shim is this process or above it. A chain that changed is followed again; one that can't be followed to
/// its top may hide a shim, and shows nothing.
pub fn is_below_shim(pid: i32) -> Result<bool, Broken> {
    let look = || {
        for one in chain(pid) {
            if is_shim(&one?) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    (1..TRIES).find_map(|_| look().ok()).map_or_else(look, Ok)
}

/// What the name of every Perennial begins with, moved aside by an upgrade or not.
const PROGRAM: &[u8] = b"perennial";

/// Whether a process's executable is a Perennial. That of a shim can't be read by an ordinary user.
fn runs_perennial(pid: i32) -> bool {
    let link = format!("/proc/{pid}/exe");
    let path = match fs::read_link(&link) {
        Ok(path) => path,
        Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
    };
    let is_named = path.file_name().is_some_and(|name| name.as_bytes().starts_with(PROGRAM));
    let file = |link: &str| fs::metadata(link).ok().map(|file| (file.dev(), file.ino()));
    is_named || file(&link).is_some_and(|theirs| file("/proc/self/exe") == Some(theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shim_is_recognised_by_the_words_after_its_name() {
        let agent = "agt_00000000000000000000000007";
        let line =
            |words: &[&str]| words.iter().map(|word| format!("{word}\0")).collect::<String>();
        let found = |words: &[&str]| shim_directory(line(words).as_bytes());
        let directory = format!("/h/state/holders/{agent}");
        for name in ["perennial", "/usr/bin/perennial", "renamed", ""] {
            assert_eq!(
                found(&[name, "shim", &directory]),
                Some(directory.clone().into()),
                "{name}"
            );
        }
        assert!(found(&["perennial", "shim", "/h/jobs/job_00000000000000000000000007"]).is_some());
        for words in [
            &["perennial", "shim"][..],
            &["perennial", "shim", agent],
            &["perennial", "shim", "/usr/share/doc"],
            &["perennial", "shim", &directory, "more"],
            &["perennial", "daemon", &directory],
            &["pyenv", "shim", "/usr/bin/python"],
        ] {
            assert_eq!(found(words), None, "{words:?}");
        }
        assert_eq!(shim_directory(b""), None);
    }

    #[test]
    fn the_chain_of_this_process_leads_to_the_top() {
        let me = std::process::id().cast_signed();
        let seen: Vec<Stat> = chain(me).collect::<Result<_, _>>().expect("it can be followed");
        assert_eq!(seen[0].process.pid, me);
        assert!(seen.windows(2).all(|two| two[0].parent == two[1].process.pid));
        assert!(seen.last().is_some_and(|top| top.parent == 0));
        assert!(seen.iter().all(|one| !is_shim(one)));
    }
}
