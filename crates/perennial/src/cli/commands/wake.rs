//! `wake`: starts a session for an agent.

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::roster::outcome;
use crate::cli::render::time::LocalTime;

/// Start a session for a sleeping or crashed agent
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial wake bob")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let path = client::path(&["agents", &args.target, "wake"], &[]);
    let answer = context.client.post(&path, &serde_json::json!({}))?;
    context.show(&answer, |agent| outcome(agent, &LocalTime::system()))?;
    Ok(ExitCode::Done)
}
