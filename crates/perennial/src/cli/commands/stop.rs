//! `stop`: ends sessions; the agents sleep.

use perennial_api::request::Stop;
use perennial_api::{Agent, ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::progress;
use crate::cli::render::roster::brief;

/// End an agent's session and let it sleep until it is woken
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial stop bob
          perennial stop --all

The session is interrupted, asked to terminate after 2 s and killed 5 s later, with everything it \
started. The command returns when all of it is gone; nothing but `perennial wake` starts it again.")]
#[command(group = clap::ArgGroup::new("whom").required(true))]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT", group = "whom")]
    target: Option<String>,
    /// Everybody
    #[arg(long, group = "whom")]
    all: bool,
}

pub fn run(args: &Args, context: &Context) -> Ending {
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
        return "nobody was running\n".to_owned();
    }
    agents.iter().map(brief).collect()
}
