//! `screen`: what is on an agent's terminal.

use perennial_api::answer::Screen;
use perennial_api::{ExitCode, client};

use super::logs::session_number;
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::recording::{coloured, text_of};
use crate::cli::render::text::plain;

/// Show what is on an agent's terminal now
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial screen bob
          perennial screen bob --ansi
          perennial screen bob --session 1
          perennial screen bob --json

The screen is rebuilt from the terminal's recording; the program notices nothing. If the session has \
ended, this shows the screen as it was at the end. Only a person may look.")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// Print colours, as escape sequences
    #[arg(long)]
    ansi: bool,
    /// Show the end of this session [default: the newest]
    #[arg(long, value_name = "N", value_parser = session_number)]
    session: Option<u64>,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let session = args.session.map(|number| number.to_string());
    let query = [("session", session.as_deref()), ("ansi", args.ansi.then_some("true"))];
    let path = client::path(&["agents", &args.target, "screen"], &query);
    let answer = context.client.get(&path)?;
    context.show(&answer, |screen: &Screen| {
        for note in notes(screen) {
            eprintln!("note: {note}");
        }
        drawn(screen, args.ansi)
    })?;
    Ok(ExitCode::Done)
}

/// Up to the last row that shows anything.
fn drawn(screen: &Screen, with_colours: bool) -> String {
    let used = screen.lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let shown = if with_colours { coloured } else { text_of };
    screen.lines[..used].iter().map(|line| shown(line) + "\n").collect()
}

fn notes(screen: &Screen) -> Vec<String> {
    let mut notes = Vec::new();
    let (agent, session) = (plain(&screen.agent), screen.session);
    if screen.is_over {
        notes
            .push(format!("session {session} of {agent} has ended; this is how its screen looked"));
    }
    if screen.may_be_incomplete {
        let why = "the beginning of its recording is gone";
        notes.push(format!("parts of the screen may be missing: {why}"));
    }
    if screen.lines.iter().all(String::is_empty) {
        notes.push(format!("the screen of {agent} is empty"));
    }
    notes
}
