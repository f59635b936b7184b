//! `adopt`: an agent made of a conversation that the user already has.

use perennial_api::{ExitCode, client};
use perennial_engine::harness::preset;

use crate::cli::context::Context;
use crate::cli::failure::{Ending, usage};
use crate::cli::launch::{self, Options};
use crate::cli::render::roster::brief;

/// Make an agent of a conversation that you already have
#[derive(Debug, clap::Args)]
#[command(mut_arg("prompt", |arg| arg.hide(true)))]
#[command(mut_arg("harness", |arg| {
    let usual = preset::usual();
    arg.help(format!("The agent CLI whose conversation it is, by its preset's name [default: {usual}]"))
}))]
#[command(after_help = "\
Examples: perennial adopt bob --conversation 0f3c2a1e-…
          perennial adopt bob --conversation 0f3c2a1e-… --dir ~/src

The agent takes the conversation up where it was left, and nothing is said to it: perennial send does \
that. A conversation has one writer: close it elsewhere first.")]
pub struct Args {
    /// ASCII letters, digits, - and _, up to 64
    name: String,
    /// The vendor's id of the conversation: the name of its transcript file
    #[arg(long, value_name = "ID")]
    conversation: String,
    #[command(flatten)]
    options: Options,
}

pub fn run(args: Args, context: &Context) -> Ending {
    let mut request = launch::request(args.name, args.options, Vec::new())?;
    if request.prompt.is_some() {
        return Err(usage("bad-prompt", "adopt takes no --prompt")
            .because("an adopted conversation is taken up as it was left")
            .next("adopt it without one, then: perennial send NAME TEXT")
            .into());
    }
    request.harness.get_or_insert_with(|| preset::usual().to_owned());
    request.conversation = Some(args.conversation);
    let answer = context.client.post(&client::path(&["agents"], &[]), &request)?;
    context.show(&answer, brief)?;
    Ok(ExitCode::Done)
}
