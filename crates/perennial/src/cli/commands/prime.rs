//! `prime`: what a session is told at its start, for agents that ask for it themselves.

use perennial_api::answer::StartText;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::own_session;
use crate::cli::render::text::several_lines;

/// Print what an agent's session is told at its start
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial prime                        in an agent's session: its own
          perennial prime bob

Who the agent is, its role and mandate, vacant roles, who else is at work, and what its clock asks of it. \
Agent CLIs with hooks are told this by themselves, at every start and after a compaction.")]
pub struct Args {
    /// The agent's name or id; within an agent's session, that agent
    #[arg(value_name = "AGENT")]
    target: Option<String>,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let target = match args.target {
        Some(target) => target,
        None => own_session::agent()?,
    };
    let answer = context.client.get(&client::path(&["agents", &target, "prime"], &[]))?;
    context.show(&answer, |briefing: &StartText| several_lines(&briefing.text))?;
    Ok(ExitCode::Done)
}
