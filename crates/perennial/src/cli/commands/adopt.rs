//! `adopt`: turns a conversation that the user already has into an agent.

use perennial_api::ExitCode;
use perennial_engine::harness::preset;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::launch::{self, Options};
use crate::cli::problems;
use crate::cli::render::roster::outcome;
use crate::cli::render::time::LocalTime;

/// Turn an existing conversation into an agent
#[derive(Debug, clap::Args)]
#[command(mut_arg("prompt", |arg| arg.hide(true)))]
#[command(mut_arg("harness", |arg| {
    let usual = preset::usual();
    arg.help(format!("The agent CLI that the conversation belongs to, by preset name [default: {usual}]"))
}))]
#[command(after_help = "\
Examples: perennial adopt bob --conversation 0f3c2a1e-…
          perennial adopt bob --conversation 0f3c2a1e-… --dir ~/src
          perennial adopt bob --conversation 0f3c2a1e-… --fork

The agent resumes the conversation where it was left and waits for your first text (perennial send). \
A conversation has one writer: close it elsewhere first, or take a copy of it with --fork.")]
pub struct Args {
    /// The agent's name: up to 64 letters, digits, - and _
    name: String,
    /// The vendor's id of the conversation (the name of its transcript file)
    #[arg(long, value_name = "ID")]
    conversation: String,
    /// Continue in a copy: the conversation itself stays as it is, and may
    /// be open elsewhere
    #[arg(long)]
    fork: bool,
    #[command(flatten)]
    options: Options,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let mut request = launch::request(Some(args.name.clone()), args.options, Vec::new())?;
    if request.prompt.is_some() {
        return Err(problems::prompt_for_adopted(&args.name).into());
    }
    request.harness.get_or_insert_with(|| preset::usual().to_owned());
    request.conversation = Some(args.conversation);
    request.fork = args.fork;
    let (_, answer) = launch::born(launch::with_usual_host(request, context), context)?;
    context.show(&answer, |agent| outcome(agent, &LocalTime::system()))?;
    Ok(ExitCode::Done)
}
