//! `unsend`: withdraws a text that is waiting. Whether it still may be is the daemon's to say.

use perennial_api::answer::Message;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::text::plain;

/// Withdraw a text that is still waiting
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial unsend msg_01k9zq5v2r7m3x8c4t6b0d1f2g

A text that is being typed can't be withdrawn: the agent may already have it.")]
pub struct Args {
    /// The text's id, as printed by `send` and `sent`
    #[arg(value_name = "ID")]
    id: String,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let path = client::path(&["messages", &args.id, "withdraw"], &[]);
    let answer = context.client.post(&path, &serde_json::json!({}))?;
    context.show(&answer, |message: &Message| format!("withdrawn: {}\n", plain(&message.id)))?;
    Ok(ExitCode::Done)
}
