//! Starts a daemon that outlives this process, and reads why it failed if it does.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use perennial_api::{ExitCode, Home, Problem};

use crate::cli::commands::daemon::{ANSWERING, READY, check_starter};
use crate::cli::failure::Failure;
use crate::cli::problems;
use crate::cli::progress;

/// Starts a daemon of its own session and waits until it is ready (`Done`), or has failed. `answering` is
/// called as soon as it answers.
pub fn start_detached(home: &Home, answering: impl FnOnce() + Send) -> Result<ExitCode, Failure> {
    let unusable = |error: io::Error| problems::home_unusable(&home.state, &error);
    home.create().map_err(unusable)?;
    let stderr =
        File::options().create(true).append(true).open(stderr_path(home)).map_err(unusable)?;
    let mut child = daemon(home, &["--detached"])?
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .map_err(|error| problems::daemon_not_started(&error))?;
    progress::told("waiting for the daemon", || wait_ready(&mut child, answering))
        .map_err(|error| problems::daemon_not_awaited(&error).into())
}

fn wait_ready(child: &mut Child, answering: impl FnOnce()) -> io::Result<ExitCode> {
    let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut lines = BufReader::new(stdout).lines();
    if lines.next().transpose()?.as_deref() == Some(ANSWERING) {
        answering();
        if lines.next().transpose()?.as_deref() == Some(READY) {
            return Ok(ExitCode::Done);
        }
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
    // It ended before it was ready: that is no success, whatever it says.
    Ok(code.filter(|code| *code != 0).map_or(ExitCode::Failed, ExitCode::from_number))
}

/// The command that becomes the daemon, with its home spelt out for it and for its shims.
pub fn daemon(home: &Home, flags: &[&str]) -> Result<Command, Failure> {
    check_starter()?;
    let program = std::env::current_exe().map_err(|error| problems::own_program_unknown(&error))?;
    let mut command = Command::new(program);
    command.arg0("perennial").arg("daemon").args(flags);
    if let Some(root) = &home.root {
        command.env(perennial_api::home::VARIABLE, root);
    }
    Ok(command)
}

/// Where a detached daemon says what its log can't take: a failed start, a panic.
fn stderr_path(home: &Home) -> PathBuf {
    home.log_dir().join("daemon.stderr")
}

pub fn said_length(home: &Home) -> u64 {
    std::fs::metadata(stderr_path(home)).map_or(0, |seen| seen.len())
}

/// What the daemon itself said about its failure.
pub fn failure(home: &Home, said_before: u64, code: ExitCode) -> Problem {
    let said = std::fs::read(stderr_path(home)).unwrap_or_default();
    let start = usize::try_from(said_before).unwrap_or(0).min(said.len());
    read_failure(&String::from_utf8_lossy(&said[start..]), home).exiting(code)
}

/// A problem as `tell` wrote it; anything else that was said, such as a panic, is the reason.
fn read_failure(said: &str, home: &Home) -> Problem {
    if said.trim().is_empty() {
        return problems::daemon_failed_silently(&home.daemon_log());
    }
    let mut problem = problems::daemon_failed();
    let mut why = Vec::new();
    for line in said.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(what) = line.strip_prefix("error: ") {
            problem.title = what.to_owned();
        } else if let Some(next) = line.strip_prefix("next: ") {
            problem.next = next.to_owned();
        } else {
            why.push(line.strip_prefix("why: ").unwrap_or(line));
        }
    }
    problem.because(why.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_daemon_said_becomes_a_problem() {
        let home = Home::at("/h");
        let told = read_failure("error: held\nwhy: by 12\nnext: use it\n", &home);
        assert_eq!((&*told.title, &*told.detail, &*told.next), ("held", "by 12", "use it"));
        let panicked = read_failure("thread 'main' panicked at x:\nboom\n", &home);
        assert_eq!(panicked.detail, "thread 'main' panicked at x:; boom");
        let silent = read_failure("", &home);
        assert_eq!(silent.next, "read its log: /h/state/log/daemon.log");
    }
}
