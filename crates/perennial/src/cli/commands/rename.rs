//! `rename`: another name for the same agent.

use perennial_api::request::Rename;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::render::roster::brief;

/// Give an agent another name; its id and history stay
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial rename bob robert")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// ASCII letters, digits, - and _, up to 64
    name: String,
}

pub fn run(args: Args, context: &Context) -> Ending {
    let path = client::path(&["agents", &args.target, "rename"], &[]);
    let answer = context.client.post(&path, &Rename { name: args.name })?;
    context.show(&answer, brief)?;
    Ok(ExitCode::Done)
}
