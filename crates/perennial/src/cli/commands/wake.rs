//! `wake`: starts a session for an agent.

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::render::roster::brief;

/// Start a session for a sleeping or crashed agent
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial wake bob")]
pub struct Args {
    /// Its name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
}

pub fn run(args: &Args, context: &Context) -> Ending {
    let path = client::path(&["agents", &args.target, "wake"], &[]);
    let answer = context.client.post(&path, &serde_json::json!({}))?;
    context.show(&answer, brief)?;
    Ok(ExitCode::Done)
}
