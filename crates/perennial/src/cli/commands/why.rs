//! `why`: explains how an agent came to its state and what happens next.

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::story::story;

/// Explain an agent's state: evidence, history, what happens next
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial why bob")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let answer = context.client.get(&client::path(&["agents", &args.target, "why"], &[]))?;
    context.show(&answer, |why| context.draw(|canvas| story(why, &args.target, canvas)))?;
    Ok(ExitCode::Done)
}
