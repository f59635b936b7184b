//! Starts the program of a session or a job: environment, program lookup, fork, terminal or pipe, exec.
//!
//! Success means that exec succeeded. No shell anywhere. Between fork and exec only system calls run.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::ptr;

use perennial_core::id::SessionNumber;
use rustix::fs::{Access, access};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::super::cgroup::Cgroup;
use super::super::environment;
use super::super::owner::Owner;
use super::super::protocol::StartOrder;

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the command is empty")]
    Empty,
    #[error("{0} was not found in PATH")]
    NotFound(String),
    #[error("can't read its environment: {0}")]
    Environment(#[source] io::Error),
    #[error("an argument, variable or path contains a NUL byte")]
    Nul(#[from] std::ffi::NulError),
    #[error("can't create a process: {0}")]
    Fork(#[source] io::Error),
    #[error("can't set up its input and output: {0}")]
    Stdio(#[source] io::Error),
    #[error("directory {dir}: {source}")]
    Directory { dir: String, source: io::Error },
    #[error("{program}: {source}")]
    Exec { program: String, source: io::Error },
}

/// Everything that exec needs, made before the fork: after it nothing may be allocated.
struct Image {
    program: CString,
    argv: Vec<CString>,
    env: Vec<CString>,
    dir: CString,
    nofile: Option<u64>,
}

/// Who a session or a job is, as its variables tell it.
#[derive(Debug, Clone, Copy)]
pub struct Marks<'a> {
    pub owner: Owner,
    pub number: SessionNumber,
    pub home: Option<&'a OsStr>,
    pub session_dir: &'a Path,
}

/// What a program reads from and prints to.
#[derive(Debug, Clone, Copy)]
pub enum Stdio<'a> {
    /// Its controlling terminal, for all three.
    Terminal(&'a OwnedFd),
    /// Nothing to read, and this to print to.
    Output(&'a OwnedFd),
}

/// Runs the program; its pid is that of our unreaped child. The cgroup is left out if the kernel does
/// not let us into it: the caller sees that in the second value.
pub fn start(
    order: &StartOrder,
    holder: &Path,
    marks: Marks<'_>,
    stdio: Stdio<'_>,
    cgroup: Option<&Cgroup>,
) -> Result<(i32, bool), StartError> {
    let image = image(order, holder, marks)?;
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, env) = (pointers(&image.argv), pointers(&image.env));
    let (failure, failure_end) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| StartError::Fork(error.into()))?;
    // Opened before the fork, so that failing is still simple.
    let null;
    let ends = match stdio {
        Stdio::Terminal(slave) => Ends { fds: [slave.as_raw_fd(); 3], has_terminal: true },
        Stdio::Output(writer) => {
            null = std::fs::File::open("/dev/null").map_err(StartError::Stdio)?;
            let writer = writer.as_raw_fd();
            Ends { fds: [null.as_raw_fd(), writer, writer], has_terminal: false }
        }
    };
    let cgroup = cgroup.and_then(|cgroup| cgroup.open().ok());
    let (pid, inside) = fork(cgroup.as_ref()).map_err(StartError::Fork)?;
    if pid == 0 {
        child(&image, &argv, &env, ends, failure_end.as_raw_fd());
    }
    drop(failure_end);
    let mut report = [0u8; 5];
    // Blocks until exec closes the other end; a child that dies before it does so, too.
    match rustix::io::read(&failure, &mut report) {
        Ok(5) => {
            // It ends at once. Until it has, its cgroup can't be removed.
            let _reaped = waitpid(Pid::from_raw(pid), WaitOptions::empty());
            let [step, a, b, c, d] = report;
            let source = io::Error::from_raw_os_error(i32::from_le_bytes([a, b, c, d]));
            Err(match step {
                STEP_DIRECTORY => StartError::Directory { dir: order.dir.clone(), source },
                STEP_STDIO => StartError::Stdio(source),
                _ => StartError::Exec {
                    program: image.program.to_string_lossy().into_owned(),
                    source,
                },
            })
        }
        Ok(_) | Err(_) => Ok((pid, inside)),
    }
}

/// Forks, into the cgroup if there is one; 0 in the child.
fn fork(cgroup: Option<&OwnedFd>) -> io::Result<(i32, bool)> {
    if let Some(dir) = cgroup {
        // SAFETY: all zero is the empty argument structure of clone3.
        let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
        arguments.flags = CLONE_INTO_CGROUP;
        arguments.exit_signal = libc::SIGCHLD as u64;
        arguments.cgroup = dir.as_raw_fd().unsigned_abs().into();
        let size = size_of::<libc::clone_args>();
        // SAFETY: without CLONE_VM this is a fork; there is one thread, and the child only makes
        // system calls until it executes.
        let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) };
        if pid >= 0 {
            return Ok((i32::try_from(pid).unwrap_or(0), true));
        }
    }
    // SAFETY: as above.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok((pid, false)),
    }
}

/// libc has it in a type that is too narrow.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

const STEP_STDIO: u8 = 1;
const STEP_DIRECTORY: u8 = 2;
const STEP_EXEC: u8 = 3;

/// What becomes the child's input, output and error output.
#[derive(Clone, Copy)]
struct Ends {
    fds: [RawFd; 3],
    has_terminal: bool,
}

/// The child's side of the fork: only system calls, and no way back.
fn child(
    image: &Image,
    argv: &[*const libc::c_char],
    env: &[*const libc::c_char],
    ends: Ends,
    failure: RawFd,
) -> ! {
    // SAFETY: every call is async-signal-safe and every pointer was made before the fork and lives.
    unsafe {
        let mut step = STEP_STDIO;
        let [input, output, errors] = ends.fds;
        let is_set_up = libc::setsid() >= 0
            && (!ends.has_terminal || libc::ioctl(input, libc::TIOCSCTTY, 0) == 0)
            && libc::dup2(input, 0) == 0
            && libc::dup2(output, 1) == 1
            && libc::dup2(errors, 2) == 2;
        if is_set_up {
            for signal in super::IGNORED {
                libc::signal(signal, libc::SIG_DFL);
            }
            limit_files(image.nofile);
            step = STEP_DIRECTORY;
            if libc::chdir(image.dir.as_ptr()) == 0 {
                step = STEP_EXEC;
                let mut none: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut none);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
                libc::execve(image.program.as_ptr(), argv.as_ptr(), env.as_ptr());
            }
        }
        let [a, b, c, d] = (*libc::__errno_location()).to_le_bytes();
        let report = [step, a, b, c, d];
        libc::write(failure, report.as_ptr().cast(), report.len());
        libc::_exit(127)
    }
}

/// The daemon may have raised its own limit; a session gets the original one back.
///
/// # Safety
/// Only system calls, so it may run after a fork.
unsafe fn limit_files(soft: Option<u64>) {
    let Some(soft) = soft else { return };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = soft.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

fn image(order: &StartOrder, holder: &Path, marks: Marks<'_>) -> Result<Image, StartError> {
    let variables = variables(order, holder, marks).map_err(StartError::Environment)?;
    let path =
        variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let name = order.argv.first().filter(|name| !name.is_empty()).ok_or(StartError::Empty)?;
    let program = find_program(name, Path::new(&order.dir), path)
        .ok_or_else(|| StartError::NotFound(name.clone()))?;
    let env = variables.into_iter().map(|(name, value)| {
        let mut entry = name.into_vec();
        entry.push(b'=');
        entry.extend_from_slice(value.as_bytes());
        CString::new(entry)
    });
    Ok(Image {
        program: CString::new(program.into_os_string().into_vec())?,
        argv: order
            .argv
            .iter()
            .map(|word| CString::new(word.as_str()))
            .collect::<Result<_, _>>()?,
        env: env.collect::<Result<_, _>>()?,
        dir: CString::new(order.dir.as_str())?,
        nofile: order.nofile,
    })
}

/// The agent's environment, what the order adds, and who the session is; later ones win.
fn variables(
    order: &StartOrder,
    holder: &Path,
    marks: Marks<'_>,
) -> io::Result<Vec<(OsString, OsString)>> {
    let mut all: Vec<(OsString, OsString)> = environment::read(holder)?;
    // A tmux of the caller would be a way out of the session.
    all.retain(|(name, _)| name != "TMUX" && name != "TMUX_PANE");
    all.retain(|(name, _)| order.env_remove.iter().all(|removed| name != removed.as_str()));
    let mut set = |name: &OsStr, value: &OsStr| {
        all.retain(|(present, _)| present != name);
        all.push((name.to_owned(), value.to_owned()));
    };
    for (name, value) in &order.env {
        set(name.as_ref(), value.as_ref());
    }
    let numbered = marks.owner.numbered(marks.number);
    set(marks.owner.mark().as_ref(), numbered.as_ref());
    match marks.owner {
        Owner::Agent(agent) => {
            set("PERENNIAL_AGENT".as_ref(), agent.to_string().as_ref());
            // Tmux inside the session gets a server of its own.
            set("TMUX_TMPDIR".as_ref(), marks.session_dir.as_os_str());
        }
        Owner::Job(_) => {}
    }
    if let Some(home) = marks.home {
        set("PERENNIAL_HOME".as_ref(), home);
    }
    if !all.iter().any(|(name, _)| name == "TERM") {
        all.push(("TERM".into(), "xterm-256color".into()));
    }
    Ok(all)
}

/// Looks a program up as execvp would, from the session's directory and with the session's PATH.
fn find_program(name: &str, dir: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    if name.contains('/') {
        // Exec itself says what is wrong with a named file.
        return Some(dir.join(name));
    }
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    std::env::split_paths(path)
        .map(|entry| dir.join(entry).join(name))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_up_from_the_sessions_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).expect("makes it");
        std::os::unix::fs::symlink("/bin/sh", bin.join("tool")).expect("links");
        std::fs::write(bin.join("data"), "no program").expect("writes");
        let find = |name: &str, path: &str| find_program(name, dir.path(), Some(path.as_ref()));
        assert_eq!(find("tool", "/nowhere:bin"), Some(bin.join("tool")));
        assert_eq!(find("./bin/tool", ""), Some(dir.path().join("./bin/tool")));
        assert_eq!(find("data", "bin"), None, "not executable");
        assert_eq!(find("tool", "/nowhere"), None);
    }
}
