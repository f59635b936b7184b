//! `wake`: starts sessions for agents.

use perennial_api::{client, request};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::launch;
use crate::cli::render::roster::outcome;
use crate::cli::render::time::LocalTime;
use crate::cli::several::{self, Targets};

/// Start a session for a sleeping or crashed agent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial wake bob
          perennial wake ada bob 'web-*'
          perennial wake bob --env CI=1
          perennial wake bob --fresh     with a new conversation

--env is permanent, as with `perennial set`. `perennial briefing bob` prints what the session will be \
told.")]
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
    let order =
        |name: &str| context.client.post(&client::path(&["agents", name, "wake"], &[]), &start);
    let clock = LocalTime::system;
    several::ask(&args.targets, context, "start", order, |agent| outcome(agent, &clock()))
}
