//! `checkpoints`: where an agent's work stood, at one moment or at each.

use perennial_api::checkpoint::{Checkpoint, CheckpointCard};
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::{counted, within};
use crate::cli::own_session;
use crate::cli::render::checkpoint;
use crate::cli::render::document::{Document, document, documents, of_checkpoints};
use crate::cli::vocabulary::Words;

/// So many are listed.
const COUNT: u64 = 50;
const MOST: u64 = 1000;

/// List an agent's checkpoints, or show one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial checkpoints bob
          perennial checkpoints bob 3
          perennial checkpoints bob --last --json
          perennial checkpoints bob --vocabulary s3

What the agent said and what Perennial found are shown apart. The snapshot that belongs to a checkpoint: \
`perennial snapshot show bob N`.")]
pub struct Args {
    /// The agent's name or id; within an agent's session, that agent
    #[arg(value_name = "AGENT")]
    target: Option<String>,
    /// Show the checkpoint with this number
    #[arg(value_name = "N", value_parser = counted)]
    number: Option<u32>,
    /// Show the newest one
    #[arg(long, conflicts_with_all = ["number", "limit"])]
    last: bool,
    /// List at most this many, the newest [default: 50]
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "number")]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, MOST>)]
    limit: Option<u64>,
    #[command(flatten)]
    words: Words,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let target = match args.target {
        Some(target) => target,
        None => own_session::agent()?,
    };
    if args.last || args.number.is_some() {
        let number = args.number.map(|number| number.to_string());
        let query = [("number", number.as_deref()), ("vocabulary", args.words.word())];
        let answer =
            context.client.get(&client::path(&["agents", &target, "checkpoint"], &query))?;
        if let Some(vocabulary) = args.words.vocabulary() {
            context.show(&answer, |card: &Document| {
                context.draw(|canvas| document(card, &of_checkpoints(vocabulary), canvas))
            })?;
            return Ok(ExitCode::Done);
        }
        context.show(&answer, |card: &CheckpointCard| {
            context.draw(|canvas| checkpoint::card(card, canvas))
        })?;
        return Ok(ExitCode::Done);
    }
    // One more tells whether there are more.
    let most = args.limit.unwrap_or(COUNT);
    let limit = (most + u64::from(!context.json)).min(MOST).to_string();
    let query = [("limit", Some(limit.as_str())), ("vocabulary", args.words.word())];
    let answer = context.client.get(&client::path(&["agents", &target, "checkpoints"], &query))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if let Some(vocabulary) = args.words.vocabulary() {
        context.show(&answer, |all: &Vec<Document>| {
            let shown = &all[..all.len().min(most)];
            match shown.is_empty() {
                true => checkpoint::NONE.to_owned(),
                false => {
                    context.draw(|canvas| documents(shown, &of_checkpoints(vocabulary), canvas))
                }
            }
        })?;
        return Ok(ExitCode::Done);
    }
    context.show(&answer, |all: &Vec<Checkpoint>| {
        context.draw(|canvas| checkpoint::list(all, most, canvas))
    })?;
    Ok(ExitCode::Done)
}
