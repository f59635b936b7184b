//! `send`: records a text for an agent, to be typed when its input line is free.

use std::io::Read;
use std::time::Duration;

use perennial_api::answer::Message;
use perennial_api::request::Send;
use perennial_api::{Agent, ExitCode, Response, client, state};
use perennial_engine::host::monotonic;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::problems;
use crate::cli::progress;
use crate::cli::render::text::plain;

/// The daemon answers sooner than that, finished or not.
const PATIENCE: Duration = Duration::from_secs(60);

/// Send a text to an agent; it is typed when the input line is free
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial send bob 'run the tests again'
          perennial send bob --wait --timeout 60 'and commit'
          perennial send bob --after-turn 'now rest'
          perennial send bob -- '-x is an option'
          perennial send bob - < notes.txt

Put -- before a text that begins with -.

The text is recorded first; it is typed and Enter is pressed as soon as the input line is free, so it \
never mixes with a person's half-typed line, a dialog or a menu. Once recorded, it survives crashes of the agent, the \
daemon and the machine. `perennial sent` shows the progress of each text; `perennial unsend` \
withdraws one that is still waiting.

Control characters are removed from the text. Empty texts and texts of 60 KiB or more are refused; \
so are, for an agent CLI, texts that it would not take as a prompt: its own commands (/clear), shell lines (!ls) and words that end it (exit). Type those in \
`perennial attach`. The terminal of a bare command may accept lines of up to 4,095 bytes only; a text \
with a longer line keeps waiting and says so.

Exit codes: 0 recorded; with --wait, seen (bare command: typed)
            1 withdrawn or returned; with --wait, also if the daemon stopped
              (the text stays recorded)
            2 wrong usage, or the text is too long
            3 refused, for example an empty text
            4 no such agent
            5 no daemon
            7 --timeout passed and the text is still waiting")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// The text, or - to read it from standard input
    text: String,
    /// Wait until the agent has seen the text or can no longer receive it
    #[arg(long)]
    wait: bool,
    /// With --wait: return after this long (exit code 7); the text stays recorded
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
    /// Type the text after the agent's current turn, not during it
    #[arg(long)]
    after_turn: bool,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let text = if args.text == "-" { from_stdin()? } else { args.text };
    if text.contains(is_removed) {
        eprintln!("note: control characters are removed from the text");
    }
    let path = client::path(&["agents", &args.target, "send"], &[]);
    let body = Send { text, after_turn: args.after_turn };
    let mut answer = context.client.post(&path, &body)?;
    let sent: Message = answer.read()?;
    if args.wait {
        if !context.json {
            let (id, why) = (&sent.id, why(&sent));
            eprintln!(
                "recorded: {id}{why}; if you interrupt this command, the text stays recorded"
            );
        }
        answer = wait(&sent.id, args.timeout.map(Duration::from_secs), context)?;
    }
    let Message { state, is_final, .. } = answer.read()?;
    let given_up_after = args.timeout.filter(|_| args.wait && !is_final);
    context.show(&answer, |sent: &Message| match given_up_after {
        // What was recorded has been said before.
        Some(seconds) => not_seen(seconds, sent),
        None => told(&args.target, sent),
    })?;
    if !context.json && state == "waiting" && !is_final {
        context.print(&how_to_wake(&args.target, context).unwrap_or_default())?;
    }
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

/// Controls that are not typed; line ends and tabs are.
fn is_removed(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t')
}

/// How to start a session for an agent that does not get one by itself.
fn how_to_wake(target: &str, context: &Context) -> Option<String> {
    let answer = context.client.get(&client::path(&["agents", target], &[])).ok()?;
    let agent: Agent = answer.read().ok()?;
    sleeper(target, &agent)
}

fn sleeper(target: &str, agent: &Agent) -> Option<String> {
    let sleeps = matches!(agent.state.as_str(), state::SLEEPING | state::HIBERNATING);
    let (target, state) = (plain(target), plain(&agent.state));
    sleeps.then(|| format!("{target} is {state}; to start a session: perennial wake {target}\n"))
}

fn why(sent: &Message) -> String {
    sent.why.as_ref().map(|why| format!(" ({})", plain(why))).unwrap_or_default()
}

fn not_seen(seconds: u64, sent: &Message) -> String {
    format!("not seen within {seconds} s; the text is still waiting{}\n", why(sent))
}

fn told(target: &str, sent: &Message) -> String {
    let (target, id) = (plain(target), &sent.id);
    let why = why(sent);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::roster::sample;

    #[test]
    fn waking_is_suggested_for_those_who_sleep() {
        let hint = sleeper("bob~1", &sample::stopped()).expect("it sleeps");
        assert_eq!(hint, "bob~1 is sleeping; to start a session: perennial wake bob~1\n");
        assert_eq!(sleeper("bob", &sample::crashed()), None);
    }

    #[test]
    fn line_ends_and_tabs_are_typed_and_other_controls_are_not() {
        assert!(!"one\r\n\ttwo".contains(is_removed));
        assert!("\x1b[2J".contains(is_removed) && "\0".contains(is_removed));
    }
}
