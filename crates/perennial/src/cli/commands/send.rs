//! `send`: records a text for an agent, to be typed when its input line is free; or presses keys in its
//! terminal, as a person who is attached does.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_api::answer::Message;
use perennial_api::request::{Mode, Send};
use perennial_api::{Agent, ClientError, ExitCode, Response, client, state};
use perennial_engine::host::attach::Attachment;
use perennial_engine::host::monotonic;

use super::attach;
use crate::cli::context::Context;
use crate::cli::failure::{self, Failure, VerbResult};
use crate::cli::number::within;
use crate::cli::problems;
use crate::cli::progress;
use crate::cli::render::text::{plain, wrapped};
use crate::cli::terminal::{self, key_names};

/// The daemon answers sooner than that, finished or not.
const PATIENCE: Duration = Duration::from_secs(60);
/// More than any text may have.
const TEXT_BYTES_MAX: u64 = 64 << 10;
/// A person presses fewer keys than that at once, and a terminal takes them all.
const KEYS_BYTES_MAX: usize = 4000;

/// Send a text to an agent; it is typed when the input line is free
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial send bob 'run the tests again'
          perennial send bob --wait --timeout 60 'and commit'
          perennial send bob --after-turn 'now rest'
          perennial send bob -- '-x is an option'
          perennial send bob - < notes.txt
          perennial send bob --file notes.txt
          perennial send bob --no-enter 'rm -r build'
          perennial send bob --key C-c --key Up --key Enter

Put -- before a text that begins with -.

The text is recorded first; it is typed and Enter is pressed as soon as the input line is free. With a preset, \
Perennial knows the input line of an agent CLI: a text never mixes with a person's half-typed line, \
a dialog or a menu. With a bare command, a text waits for a half-typed line only: in a full-screen program such as vi, it is \
typed into that program. Once recorded, it survives crashes of the agent, the \
daemon and the machine. `perennial sent` shows the progress of each text; `perennial unsend` \
withdraws one that is still waiting.

Control characters are removed from the text, as are blanks and empty lines at its end. For an agent \
CLI, a text is changed in these ways, too, so that it can be recognised in the input line: each tab \
becomes a few blanks, blanks at the end of a line and before the text are removed, as are zero-width \
and bidirectional control characters, and letters with marks are composed (NFC). To hand over a text \
byte for byte, put it into a file and send the file's name.

Empty texts and texts of 60 KiB or more are refused; \
so are, for an agent CLI, texts that it would not take as a prompt: its own commands (/clear), shell lines (!ls) and words that end it (exit). Type those in \
`perennial attach`. The terminal of a bare command may accept lines of up to 4,095 bytes only; a text \
with a longer line keeps waiting and says so.

With --no-enter or --key, you press keys: they go to the terminal at once, whatever it shows, and \
are not recorded. Keys have the names that tmux gives them: C-c, M-x, Enter, Escape, Tab, BSpace, \
Up, F1 and so on. What they leave in the input line is your draft, and later texts wait for it.

Exit codes: 0 recorded; with --wait, seen (bare command: typed)
            1 withdrawn or returned, or its file can't be read; with --wait, also if the daemon stopped
              (the text stays recorded)
            2 wrong usage, or the text is empty or too long
            3 refused, for example a command of the agent CLI
            4 no such agent
            5 no daemon
            7 --timeout passed and the text is still waiting")]
pub struct Args {
    /// The agent's name or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// The text, or - to read it from standard input
    #[arg(required_unless_present_any = ["file", "key"], conflicts_with = "file")]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Type the text as keys, now, and do not press Enter
    #[arg(long, conflicts_with_all = ["wait", "after_turn"])]
    no_enter: bool,
    /// Press a key now, after the text of --no-enter if there is one; may be repeated
    #[arg(long, value_name = "KEY", value_parser = key_names::parse)]
    #[arg(conflicts_with_all = ["wait", "after_turn"])]
    key: Vec<Vec<u8>>,
    /// Wait until the agent has seen the text or can no longer receive it
    #[arg(long)]
    wait: bool,
    /// With --wait: return after this long (exit code 7); the text stays recorded
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 31_536_000>)]
    timeout: Option<u64>,
    /// Type the text after the agent's current turn, not during it
    #[arg(long)]
    after_turn: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let text = match (&args.text, &args.file) {
        (Some(text), _) if text == "-" => Some(read(io::stdin(), "standard input")?),
        (Some(text), _) => Some(text.clone()),
        (None, Some(path)) => {
            let name = path.display().to_string();
            let file =
                File::open(path).map_err(|error| problems::text_unreadable(&name, &error))?;
            Some(read(file, &name)?)
        }
        (None, None) => None,
    };
    if args.no_enter || !args.key.is_empty() {
        return press(args, text, context);
    }
    record(args, text.unwrap_or_default(), context)
}

/// Types keys into the terminal, as an attached person does.
fn press(args: &Args, text: Option<String>, context: &Context) -> VerbResult {
    if text.is_some() && !args.no_enter {
        return Err(problems::text_beside_keys().into());
    }
    let text = text.unwrap_or_default();
    // A file ends its last line; that is no key.
    let typed = if args.file.is_some() { text.trim_end_matches(['\r', '\n']) } else { &text };
    if typed.contains(char::is_control) {
        return Err(problems::control_in_keys().into());
    }
    let keys = [typed.as_bytes(), &args.key.concat()].concat();
    if keys.is_empty() || keys.len() > KEYS_BYTES_MAX {
        return Err(problems::bad_key_count(keys.len(), KEYS_BYTES_MAX).into());
    }
    let ticket = attach::ticket(&args.target, Mode::Attach, context)?;
    let unreachable = |error: &dyn Error| problems::holder_unreachable(&args.target, error);
    // No size of a terminal comes with them, and nothing of the recording is asked for.
    let socket = Path::new(&ticket.socket);
    let mut attachment = Attachment::attach(socket, &ticket.ticket, (0, 0), Some(u64::MAX))
        .map_err(|error| unreachable(&error))?;
    attachment.send(&keys).map_err(|error| unreachable(&error))?;
    let pressed = Pressed { session: ticket.session, bytes: keys.len() };
    if context.json {
        context.print_json(&serde_json::to_vec(&pressed).unwrap_or_default())?;
    } else {
        let (name, session) = (plain(&ticket.agent.name), pressed.session);
        context.print(&format!("typed into {name}'s terminal (session {session})\n"))?;
    }
    Ok(ExitCode::Done)
}

/// What was typed, for `--json`.
#[derive(Debug, serde::Serialize)]
struct Pressed {
    session: u64,
    bytes: usize,
}

/// Records a text, to be typed when the input line is free.
fn record(args: &Args, text: String, context: &Context) -> VerbResult {
    if text.contains(is_removed) {
        eprintln!("note: control characters are removed from the text");
    }
    let path = client::path(&["agents", &args.target, "send"], &[]);
    let body = Send { text, after_turn: args.after_turn };
    let mut answer = context.client.post(&path, &body).map_err(|error| {
        let is_unknown = matches!(error, ClientError::Broken(_) | ClientError::NoAnswer(_));
        let problem = failure::problem(&error);
        if is_unknown { problems::maybe_recorded(&args.target, problem) } else { problem }
    })?;
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
    context.show(&answer, |sent: &Message| {
        let line = match given_up_after {
            // What was recorded has been said before.
            Some(seconds) => not_seen(seconds, sent),
            None => told(&args.target, sent),
        };
        wrapped(&line, 0, 0, terminal::output_width()) + "\n"
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
    format!("not seen within {seconds} s; the text is still waiting{}", why(sent))
}

fn told(target: &str, sent: &Message) -> String {
    let (target, id) = (plain(target), &sent.id);
    let why = why(sent);
    match sent.state.as_str() {
        "seen" => format!("seen by {target}: {id}"),
        "waiting" | "offered" if !sent.is_final => format!("recorded for {target}: {id}{why}"),
        state => format!("{}: {id}{why}", plain(state)),
    }
}

/// A text, of which little more is read than may be sent.
fn read(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(TEXT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| problems::text_unreadable(name, &error))?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(problems::not_text(name).into()),
    }
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
