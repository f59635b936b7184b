//! `send`: a text for an agent, typed into its terminal when its input line is free.

use std::io::Read;
use std::time::Duration;

use perennial_api::answer::Message;
use perennial_api::request::Send;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::{Ending, Failure, failed};
use crate::cli::progress;
use crate::cli::render::text::plain;

/// The daemon answers sooner than that, finished or not.
const PATIENCE: Duration = Duration::from_secs(60);

/// Send a text to an agent: it is typed into its terminal, followed by Enter
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial send bob 'run the tests again'
          perennial send bob --wait 'and commit'     returns when the agent has seen it
          perennial send bob --after-turn 'now rest' not before its turn ends
          perennial send bob - < notes.txt

The text is recorded first, and typed when the input line is free: not into a person's half-typed line,
a dialog or a menu. It survives crashes of the agent, the daemon and the machine. perennial sent bob
shows how far each text has come; perennial unsend takes one back that still waits.")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// The text; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Return when the agent has seen it, or when it is certain that it won't
    #[arg(long)]
    wait: bool,
    /// Type it when the agent's turn has ended, not in the middle of it
    #[arg(long)]
    after_turn: bool,
}

pub fn run(args: Args, context: &Context) -> Ending {
    let text = if args.text == "-" { from_stdin()? } else { args.text };
    let path = client::path(&["agents", &args.target, "send"], &[]);
    let body = Send { text, after_turn: args.after_turn };
    let mut answer = context.client.post(&path, &body)?;
    let sent: Message = answer.read()?;
    if args.wait {
        if !context.json {
            let why = sent.why.as_ref().map(|why| format!(" ({})", plain(why))).unwrap_or_default();
            eprintln!("recorded: {}{why}; interrupting this leaves it waiting", sent.id);
        }
        let path = client::path(&["messages", &sent.id], &[("wait", Some("true"))]);
        let client = context.client.clone().patience(PATIENCE);
        answer = progress::told("waiting until it is seen", move || {
            loop {
                let answer = client.get(&path)?;
                let message: Message = answer.read()?;
                if message.is_final {
                    return Ok::<_, Failure>(answer);
                }
            }
        })?;
    }
    let state = answer.read::<Message>()?.state;
    context.show(&answer, |sent: &Message| told(&args.target, sent))?;
    let is_lost = matches!(state.as_str(), "withdrawn" | "returned");
    Ok(if is_lost { ExitCode::Failed } else { ExitCode::Done })
}

fn told(target: &str, sent: &Message) -> String {
    let (target, id) = (plain(target), &sent.id);
    let why = sent.why.as_ref().map(|why| format!(" ({})", plain(why))).unwrap_or_default();
    match sent.state.as_str() {
        "seen" => format!("seen by {target}: {id}\n"),
        "waiting" | "offered" if !sent.is_final => format!("recorded for {target}: {id}{why}\n"),
        state => format!("{}: {id}{why}\n", plain(state)),
    }
}

fn from_stdin() -> Result<String, Failure> {
    /// More than any text may have.
    const BYTES_MAX: u64 = 1 << 20;
    let mut text = String::new();
    std::io::stdin().take(BYTES_MAX).read_to_string(&mut text).map_err(|error| {
        failed("no-text", "the text can't be read from standard input").because(error.to_string())
    })?;
    Ok(text)
}
