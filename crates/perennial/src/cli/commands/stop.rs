//! `stop`: ends sessions; their agents sleep.

use perennial_api::request::Stop;
use perennial_api::{Agent, ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::progress;
use crate::cli::render::roster::brief;

/// End an agent's session; the agent sleeps until it is woken
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial stop bob
          perennial stop --all

By default, the session is sent SIGINT; if that does not end it, SIGTERM, then SIGKILL. The command \
returns when every process that the session started is gone; a shell that ignores the first two \
takes up to 7 s. Only `perennial wake` starts the agent again.")]
#[command(group = clap::ArgGroup::new("whom").required(true))]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT", group = "whom")]
    target: Option<String>,
    /// Stop all agents
    #[arg(long, group = "whom")]
    all: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let client = context.client.clone().patience(progress::ENDING_PATIENCE);
    match &args.target {
        Some(target) => {
            let path = client::path(&["agents", target, "stop"], &[]);
            let answer = progress::told(&format!("waiting for {target} to end"), move || {
                client.post(&path, &Stop { wait: true })
            })?;
            context.show(&answer, brief)?;
        }
        None => {
            let answer = progress::told("waiting for all sessions to end", move || {
                client.post(&client::path(&["stop-all"], &[]), &serde_json::json!({}))
            })?;
            context.show(&answer, |agents: &Vec<Agent>| stopped(agents))?;
        }
    }
    Ok(ExitCode::Done)
}

fn stopped(agents: &[Agent]) -> String {
    if agents.is_empty() {
        return "no running agents\n".to_owned();
    }
    agents.iter().map(brief).collect()
}
