//! `send`: types a line into an agent's terminal.

use perennial_api::answer::Sent;
use perennial_api::request::Send;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::render::text::plain;

/// Type a text and Enter into an agent's terminal
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial send bob 'run the tests again'

Refused while a person at the terminal has typed something that is not sent yet, and while the agent
has a dialog open: Enter would answer that. perennial attach shows both.")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
    #[arg(allow_hyphen_values = true)]
    text: String,
}

pub fn run(args: Args, context: &Context) -> Ending {
    let path = client::path(&["agents", &args.target, "send"], &[]);
    let answer = context.client.post(&path, &Send { text: args.text })?;
    context.show(&answer, |sent: &Sent| {
        format!("sent to {}, session {}\n", plain(&args.target), sent.session)
    })?;
    Ok(ExitCode::Done)
}
