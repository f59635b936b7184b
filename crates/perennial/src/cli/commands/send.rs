//! `send`: records a text for an agent, to be typed when its input line is free.

use std::io::Read;
use std::time::Duration;

use perennial_api::answer::Message;
use perennial_api::request::Send;
use perennial_api::{ExitCode, Response, client};
use perennial_engine::host::monotonic;

use crate::cli::context::Context;
use crate::cli::failure::{Ending, Failure};
use crate::cli::problems;
use crate::cli::progress;
use crate::cli::render::text::plain;

/// The daemon answers sooner than that, finished or not.
const PATIENCE: Duration = Duration::from_secs(60);

/// Type a text into an agent's terminal and press Enter
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial send bob 'run the tests again'
          perennial send bob --wait --timeout 60 'and commit'
          perennial send bob --after-turn 'now rest'
          perennial send bob -- '-x is an option'
          perennial send bob - < notes.txt

Write a text that begins with - after --.

The text is recorded first and typed as soon as the input line is free, so it never mixes with a \
person's half-typed line, a dialog or a menu. Once recorded, it survives crashes of the agent, the \
daemon and the machine. `perennial sent` shows the progress of each text; `perennial unsend` \
withdraws one that is still waiting.

Refused are empty texts, texts of 60 KiB or more and, for an agent CLI, texts that it would not take \
as a prompt: its own commands (/clear), shell lines (!ls) and words that end it (exit). Type those in \
`perennial attach`. The terminal of a bare command may accept lines of up to 4,095 bytes only; a text \
with a longer line keeps waiting and says so.

Exit codes: 0 recorded; with --wait, seen (bare command: typed)
            1 withdrawn or returned; with --wait, also if the daemon stopped
              (the text stays recorded)
            2 the text can't be sent    3 refused
            4 no such agent             5 no daemon
            7 --timeout passed and the text is still waiting")]
pub struct Args {
    /// Its name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// The text, or - to read it from standard input
    text: String,
    /// Return once the agent has seen it, or certainly will not
    #[arg(long)]
    wait: bool,
    /// With --wait: give up waiting after this long (exit code 7); the text keeps waiting
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
    /// Type it after the agent's current turn, not during it
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
            eprintln!(
                "recorded: {}{why}; if you interrupt this command, the text keeps waiting",
                sent.id
            );
        }
        answer = wait(&sent.id, args.timeout.map(Duration::from_secs), context)?;
    }
    let Message { state, is_final, .. } = answer.read()?;
    if args.wait && !is_final && !context.json {
        let seconds = args.timeout.unwrap_or_default();
        eprintln!("note: not seen within {seconds} s; the text is still waiting");
    }
    context.show(&answer, |sent: &Message| told(&args.target, sent))?;
    Ok(match state.as_str() {
        "withdrawn" | "returned" => ExitCode::Failed,
        // One of its records is damaged: it will not be delivered.
        "waiting" if is_final => ExitCode::Failed,
        _ if args.wait && !is_final => ExitCode::NotYet,
        _ => ExitCode::Done,
    })
}

/// The message once nothing more will happen to it, or once the time is up.
fn wait(id: &str, timeout: Option<Duration>, context: &Context) -> Result<Response, Failure> {
    let until = timeout.map(|timeout| monotonic::now() + timeout);
    let http = context.client.clone().patience(PATIENCE);
    progress::told("waiting until the agent has seen it", move || {
        loop {
            let left = until.map(|until| until.saturating_sub(monotonic::now()));
            // Whole seconds: the last one is asked for whole.
            let seconds = left.map(|left| left.as_secs_f64().ceil().to_string());
            let query = [("wait", Some("true")), ("seconds", seconds.as_deref())];
            let answer = http.get(&client::path(&["messages", id], &query))?;
            let message: Message = answer.read()?;
            if message.is_final || left.is_some_and(|left| left.is_zero()) {
                return Ok::<_, Failure>(answer);
            }
        }
    })
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
    std::io::stdin()
        .take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| problems::stdin_not_text(&error))?;
    Ok(text)
}
