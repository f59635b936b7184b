//! `report`: in an agent's session, says where its work stands.

use perennial_api::answer::Reported;
use perennial_api::request::{self, WorkPhase};
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::within;

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
    #[arg(long, group = "what", value_parser = PHASES.map(|(word, _)| word))]
    phase: Option<String>,
    /// What the agent does, in one line
    #[arg(long, group = "what", value_name = "TEXT")]
    summary: Option<String>,
    /// How much of the context window is used
    #[arg(long, group = "what", value_name = "PERCENT", value_parser = within::<0, 100>)]
    context: Option<u64>,
}

const PHASES: [(&str, WorkPhase); 5] = [
    ("investigation", WorkPhase::Investigation),
    ("planning", WorkPhase::Planning),
    ("implementation", WorkPhase::Implementation),
    ("testing", WorkPhase::Testing),
    ("completion", WorkPhase::Completion),
];

pub fn run(args: Args, context: &Context) -> VerbResult {
    let Args { phase, summary, context: context_percent } = args;
    let named = |word: &str| PHASES.iter().find(|(known, _)| *known == word).map(|(_, it)| *it);
    let phase = phase.as_deref().and_then(named);
    let body = request::Report { phase, summary, context_percent };
    let answer = context.client.post(&client::path(&["report"], &[]), &body)?;
    context.show(&answer, |Reported {}| "recorded\n".to_owned())?;
    Ok(ExitCode::Done)
}
