//! `checkpoint`: records where an agent's work stands.

use perennial_api::agent::Agent;
use perennial_api::checkpoint::{CheckpointCard, Decision, TakeCheckpoint};
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::own_session;
use crate::cli::phase;
use crate::cli::progress;
use crate::cli::render::checkpoint;
use crate::cli::render::document::{Document, document, of_checkpoints};
use crate::cli::several;
use crate::cli::vocabulary::Words;

/// Record where an agent's work stands, with a snapshot of its files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial checkpoint bob
          perennial checkpoint bob -m 'before the upgrade'
          perennial checkpoint -m 'the parser is done' --phase testing \\
              --decision 'no cache: it was not faster' --instructions 'run the tests'

Perennial writes down what it finds: phase, files that differ from HEAD, the last test run, the open step of the task, the \
last call of a tool; and takes a snapshot of the work tree. In its own session, an agent adds what it knows; what it \
leaves out is kept from its last checkpoint. A list replaces the last one; `--questions-closed` empties that of the \
questions. Perennial takes checkpoints itself, too. `perennial checkpoints` shows them.")]
pub struct Args {
    /// The agent's name or id; within an agent's session, that agent
    #[arg(value_name = "AGENT")]
    target: Option<String>,
    /// Where the work stands; by a person, a note beside it
    #[arg(short = 'm', long, value_name = "TEXT")]
    summary: Option<String>,
    /// In an agent's session: the phase of its work
    #[arg(long, value_parser = phase::WORDS)]
    phase: Option<String>,
    /// In an agent's session: what was decided; `WHAT: WHY` with the reason. Repeatable
    #[arg(long = "decision", value_name = "TEXT")]
    decisions: Vec<String>,
    /// In an agent's session: what whoever goes on has to know. Repeatable
    #[arg(long, value_name = "TEXT")]
    knowledge: Vec<String>,
    /// In an agent's session: what is open. Repeatable
    #[arg(long = "question", value_name = "TEXT")]
    questions: Vec<String>,
    /// In an agent's session: no question is open any more
    #[arg(long, conflicts_with = "questions")]
    questions_closed: bool,
    /// In an agent's session: how to go on
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    #[command(flatten)]
    words: Words,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let is_own = args.target.is_none();
    let target = args.target.map_or_else(own_session::agent, Ok)?;
    let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
    let decisions = some(args.decisions);
    let body = TakeCheckpoint {
        phase: args.phase.as_deref().and_then(phase::of_word),
        summary: args.summary,
        decisions: decisions.map(|all| all.into_iter().map(decision).collect()),
        knowledge: some(args.knowledge),
        questions: some(args.questions).or_else(|| args.questions_closed.then(Vec::new)),
        instructions: args.instructions,
    };
    let path = client::path(&["agents", &target, "checkpoints"], &[]);
    let client = several::patient(context);
    let answer = progress::told("taking a checkpoint", || client.post(&path, &body))?;
    if let Some(vocabulary) = args.words.vocabulary() {
        // What was taken is the same in whatever words it is shown.
        let number = answer.read::<CheckpointCard>()?.checkpoint.number.to_string();
        let query = [("number", Some(number.as_str())), ("vocabulary", args.words.word())];
        let path = client::path(&["agents", &target, "checkpoint"], &query);
        context.show(&context.client.get(&path)?, |card: &Document| {
            context.draw(|canvas| document(card, &of_checkpoints(vocabulary), canvas))
        })?;
        return Ok(ExitCode::Done);
    }
    let target = if is_own && !context.json { own_name(target, context) } else { target };
    context.show(&answer, |card: &CheckpointCard| checkpoint::taken(card, &target))?;
    Ok(ExitCode::Done)
}

/// The name of the agent whose session this is, which is shorter than its id.
fn own_name(id: String, context: &Context) -> String {
    let answer = context.client.get(&client::path(&["agents", &id], &[]));
    let agent = answer.ok().and_then(|answer| answer.read::<Agent>().ok());
    agent.map_or(id, |agent| agent.name)
}

/// `WHAT: WHY`, at the first colon that is followed by a space.
fn decision(text: String) -> Decision {
    match text.split_once(": ") {
        Some((what, why)) => Decision { what: what.to_owned(), why: Some(why.to_owned()) },
        None => Decision { what: text, why: None },
    }
}
