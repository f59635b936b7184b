//! `logs`: the steps of an agent CLI's conversations, or what a session printed.

mod steps;
mod terminal;

use perennial_api::{Agent, client};

use crate::cli::context::Context;
use crate::cli::failure::{Ending, Failure, usage};
use crate::cli::render::roster::name;

/// Print what an agent did: the steps of an agent CLI's conversations, else what its terminal showed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial logs bob
          perennial logs bob --session 1
          perennial logs bob --follow
          perennial logs bob --tail 20
          perennial logs bob --json
          perennial logs bob --terminal > recording

An agent CLI's conversations are the agent's, not a session's: without --session all of them are \
told, in the order of time. With it, what was written from that session's start to its end. \
--json prints a step a line.

Steps: prompt, text, tool-call, tool-result, error, rate-limit, compaction, interrupted.")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// Which session [default: all steps; of a terminal the newest]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    session: Option<u64>,
    /// Print more as it comes
    #[arg(long, short, conflicts_with = "session")]
    follow: bool,
    /// The terminal's bytes instead of steps
    #[arg(long)]
    terminal: bool,
    /// Only the last steps
    #[arg(long, value_name = "N", conflicts_with = "terminal")]
    tail: Option<usize>,
    /// Long results and arguments whole
    #[arg(long, conflicts_with = "terminal")]
    full: bool,
}

/// The harness of a bare command, which has a terminal only.
const BARE: &str = "command";

pub fn run(args: &Args, context: &Context) -> Ending {
    if args.terminal && context.json {
        return Err(usage("no-steps", "--terminal can't be printed as JSON")
            .because("a terminal's logs are bytes, not steps")
            .next("leave --json out")
            .into());
    }
    if args.terminal {
        return terminal::run(args, context);
    }
    let agent: Agent = context.client.get(&client::path(&["agents", &args.target], &[]))?.read()?;
    if agent.harness == BARE {
        refuse_steps_options(args, &agent, context.json)?;
        return terminal::run(args, context);
    }
    steps::run(args, &agent, context)
}

/// A bare command's terminal is printed as it is: what is about steps would be ignored.
fn refuse_steps_options(args: &Args, agent: &Agent, is_json: bool) -> Result<(), Failure> {
    let given = [("--json", is_json), ("--tail", args.tail.is_some()), ("--full", args.full)];
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let name = name(agent);
    Err(usage("no-steps", format!("{option} does not apply to {name}"))
        .because("it is a bare command: its logs are the bytes of its terminal, not steps")
        .next(format!("perennial logs {name} | tail"))
        .into())
}
