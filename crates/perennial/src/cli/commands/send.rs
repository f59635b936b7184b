//! `send`: a text for an agent, typed into its terminal when its input line is free.

use std::io::Read;
use std::time::Duration;

use perennial_api::answer::Message;
use perennial_api::request::Send;
use perennial_api::{ExitCode, Response, client};
use perennial_engine::host::monotonic;

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
          perennial send bob --wait --timeout 60 'and commit'
          perennial send bob --after-turn 'now rest'
          perennial send bob -- '-x is an option'
          perennial send bob - < notes.txt

A text that begins with - goes after --.

The text is recorded first, and typed when the input line is free: not into a person's half-typed line, \
a dialog or a menu. It survives crashes of the agent, the daemon and the machine. perennial sent bob \
shows how far each text has come; perennial unsend takes one back that still waits.

Refused: an empty text; 60 KiB or more; to an agent CLI also what it would not take for a prompt, such \
as a command of its own (/clear), a shell line (!ls) or a word that ends it (exit): type those in \
perennial attach. A bare command's terminal may take lines of up to 4,095 bytes only; a text with a \
longer one waits and says so.

Exit codes: 0 recorded, with --wait seen (to a bare command: written);
            1 withdrawn or returned; with --wait also: the daemon ended
              (the text stays recorded);
            2 the text can't be sent; 3 refused; 4 no such agent; 5 no daemon;
            7 with --timeout: the time was up, and the text still waits.")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// The text; `-` reads it from standard input
    text: String,
    /// Return when the agent has seen it, or when it is certain that it won't
    #[arg(long)]
    wait: bool,
    /// With --wait: return after this long at the latest, with exit code 7; the text stays
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
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
        answer = wait(&sent.id, args.timeout.map(Duration::from_secs), context)?;
    }
    let Message { state, is_final, .. } = answer.read()?;
    if args.wait && !is_final && !context.json {
        let seconds = args.timeout.unwrap_or_default();
        eprintln!("note: not seen within {seconds} s; it still waits");
    }
    context.show(&answer, |sent: &Message| told(&args.target, sent))?;
    Ok(match state.as_str() {
        "withdrawn" | "returned" => ExitCode::Failed,
        // A record of it is damaged: it goes nowhere.
        "waiting" if is_final => ExitCode::Failed,
        _ if args.wait && !is_final => ExitCode::NotYet,
        _ => ExitCode::Done,
    })
}

/// The message once nothing more will happen to it, or once the time is up.
fn wait(id: &str, timeout: Option<Duration>, context: &Context) -> Result<Response, Failure> {
    let until = timeout.map(|timeout| monotonic::now() + timeout);
    let http = context.client.clone().patience(PATIENCE);
    progress::told("waiting until it is seen", move || {
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
    std::io::stdin().take(BYTES_MAX).read_to_string(&mut text).map_err(|error| {
        failed("no-text", "the text can't be read from standard input")
            .because(error.to_string())
            .next("a text is UTF-8; of anything else send the path of its file")
    })?;
    Ok(text)
}
