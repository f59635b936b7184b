//! `restart`: ends sessions and starts the next ones, in one decision for each agent.

use perennial_api::{client, request};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::launch;
use crate::cli::render::roster::outcome;
use crate::cli::render::time::LocalTime;
use crate::cli::several::{self, Targets};

/// End an agent's session and start the next one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial restart bob
          perennial restart 'web-*'
          perennial restart bob --env CI=1
          perennial restart bob --fresh  with a new conversation

The session ends as with `perennial stop`. A sleeping or crashed agent is woken. An agent CLI resumes \
its conversation; if it was in the middle of a turn, it waits for your instructions. Retries are \
counted from zero again. Whoever is attached stays attached.")]
pub struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Set an environment variable for this and later sessions; may be
    /// repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Begin a new conversation instead of resuming the last one; the session
    /// is told where the work stood
    #[arg(long)]
    fresh: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let start = request::Start { env: launch::variables(&args.env)?, fresh: args.fresh };
    let client = several::patient(context);
    let order = |name: &str| client.post(&client::path(&["agents", name, "restart"], &[]), &start);
    let clock = LocalTime::system;
    several::ask(&args.targets, context, "restart", order, |agent| outcome(agent, &clock()))
}
