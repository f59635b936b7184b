//! `logs`: the steps of an agent CLI's conversations, or what a session printed.

mod lines;
mod steps;
mod terminal;

use std::io::{self, IsTerminal};

use jiff::Timestamp;
use perennial_api::{Agent, Problem, client};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::within;
use crate::cli::problems;
use crate::cli::render::card::BARE_HARNESS;
use crate::cli::render::text::plain;
use crate::cli::several::{Outcome, Targets};
use crate::cli::since::since;

/// Print what an agent did, from its conversation or its terminal
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial logs bob
          perennial logs bob -n 20
          perennial logs bob --since 10m
          perennial logs bob --follow
          perennial logs bob --session 1 --json
          perennial logs bob --raw > recording
          perennial logs ada 'web-*' -n 5

For an agent CLI, this prints the steps of all its conversations in order of time; with --session, \
only those written during that session. For a bare command, or with --terminal, it prints the lines \
that the newest session showed in its terminal, without escape sequences; of a full-screen program, \
the screens that it left. With --json, each line of output is one step or one line. Several agents \
are printed one after another, each below its name (with --json, below a line with its name as `agent`).

Steps: prompt, prompt-blocked, text, tool-call, tool-result, error, rate-limit, compaction, \
interrupted.")]
pub struct Args {
    #[command(flatten)]
    targets: Targets,
    /// The agent that is printed now.
    #[arg(skip)]
    target: String,
    /// Print only the last N steps or lines
    #[arg(short = 'n', long = "tail", visible_alias = "lines", value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = lines)]
    tail: Option<usize>,
    /// Print only what came since then: 10m, 2h, 14:30, 2026-11-17T14:30:00Z
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Timestamp>,
    /// Keep printing new output
    #[arg(long, short, conflicts_with = "session")]
    follow: bool,
    /// Print only this session [default: all; of a terminal, the newest]
    #[arg(long, value_name = "N", value_parser = session_number)]
    session: Option<u64>,
    /// Print the lines of the terminal instead of steps
    #[arg(long)]
    terminal: bool,
    /// Print the bytes of the terminal as they were recorded
    #[arg(long, conflicts_with_all = ["tail", "since", "full"])]
    raw: bool,
    /// Do not shorten long results and arguments
    #[arg(long, conflicts_with = "terminal")]
    full: bool,
}

pub fn run(mut args: Args, context: &Context) -> VerbResult {
    if let Some(name) = args.targets.single() {
        args.target = name.to_owned();
        return print(&args, context);
    }
    for (option, is_given) in [("--follow", args.follow), ("--raw", args.raw)] {
        if is_given {
            return Err(problems::not_applicable(option, "it takes one agent at a time").into());
        }
    }
    let mut outcome = Outcome::default();
    for agent in args.targets.agents(context)? {
        match agent.and_then(|name| below_its_name(&mut args, name, context)) {
            Ok(code) => outcome.code = outcome.code.max(code),
            Err(failure) => outcome.failed(failure, context)?,
        }
    }
    Ok(outcome.code)
}

fn below_its_name(args: &mut Args, name: String, context: &Context) -> VerbResult {
    // Who is not there has no heading.
    let agent: Agent = context.client.get(&client::path(&["agents", &name], &[]))?.read()?;
    args.target = name;
    context.print(&match context.json {
        true => format!("{}\n", serde_json::json!({ "agent": agent.name })),
        false => format!("==> {} <==\n", plain(&agent.name)),
    })?;
    print(args, context)
}

/// Prints what one agent did.
fn print(args: &Args, context: &Context) -> VerbResult {
    if args.raw && context.json {
        return Err(problems::not_applicable("--json", "raw bytes are not JSON").into());
    }
    if args.raw && io::stdout().is_terminal() {
        return Err(problems::raw_to_terminal(&args.target).into());
    }
    if args.raw || args.terminal {
        return terminal::run(args, context);
    }
    let agent: Agent = context.client.get(&client::path(&["agents", &args.target], &[]))?.read()?;
    if agent.harness == BARE_HARNESS {
        if args.full {
            return Err(without_steps(args, context)?.into());
        }
        return terminal::run(args, context);
    }
    steps::run(args, &agent, context)
}

/// `--full` is about steps, and would have no effect on lines, so it is refused.
fn without_steps(args: &Args, context: &Context) -> Result<Problem, Failure> {
    // A caller who may not read it, or asks for a session that does not exist, hears that first.
    terminal::recording(&args.target, args.session, context)?;
    Ok(problems::not_applicable("--full", "a bare command has no steps, only lines"))
}

/// As clap reads it.
fn lines(text: &str) -> Result<usize, String> {
    within::<0, { u32::MAX as u64 }>(text).map(|count| count as usize)
}

/// As clap reads it.
pub fn session_number(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("sessions are numbered from 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("give a session's number, such as 2".to_owned()),
    }
}
