//! `bury`: retires an agent for good; its record stays.

use perennial_api::answer::{Buried, Message};
use perennial_api::request::Bury;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::progress;
use crate::cli::render::roster::brief;
use crate::cli::render::text::plain;

/// Retire an agent for good; its record stays in the cemetery
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial bury bob --summary 'the parser is done, see branch parser'

The agent's session is ended. Texts that it has not seen are returned to you: they are listed.")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// What the agent leaves behind, for later readers
    #[arg(long, value_name = "TEXT")]
    summary: String,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
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
    // A text that was offered to a session has a note that says so.
    let given = |message: &&Message| message.why.is_some();
    let (given, waiting): (Vec<&Message>, Vec<&Message>) = buried.returned.iter().partition(given);
    for (title, messages) in
        [("texts that never reached it:", waiting), ("texts that may have reached it:", given)]
    {
        if !messages.is_empty() {
            text.push_str(&format!("{title}\n"));
        }
        for message in messages {
            text.push_str(&format!("  {}  {}\n", plain(&message.id), plain(&message.head)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_was_given_is_told_apart_from_what_waited() {
        let message = |id: &str, why: Option<&str>| Message {
            id: id.to_owned(),
            why: why.map(str::to_owned),
            ..Message::default()
        };
        let given = message("msg_given", Some("it was given to a session"));
        let returned = vec![given, message("msg_waited", None)];
        let shown = told(&Buried { returned, ..Buried::default() });
        let lists = shown.split_once("texts that never reached it:\n  msg_waited");
        let (_, rest) = lists.expect("the one that waited");
        assert!(rest.contains("texts that may have reached it:\n  msg_given"), "{shown}");
    }
}
