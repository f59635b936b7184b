//! `show`: everything about one agent.

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::card::card;

/// Show everything about one agent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial show bob
          perennial show bob --json
          perennial show bob~1")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let answer = context.client.get(&client::path(&["agents", &args.target], &[]))?;
    context.show(&answer, |agent| context.draw(|canvas| card(agent, canvas)))?;
    Ok(ExitCode::Done)
}
