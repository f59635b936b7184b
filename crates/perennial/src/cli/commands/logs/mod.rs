//! `logs`: the steps of an agent CLI's conversations, or what a session printed.

mod steps;
mod terminal;

use perennial_api::{Agent, client};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::problems;
use crate::cli::render::card::BARE_HARNESS;

/// Print what an agent did, from its conversation or its terminal
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial logs bob
          perennial logs bob --session 1
          perennial logs bob --follow
          perennial logs bob --tail 20
          perennial logs bob --json
          perennial logs bob --terminal > recording

For an agent CLI, this prints the steps of all its conversations in order of time; with --session, \
only those written during that session. With --json, each line is one step. For a bare command, it \
prints what the newest session showed in its terminal.

Steps: prompt, text, tool-call, tool-result, error, rate-limit, compaction, interrupted.")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// Print only this session [default: all; of a recording, the newest]
    #[arg(long, value_name = "N", value_parser = session_number)]
    session: Option<u64>,
    /// Keep printing new output
    #[arg(long, short, conflicts_with = "session")]
    follow: bool,
    /// Print the terminal's recording instead of steps
    #[arg(long)]
    terminal: bool,
    /// Print only the last N steps
    #[arg(long, value_name = "N", conflicts_with = "terminal")]
    tail: Option<usize>,
    /// Do not shorten long results and arguments
    #[arg(long, conflicts_with = "terminal")]
    full: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if args.terminal {
        refuse_options_of_steps(
            args,
            context,
            "a terminal's recording consists of bytes, not steps",
        )?;
        return terminal::run(args, context);
    }
    let agent: Agent = context.client.get(&client::path(&["agents", &args.target], &[]))?.read()?;
    if agent.harness == BARE_HARNESS {
        refuse_options_of_steps(
            args,
            context,
            "a bare command has no steps, only a terminal's recording",
        )?;
        return terminal::run(args, context);
    }
    steps::run(args, &agent, context)
}

/// Options for steps would have no effect on a recording, so they are refused.
fn refuse_options_of_steps(args: &Args, context: &Context, why: &str) -> Result<(), Failure> {
    let given = [("--json", context.json), ("--tail", args.tail.is_some()), ("--full", args.full)];
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    // A caller who may not read it, or asks for a session that does not exist, hears that first.
    let session = args.session.map(|number| number.to_string());
    let query = [("session", session.as_deref()), ("max", Some("0"))];
    context.client.get(&client::path(&["agents", &args.target, "logs"], &query))?;
    Err(problems::no_steps(option, why).into())
}

fn session_number(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("sessions are numbered from 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("not a session's number".to_owned()),
    }
}
