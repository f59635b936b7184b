//! `set`: changes an agent's settings.

use std::path::PathBuf;

use perennial_api::{Agent, client, request};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::launch;
use crate::cli::render::roster::name;
use crate::cli::several::{self, Targets};

/// Change an agent's restart policy, variables, directory, parent or situations
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial set bob --restart always
          perennial set bob --env CI=1 --unset-env DEBUG
          perennial set 'web-*' --dir ~/work/site
          perennial set bob --parent ada
          perennial set bob --situation PRD-AUTH-001 --situation site

The restart policy, the parent and the situations change at once; variables and the directory, with the next session: \
`perennial restart` starts one. `perennial show` lists what the running session does not have yet. \
Values of variables are kept in a file that only you can read, and are never recorded.")]
#[command(override_usage = "perennial set [OPTIONS] <AGENT>...")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct Args {
    #[command(flatten)]
    targets: Targets,
    /// When to restart the program
    #[arg(long, value_name = "WHEN", group = "what")]
    #[arg(value_parser = ["never", "on-crash", "always"])]
    restart: Option<String>,
    /// Set an environment variable; without a value, take yours; may be
    /// repeated
    #[arg(long, value_name = "NAME[=VALUE]", group = "what")]
    env: Vec<String>,
    /// Remove an environment variable; may be repeated
    #[arg(long, value_name = "NAME", group = "what")]
    unset_env: Vec<String>,
    /// The agent's working directory
    #[arg(long, group = "what")]
    dir: Option<PathBuf>,
    /// The parent agent, to which the agent reports
    #[arg(long, value_name = "AGENT", group = "what")]
    parent: Option<String>,
    /// Have the agent report to you
    #[arg(long, group = "what", conflicts_with = "parent")]
    no_parent: bool,
    /// What the agent works on; may be repeated, the first is primary
    #[arg(long, value_name = "SITUATION", group = "what")]
    situation: Vec<String>,
    /// Have the agent work on no situation
    #[arg(long, group = "what", conflicts_with = "situation")]
    no_situation: bool,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let set = request::Set {
        restart: args.restart,
        env: launch::variables(&args.env)?,
        unset_env: args.unset_env,
        dir: args.dir.as_deref().map(|dir| launch::directory(Some(dir))).transpose()?,
        parent: args.parent,
        no_parent: args.no_parent,
        situations: (args.no_situation || !args.situation.is_empty()).then_some(args.situation),
    };
    let order =
        |agent: &str| context.client.post(&client::path(&["agents", agent, "set"], &[]), &set);
    several::ask(&args.targets, context, "change", order, told)
}

fn told(agent: &Agent) -> String {
    let name = name(agent);
    match agent.pending.is_empty() {
        true => format!("{name} is changed\n"),
        false => format!("{name} is changed from its next session on: perennial restart {name}\n"),
    }
}
