//! `up`: starts the daemon and returns when it answers.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use perennial_api::answer::Health;
use perennial_api::{ClientError, ExitCode, Home, client};

use super::daemon::READY;
use crate::cli::context::Context;
use crate::cli::failure::{Ending, Failure, failed};
use crate::cli::progress;
use crate::cli::render::text::plain;

/// Start the daemon
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial up
          perennial up --foreground      for a service manager, with KillMode=process

Stopping, upgrading or killing the daemon stops nobody's work: `perennial up` finds everybody again.")]
pub struct Args {
    /// Run it in this process, until it is told to end
    #[arg(long)]
    foreground: bool,
}

pub fn run(args: &Args, context: &Context) -> Ending {
    if args.foreground {
        let error = daemon(&context.home, &[])?.exec();
        return Err(failed("not-started", "the daemon can't be started")
            .because(error.to_string())
            .into());
    }
    match health(context) {
        Ok(health) => {
            tell(context, &health, "the daemon is running already")?;
            Ok(ExitCode::Done)
        }
        Err(ClientError::NoDaemon(_)) => start(context),
        Err(error) => Err(error.into()),
    }
}

fn health(context: &Context) -> Result<Health, ClientError> {
    context.client.get(&client::path(&["health"], &[]))?.read()
}

fn start(context: &Context) -> Ending {
    let code = start_detached(&context.home)?;
    match (code, health(context)) {
        (ExitCode::Done, Ok(health)) => {
            tell(context, &health, "the daemon is running")?;
            Ok(ExitCode::Done)
        }
        (ExitCode::Done, Err(error)) => Err(error.into()),
        // Another `up` was faster: that is as good.
        (_, Ok(health)) => {
            tell(context, &health, "the daemon is running already")?;
            Ok(ExitCode::Done)
        }
        (code, Err(_)) => {
            let said = std::fs::read(stderr_path(&context.home)).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            eprint!("{}", said.lines().map(|line| plain(line) + "\n").collect::<String>());
            if said.trim().is_empty() {
                eprintln!("error: the daemon ended before it was ready");
                eprintln!("why: see {}", context.home.daemon_log().display());
            }
            Ok(code)
        }
    }
}

/// Starts a daemon of its own session and waits until it is ready (`Done`), or has failed.
pub fn start_detached(home: &Home) -> Result<ExitCode, Failure> {
    let unusable = |error: io::Error| {
        failed("home-unusable", "the home can't be used")
            .because(format!("{}: {error}", home.state.display()))
            .next("set PERENNIAL_HOME to a directory of yours that can be written")
    };
    home.create().map_err(unusable)?;
    let stderr = File::create(stderr_path(home)).map_err(unusable)?;
    let mut child = daemon(home, &["--detached"])?
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .map_err(|error| {
            failed("not-started", "the daemon can't be started").because(error.to_string())
        })?;
    progress::told("waiting for the daemon", || wait_ready(&mut child)).map_err(|error| {
        failed("not-started", "the daemon can't be waited for").because(error.to_string()).into()
    })
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
    let program = std::env::current_exe().map_err(|error| {
        failed("no-program", "this program can't find itself").because(error.to_string())
    })?;
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

fn tell(context: &Context, health: &Health, what: &str) -> Result<(), Failure> {
    if context.json {
        let body = serde_json::to_vec(health).unwrap_or_default();
        return context.print_json(&body);
    }
    let agents = &health.agents;
    let everybody = agents.living + agents.freezer + agents.cemetery;
    let next = if everybody == 0 {
        "try:  perennial demo           a fleet that is killed and survives\n      \
               perennial run -- bash    a shell that outlives its terminal\n"
            .to_owned()
    } else {
        format!("{} living, {} in the freezer: perennial ls\n", agents.living, agents.freezer)
    };
    context.print(&format!(
        "{what} (pid {}, version {})\n{next}",
        health.pid,
        plain(&health.version)
    ))
}
