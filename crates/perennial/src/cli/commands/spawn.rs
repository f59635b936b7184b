//! `spawn`: starts a new agent and its first session.

use perennial_api::ExitCode;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::launch::{self, Options};
use crate::cli::render::roster::outcome;
use crate::cli::render::time::LocalTime;

/// Start a new agent
#[derive(Debug, clap::Args)]
#[command(override_usage = "perennial spawn [OPTIONS] <NAME> [-- <COMMAND>...]
       perennial spawn [OPTIONS] --harness <HARNESS>
           <NAME> [-- <ARGUMENTS>...]")]
#[command(after_help = "\
Examples: perennial spawn bob
          perennial spawn bob --harness claude --prompt 'fix the failing test'
          perennial spawn watcher --restart always --dir ~/src -- make watch
          perennial spawn tester --role tester --env CI=1 -- ./run-tests --slow

The command returns when the program has been started. The agent inherits your environment except \
terminal-specific variables. It outlives this terminal and the daemon, and is restarted when its \
program crashes (see --restart). Processes that the program leaves in the background end with it.

Without --harness and a command, the agent CLI that is installed is run; if there are several, you are asked \
which one. An agent that runs an agent CLI is `hatching` until the CLI gives its first sign of life.")]
pub struct Args {
    /// The agent's name: up to 64 letters, digits, - and _
    name: String,
    #[command(flatten)]
    options: Options,
    /// The program and its arguments; with --harness, extra arguments for
    /// the agent CLI
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let options = args.options.with_harness(&args.argv, context)?;
    let request = launch::request(Some(args.name), options, args.argv)?;
    let (_, answer) = launch::born(launch::with_usual_host(request, context), context)?;
    context.show(&answer, |agent| outcome(agent, &LocalTime::system()))?;
    Ok(ExitCode::Done)
}
