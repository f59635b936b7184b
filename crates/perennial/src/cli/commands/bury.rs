//! `bury`: the end of an agent; its record stays.

use perennial_api::answer::Buried;
use perennial_api::request::Bury;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::progress;
use crate::cli::render::roster::brief;
use crate::cli::render::text::plain;

/// Retire an agent for good: its session ends, its record stays in the cemetery
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial bury bob --summary 'the parser is done, see branch parser'

Texts that still wait for it are returned, and listed.")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// What it leaves behind, for whoever comes later
    #[arg(long, value_name = "TEXT")]
    summary: String,
}

pub fn run(args: Args, context: &Context) -> Ending {
    let path = client::path(&["agents", &args.target, "bury"], &[]);
    let client = context.client.clone().patience(progress::ENDING_PATIENCE);
    let answer = progress::told(&format!("waiting for {} to end", args.target), move || {
        client.post(&path, &Bury { summary: args.summary })
    })?;
    context.show(&answer, told)?;
    Ok(ExitCode::Done)
}

fn told(buried: &Buried) -> String {
    let mut text = brief(&buried.agent);
    if !buried.returned.is_empty() {
        text.push_str("these texts never reached it:\n");
    }
    for message in &buried.returned {
        text.push_str(&format!("  {}  {}\n", plain(&message.id), plain(&message.head)));
    }
    text
}
