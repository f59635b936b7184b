//! `spawn`: a new agent with its first session.

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::launch::{self, Options};
use crate::cli::render::roster::brief;

/// Start a new agent; returns when its program has been started
#[derive(Debug, clap::Args)]
#[command(override_usage = "perennial spawn [OPTIONS] <NAME> -- <ARGV>...
       perennial spawn --harness <HARNESS> [OPTIONS] <NAME> [-- <ARGUMENTS>...]")]
#[command(after_help = "\
Examples: perennial spawn bob --harness claude --prompt 'mend the failing test'
          perennial spawn watcher --restart always --dir ~/src -- make watch
          perennial spawn tester --role tester --env CI=1 -- ./run-tests --slow

The agent gets your environment, except what is about your own terminal or session. It outlives \
this terminal and the daemon; when its program crashes it is started again (see --restart).

An agent CLI is hatching until it has shown something.")]
pub struct Args {
    /// ASCII letters, digits, - and _, up to 64
    name: String,
    #[command(flatten)]
    options: Options,
    /// The program and its arguments; with --harness: further arguments for it
    #[arg(required_unless_present = "harness", trailing_var_arg = true, value_name = "ARGV")]
    argv: Vec<String>,
}

pub fn run(args: Args, context: &Context) -> Ending {
    let request = launch::request(args.name, args.options, args.argv)?;
    let answer = context.client.post(&client::path(&["agents"], &[]), &request)?;
    context.show(&answer, brief)?;
    Ok(ExitCode::Done)
}
