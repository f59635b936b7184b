//! `logs`: the steps of an agent CLI's conversations, or what a session printed.

mod steps;
mod terminal;

use perennial_api::{Agent, client};

use crate::cli::context::Context;
use crate::cli::failure::{Ending, Failure, usage};
use crate::cli::render::text::plain;

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
    if args.terminal {
        refuse_options_of_steps(args, context, "the logs of a terminal are bytes, not steps")?;
        return terminal::run(args, context);
    }
    let agent: Agent = context.client.get(&client::path(&["agents", &args.target], &[]))?.read()?;
    if agent.harness == BARE {
        refuse_options_of_steps(args, context, "a bare command's logs are bytes, not steps")?;
        return terminal::run(args, context);
    }
    steps::run(args, &agent, context)
}

/// What is about steps would be ignored where bytes are printed.
fn refuse_options_of_steps(args: &Args, context: &Context, why: &str) -> Result<(), Failure> {
    let given = [("--json", context.json), ("--tail", args.tail.is_some()), ("--full", args.full)];
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    // Whoever may not read it, or asks for what is not there, is told that.
    let session = args.session.map(|number| number.to_string());
    let query = [("session", session.as_deref()), ("max", Some("0"))];
    context.client.get(&client::path(&["agents", &args.target, "logs"], &query))?;
    Err(usage("no-steps", format!("{option} does not apply here"))
        .because(why)
        .next(format!("perennial logs {} | tail", plain(&args.target)))
        .into())
}
