//! `rename`: gives an agent another name.

use perennial_api::request::Rename;
use perennial_api::{Agent, ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::roster::name;
use crate::cli::render::text::plain;

/// Rename an agent; its id and history stay the same
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial rename bob robert")]
pub struct Args {
    /// The agent's name or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// The new name: up to 64 letters, digits, - and _
    name: String,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let path = client::path(&["agents", &args.target, "rename"], &[]);
    let answer = context.client.post(&path, &Rename { name: args.name })?;
    context.show(&answer, |agent: &Agent| match (plain(&args.target), name(agent)) {
        (before, now) if before == now => format!("{now} already has that name\n"),
        (before, now) => format!("{before} is now called {now}\n"),
    })?;
    Ok(ExitCode::Done)
}
