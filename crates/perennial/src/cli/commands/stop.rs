//! `stop`: ends sessions; their agents sleep.

use perennial_api::request::Stop;
use perennial_api::{Agent, ExitCode, client};

use crate::cli::confirm::{Confirmation, listed};
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::progress;
use crate::cli::render::roster::{brief, name};
use crate::cli::several::{self, Targets};

/// End an agent's session; the agent sleeps until it is woken
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial stop bob
          perennial stop ada bob 'web-*'
          perennial stop --all

By default, the session is sent SIGINT; SIGHUP 0.1 s later, to those of its processes that ignore SIGTERM, \
as interactive shells do; SIGTERM after 2 s and SIGKILL after another 5 s. An agent CLI ends as its preset says. \
The command returns when every process that the session started is gone. Several agents are stopped at the same time; on a terminal, --all, and a pattern that matches all, ask first. Only `perennial wake` starts the agent again.")]
#[command(group = clap::ArgGroup::new("whom").required(true))]
pub struct Args {
    /// Names, ids or quoted patterns such as 'web-*'
    #[arg(value_name = "AGENT", group = "whom")]
    names: Vec<String>,
    /// Stop all agents
    #[arg(long, group = "whom")]
    all: bool,
    #[command(flatten)]
    confirmation: Confirmation,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let client = several::patient(context);
    let targets = Targets { names: args.names };
    if args.confirmation.is_due(context) {
        let asked = if args.all { None } else { Some(&targets) };
        confirm(asked, &args.confirmation, context)?;
    }
    if args.all {
        let answer = progress::told("waiting for all sessions to end", move || {
            client.post(&client::path(&["stop-all"], &[]), &serde_json::json!({}))
        })?;
        context.show(&answer, |agents: &Vec<Agent>| stopped(agents))?;
        return Ok(ExitCode::Done);
    }
    let order = |name: &str| {
        client.post(&client::path(&["agents", name, "stop"], &[]), &Stop { wait: true })
    };
    several::ask(&targets, context, "end", order, brief)
}

/// Everybody's work is interrupted, by `--all` or by a pattern that matches all: a slip of the finger should not do
/// that.
fn confirm(
    targets: Option<&Targets>,
    confirmation: &Confirmation,
    context: &Context,
) -> Result<(), Failure> {
    if targets.is_some_and(|targets| !targets.has_pattern()) {
        return Ok(());
    }
    let agents: Vec<Agent> = context.client.get(&client::path(&["agents"], &[]))?.read()?;
    let is_running =
        |agent: &&Agent| agent.session.as_ref().is_some_and(|session| session.exit.is_none());
    let running: Vec<&Agent> = agents.iter().filter(is_running).collect();
    if let Some(targets) = targets {
        let meant: Vec<String> = targets.agents(context)?.into_iter().flatten().collect();
        if running.len() < 2 || !running.iter().all(|agent| meant.contains(&agent.name)) {
            return Ok(());
        }
    }
    let names: Vec<String> = running.into_iter().map(name).collect();
    match names.len() {
        0 => Ok(()),
        count => {
            let question = format!("stop all {count} running agents ({})?", listed(&names));
            confirmation.ask(&question, context)
        }
    }
}

fn stopped(agents: &[Agent]) -> String {
    if agents.is_empty() {
        return "no running agents\n".to_owned();
    }
    agents.iter().map(brief).collect()
}
