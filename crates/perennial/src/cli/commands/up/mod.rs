//! `up`: starts the daemon and returns when everyone's session is adopted; replaces a daemon of another build.

mod start;
mod upgrade;

use std::os::unix::process::CommandExt;
use std::time::Duration;

use perennial_api::answer::Health;
use perennial_api::{ClientError, ExitCode, client, problem};
use perennial_engine::host::monotonic::{self, Moment};

use crate::build_id;
use crate::cli::arrival::Arrival;
use crate::cli::commands::daemon::check_starter;
use crate::cli::commands::mail;
use crate::cli::context::{Context, config_note};
use crate::cli::failure::VerbResult;
use crate::cli::installed;
use crate::cli::problems;
use crate::cli::render::text::plain;
use crate::config::Config;

pub use start::start_detached;

/// Start the daemon
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial up
          perennial up --upgrade
          perennial up --foreground

Agents keep working while the daemon is stopped, upgraded or killed; `perennial up` reconnects to \
all of them.")]
pub struct Args {
    /// Replace a running daemon of another build by one of this build; sessions keep running and
    /// attached people stay attached
    #[arg(long, conflicts_with = "foreground")]
    upgrade: bool,
    /// Run in the foreground, for a service manager such as systemd (with
    /// KillMode=process)
    #[arg(long)]
    foreground: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    check_starter()?;
    if args.foreground {
        let error = start::daemon(&context.home, &[])?.exec();
        return Err(problems::daemon_not_started(&error).into());
    }
    let until = monotonic::now() + ANOTHERS_START;
    match health(context) {
        Ok(health) if args.upgrade && !build_id::is_own(&health.version, &health.build) => {
            let said_before = start::said_length(&context.home);
            let code = upgrade::swap(&health, context)?;
            settle(code, said_before, until, context, "the daemon was upgraded")
        }
        Ok(health) => tell(context, &health, "the daemon is already running"),
        // One that was killed breaks its connections first, and lets go of the home later.
        Err(error) if is_ending(&error) => start(until, context),
        Err(error) => Err(error.into()),
    }
}

fn health(context: &Context) -> Result<Health, ClientError> {
    context.client.get(&client::path(&["health"], &[]))?.read()
}

/// Whether the daemon is gone, or going.
fn is_ending(error: &ClientError) -> bool {
    match error {
        ClientError::NoDaemon(_) | ClientError::Broken(_) => true,
        ClientError::Problem(problem) => problem.kind == problem::ENDING,
        ClientError::Unreachable(_)
        | ClientError::Untrusted(_)
        | ClientError::Stopped(_)
        | ClientError::NoAnswer(_)
        | ClientError::Garbled(_)
        | ClientError::Unexpected(_)
        | ClientError::Unspeakable(_) => false,
    }
}

/// If the daemon that holds the home does not answer for this long, it is reported as failed.
const ANOTHERS_START: Duration = Duration::from_secs(5);
/// How often to check whether the home has become free.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(100);

fn start(until: Moment, context: &Context) -> VerbResult {
    let said_before = start::said_length(&context.home);
    let code = start_detached(&context.home, || {})?;
    settle(code, said_before, until, context, "the daemon is running")
}

/// Tells of the daemon that runs now. If it is gone again, or another one holds the home and does not answer,
/// a start is tried until the time is over.
fn settle(
    code: ExitCode,
    said_before: u64,
    until: Moment,
    context: &Context,
    what: &str,
) -> VerbResult {
    let answered = match code {
        ExitCode::Done => health(context).map(|health| (health, what)),
        // Another daemon has the home: it is starting at this moment, or ending.
        ExitCode::Refused => {
            answer_of_another(context).map(|health| (health, "the daemon is already running"))
        }
        ExitCode::Failed
        | ExitCode::Usage
        | ExitCode::NotFound
        | ExitCode::NoDaemon
        | ExitCode::NeedsOperator
        | ExitCode::NotYet => {
            return Err(start::failure(&context.home, said_before, code).into());
        }
    };
    match answered {
        Ok((health, what)) => tell(context, &health, what),
        Err(error) if is_ending(&error) && monotonic::now() < until => start(until, context),
        Err(error) if code == ExitCode::Done => Err(error.into()),
        Err(_) => Err(start::failure(&context.home, said_before, code).into()),
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

/// What to try without any agents yet; includes a coding agent if one is installed.
fn first_steps(context: &Context) -> String {
    let installed = installed::agent_clis(&context.home.config).into_iter().next();
    let mut text = "try:  perennial demo           a small fleet survives being killed\n      \
                          perennial run -- bash    a shell that outlives its terminal\n"
        .to_owned();
    if let Some(name) = installed {
        let spawn = format!("perennial spawn ada --harness {name}");
        text += &format!("      {spawn}; perennial attach ada    a coding agent\n");
    }
    text
}

fn tell(context: &Context, health: &Health, what: &str) -> VerbResult {
    if context.json {
        context.print_json(&serde_json::to_vec(health).unwrap_or_default())?;
        return Ok(ExitCode::Done);
    }
    let running = running_line(what, health.pid, &build_id::shown(&health.version, &health.build));
    let agents = &health.agents;
    let everybody = agents.living + agents.freezer + agents.cemetery;
    let next = if everybody == 0 {
        first_steps(context)
    } else {
        format!("{} living, {} in the freezer: perennial ls\n", agents.living, agents.freezer)
    };
    let unread = mail::unread_line(context);
    context.print(&format!("{running}\n{}{next}{unread}", notes(health, context)))?;
    Ok(ExitCode::Done)
}

/// What the operator should know of the daemon that runs.
fn notes(health: &Health, context: &Context) -> String {
    let mut notes = String::new();
    if !build_id::is_own(&health.version, &health.build) {
        let own = build_id::version_and_build();
        notes.push_str(&format!(
            "this command is {own}; to replace the daemon while sessions keep running: \
             perennial up --upgrade\n"
        ));
    }
    // The daemon read the file when it started; it may have been edited since.
    if let Err(mistake) = Config::load(&context.home.config) {
        notes.push_str(&format!("{}\n", config_note(&mistake)));
    }
    match health.agents.unadopted {
        0 => {}
        1 => notes.push_str("1 session does not answer yet: perennial ls --state unknown\n"),
        count => notes.push_str(&format!(
            "{count} sessions do not answer yet: perennial ls --state unknown\n"
        )),
    }
    if let Some(lost) = &health.store.lost {
        notes.push_str(&format!("{lost}: perennial doctor says what that means\n"));
    }
    if health.agents.copied > 0 {
        notes.push_str(
            "this home is a copy of another one: perennial doctor says what that means\n",
        );
    }
    notes
}

/// Which daemon runs.
pub fn running_line(what: &str, pid: u32, version: &str) -> String {
    format!("{what} (pid {pid}, version {})", plain(version))
}
