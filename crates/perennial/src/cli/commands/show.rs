//! `show`: everything about one agent.

use std::path::Path;

use perennial_api::{Agent, ExitCode, client};
use perennial_engine::harness::Preset;
use perennial_engine::harness::preset::Limit;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::card::card;
use crate::cli::render::document::{Document, document, of_agents};
use crate::cli::vocabulary::Words;

/// Show everything about one agent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial show bob
          perennial show bob --json
          perennial show bob~1
          perennial show bob --json --vocabulary s3")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    #[command(flatten)]
    words: Words,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let vocabulary = ("vocabulary", args.words.word());
    let answer = context.client.get(&client::path(&["agents", &args.target], &[vocabulary]))?;
    if let Some(vocabulary) = args.words.vocabulary() {
        context.show(&answer, |agent: &Document| {
            context.draw(|canvas| document(agent, &of_agents(vocabulary), canvas))
        })?;
        return Ok(ExitCode::Done);
    }
    context.show(&answer, |agent: &Agent| {
        let limits = limits(&context.home.config, agent);
        context.draw(|canvas| card(agent, &limits, canvas))
    })?;
    Ok(ExitCode::Done)
}

/// What does not work with the agent's harness; nothing is known of a bare command, or where its preset can't
/// be read.
fn limits(config: &Path, agent: &Agent) -> Vec<Limit> {
    Preset::load(config, &agent.harness).map(|preset| preset.limits.not).unwrap_or_default()
}
