//! `up`: starts the daemon and returns when it answers.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use perennial_api::answer::Health;
use perennial_api::{ClientError, ExitCode, Home, Problem, client};
use perennial_engine::host::monotonic;

use super::daemon::READY;
use crate::cli::arrival::Arrival;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::installed;
use crate::cli::problems;
use crate::cli::progress;
use crate::cli::render::text::plain;

/// Start the daemon
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial up
          perennial up --foreground

Agents keep working while the daemon is stopped, upgraded or killed; `perennial up` reconnects to \
all of them.")]
pub struct Args {
    /// Run in the foreground, for a service manager such as systemd (with
    /// KillMode=process)
    #[arg(long)]
    foreground: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if args.foreground {
        let error = daemon(&context.home, &[])?.exec();
        return Err(problems::daemon_not_started(&error).into());
    }
    match health(context) {
        Ok(health) => {
            tell(context, &health, "the daemon is already running")?;
            Ok(ExitCode::Done)
        }
        // One that was killed breaks its connections first, and lets go of the home later.
        Err(ClientError::NoDaemon(_) | ClientError::Broken(_)) => start(context),
        Err(error) => Err(error.into()),
    }
}

fn health(context: &Context) -> Result<Health, ClientError> {
    context.client.get(&client::path(&["health"], &[]))?.read()
}

/// If the daemon that holds the home does not answer for this long, it is reported as failed.
const ANOTHERS_START: Duration = Duration::from_secs(5);
/// How often to check whether the home has become free.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(100);

fn start(context: &Context) -> VerbResult {
    let until = monotonic::now() + ANOTHERS_START;
    loop {
        let said_before = said_length(&context.home);
        let code = start_detached(&context.home)?;
        let answered = match code {
            ExitCode::Done => health(context),
            // Another daemon has the home: it is starting at this moment, or ending.
            ExitCode::Refused => answer_of_another(context),
            ExitCode::Failed
            | ExitCode::Usage
            | ExitCode::NotFound
            | ExitCode::NoDaemon
            | ExitCode::NeedsOperator
            | ExitCode::NotYet => {
                return Err(failure(context, said_before, code).into());
            }
        };
        match answered {
            Ok(health) => {
                let is_own = code == ExitCode::Done;
                let what =
                    if is_own { "the daemon is running" } else { "the daemon is already running" };
                tell(context, &health, what)?;
                return Ok(ExitCode::Done);
            }
            Err(error) if code == ExitCode::Done => return Err(error.into()),
            Err(_) if monotonic::now() >= until => {
                return Err(failure(context, said_before, code).into());
            }
            Err(_) => {}
        }
    }
}

fn answer_of_another(context: &Context) -> Result<Health, ClientError> {
    let arrival = Arrival::watch(&context.home).map_err(ClientError::Unreachable)?;
    loop {
        let answered = health(context);
        if answered.is_ok() || !arrival.wait(TRY_AGAIN_AFTER) {
            return answered;
        }
    }
}

/// What the daemon itself said about its failure.
fn failure(context: &Context, said_before: u64, code: ExitCode) -> Problem {
    let said = std::fs::read(stderr_path(&context.home)).unwrap_or_default();
    let start = usize::try_from(said_before).unwrap_or(0).min(said.len());
    read_failure(&String::from_utf8_lossy(&said[start..]), &context.home).exiting(code)
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

/// Starts a daemon of its own session and waits until it is ready (`Done`), or has failed.
pub fn start_detached(home: &Home) -> Result<ExitCode, Failure> {
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
    progress::told("waiting for the daemon", || wait_ready(&mut child))
        .map_err(|error| problems::daemon_not_awaited(&error).into())
}

fn wait_ready(child: &mut Child) -> io::Result<ExitCode> {
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line.trim_end() == READY {
        return Ok(ExitCode::Done);
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
    // It ended before it was ready: that is no success, whatever it says.
    Ok(code.filter(|code| *code != 0).map_or(ExitCode::Failed, ExitCode::from_number))
}

/// The command that becomes the daemon, with its home spelt out for it and for its shims.
fn daemon(home: &Home, flags: &[&str]) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| problems::own_program_unknown(&error))?;
    let mut command = Command::new(program);
    command.arg0("perennial").arg("daemon").args(flags);
    if let Some(root) = &home.root {
        command.env(perennial_api::home::VARIABLE, root);
    }
    Ok(command)
}

/// Where a detached daemon says what its log can't take: a failed start, a panic.
fn stderr_path(home: &Home) -> std::path::PathBuf {
    home.log_dir().join("daemon.stderr")
}

fn said_length(home: &Home) -> u64 {
    std::fs::metadata(stderr_path(home)).map_or(0, |seen| seen.len())
}

/// What to try without any agents yet; includes a coding agent if one is installed.
fn first_steps(context: &Context) -> String {
    let installed = installed::any_agent_cli(&context.home.config);
    let mut text = "try:  perennial demo           a small fleet survives being killed\n      \
                          perennial run -- bash    a shell that outlives its terminal\n"
        .to_owned();
    if let Some(name) = installed {
        let spawn = format!("perennial spawn ada --harness {name}");
        text += &format!("      {spawn}; perennial attach ada    a coding agent\n");
    }
    text
}

fn tell(context: &Context, health: &Health, what: &str) -> Result<(), Failure> {
    if context.json {
        let body = serde_json::to_vec(health).unwrap_or_default();
        return context.print_json(&body);
    }
    let agents = &health.agents;
    let everybody = agents.living + agents.freezer + agents.cemetery;
    let next = if everybody == 0 {
        first_steps(context)
    } else {
        format!("{} living, {} in the freezer: perennial ls\n", agents.living, agents.freezer)
    };
    let copied = match agents.copied {
        0 => "",
        _ => "this home is a copy of another one: perennial doctor says what that means\n",
    };
    let running = running_line(what, health.pid, &health.version);
    context.print(&format!("{running}\n{copied}{next}"))
}

/// Which daemon runs.
pub fn running_line(what: &str, pid: u32, version: &str) -> String {
    format!("{what} (pid {pid}, version {})", plain(version))
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
