//! `briefing`: what the next session of an agent would be told of the work.

use perennial_api::answer::Briefing;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::own_session;
use crate::cli::render::text::several_lines;

/// Print what an agent's next session will be told about its work
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial briefing bob                 if its session ended now
          perennial briefing bob --as fresh      as after `wake --fresh`
          perennial briefing bob --as compaction
          perennial briefing bob --json          with its form and size

An agent CLI that resumes its conversation gets a note; one that begins a new conversation gets all that \
is known: its task and open step, its instructions, phase, files, tests, decisions, open questions and the \
end of the last conversation. If nothing was left to do, no prompt is given: the note is added to what \
`perennial prime` prints, and costs no model call.")]
pub struct Args {
    /// The agent's name or id; within an agent's session, that agent
    #[arg(value_name = "AGENT")]
    target: Option<String>,
    /// What the session is to begin after; default: what would begin it now
    #[arg(long = "as", value_name = "KIND", value_parser = KINDS)]
    after: Option<String>,
}

/// What the daemon knows, the first session aside.
const KINDS: [&str; 9] =
    ["crash", "again", "wake", "stop", "restart", "reboot", "handoff", "compaction", "fresh"];

pub fn run(args: Args, context: &Context) -> VerbResult {
    let target = match args.target {
        Some(target) => target,
        None => own_session::agent()?,
    };
    let query = [("after", args.after.as_deref())];
    let answer = context.client.get(&client::path(&["agents", &target, "briefing"], &query))?;
    context.show(&answer, words)?;
    Ok(ExitCode::Done)
}

fn words(briefing: &Briefing) -> String {
    match briefing.text.is_empty() {
        true if briefing.by == "bare-command" => {
            "nothing: a bare command is told nothing\n".to_owned()
        }
        true => "nothing: it waits for input\n".to_owned(),
        false => several_lines(&format!("{}\n", briefing.text)),
    }
}
