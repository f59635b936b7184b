//! `handoffs`: how well work passes from one session of an agent to the next.

use perennial_api::handoffs::Handoffs;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::handoffs;
use crate::cli::vocabulary::Words;

/// Show what agents' sessions read and ran again after taking over, summed per role
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial handoffs           averages for each role
          perennial handoffs bob       each session of bob that followed another
          perennial handoffs --json    both
          perennial handoffs --vocabulary gastown

Counted until the session's first change: files that it read and an earlier session had read or changed, commands that \
it ran and an earlier session had run, its steps, and its tokens without those of a cache. The figures come from the \
conversations of agent CLIs; they are read when you ask.")]
pub struct Args {
    /// The agent's name or id; default: all agents, of the dead the 200 youngest
    #[arg(value_name = "AGENT")]
    target: Option<String>,
    #[command(flatten)]
    words: Words,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let query = [("agent", args.target.as_deref()), ("vocabulary", args.words.word())];
    let answer = context.client.get(&client::path(&["handoffs"], &query))?;
    let is_one = args.target.is_some();
    context.show(&answer, |told: &Handoffs| {
        context.draw(|canvas| match is_one {
            true => handoffs::sessions(told, canvas),
            false => handoffs::roles(told, canvas),
        })
    })?;
    Ok(ExitCode::Done)
}
