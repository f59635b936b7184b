//! `why`: explains how an agent came to its state and what happens next.

use perennial_api::query::WHY_LIMIT;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::within;
use crate::cli::render::story::story;

/// Explain an agent's state: evidence, what happens next, history
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial why bob
          perennial why bob --all

The history is listed newest first.")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// Show at most this many events of its history
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, WHY_LIMIT>)]
    limit: u64,
    /// Show the whole history
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let limit = if args.all { WHY_LIMIT } else { args.limit }.to_string();
    let query = [("limit", Some(limit.as_str()))];
    let answer = context.client.get(&client::path(&["agents", &args.target, "why"], &query))?;
    context.show(&answer, |why| context.draw(|canvas| story(why, &args.target, canvas)))?;
    Ok(ExitCode::Done)
}
