//! `pane`: opens the tmux pane of an agent again.

use perennial_api::{Agent, ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::roster::name;
use crate::cli::tmux;

/// Open the tmux pane of an agent again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial pane bob

An agent that was started with --host tmux has a pane in your tmux. If you close the pane, or its tmux server \
ends, the agent keeps running, and `perennial attach` shows its terminal. This command opens the pane again. \
The agent's next holder is started in it.")]
pub struct Args {
    /// The agent's name or id
    #[arg(value_name = "AGENT")]
    target: String,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let answer = context.client.get(&client::path(&["agents", &args.target], &[]))?;
    let agent: Agent = answer.read()?;
    let was_opened = tmux::reopen(&agent, context)?;
    context.show(&answer, |agent: &Agent| {
        let opened = if was_opened { "opened its pane" } else { "its pane is open already" };
        let see = tmux::attach_command(agent).unwrap_or_default();
        format!("{}: {opened}; to see it: {see}\n", name(agent))
    })?;
    Ok(ExitCode::Done)
}
