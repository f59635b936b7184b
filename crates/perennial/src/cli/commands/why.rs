//! `why`: how an agent came to its state, and what comes next.

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::render::story::story;

/// Tell why an agent is in its state, on what evidence, and what would change it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial why bob")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
}

pub fn run(args: &Args, context: &Context) -> Ending {
    let answer = context.client.get(&client::path(&["agents", &args.target, "why"], &[]))?;
    context.show(&answer, |why| context.draw(|canvas| story(why, canvas)))?;
    Ok(ExitCode::Done)
}
