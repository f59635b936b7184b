//! `report`: in an agent's session, says where its work stands.

use perennial_api::answer::Reported;
use perennial_api::{ExitCode, client, request};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::within;
use crate::cli::phase;

/// In an agent's session: say where its work stands
#[derive(Debug, clap::Args)]
#[command(override_usage = "perennial report [OPTIONS]")]
#[command(after_help = "\
Examples: perennial report --phase testing --summary 'the parser is done; its tests run'
          perennial report --context 60

For agents without the tools of the MCP server. `perennial ls` and `perennial show` show what was reported; what is \
measured of the context window counts more than a report of it.")]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub struct Args {
    /// Which phase the work is in
    #[arg(long, group = "what", value_parser = phase::WORDS)]
    phase: Option<String>,
    /// What the agent does, in one line
    #[arg(long, group = "what", value_name = "TEXT")]
    summary: Option<String>,
    /// How much of the context window is used
    #[arg(long, group = "what", value_name = "PERCENT", value_parser = within::<0, 100>)]
    context: Option<u64>,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let Args { phase, summary, context: context_percent } = args;
    let phase = phase.as_deref().and_then(phase::of_word);
    let body = request::Report { phase, summary, context_percent };
    let answer = context.client.post(&client::path(&["report"], &[]), &body)?;
    context.show(&answer, |Reported {}| "recorded\n".to_owned())?;
    Ok(ExitCode::Done)
}
