//! `wake`: gives an agent a session.

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::render::roster::brief;

/// Give a sleeping or crashed agent a session
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial wake bob")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
}

pub fn run(args: &Args, context: &Context) -> Ending {
    let path = client::path(&["agents", &args.target, "wake"], &[]);
    let answer = context.client.post(&path, &serde_json::json!({}))?;
    context.show(&answer, brief)?;
    Ok(ExitCode::Done)
}
