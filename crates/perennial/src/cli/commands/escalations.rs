//! `escalations`: lists matters that somebody has to look at.

use perennial_api::escalation::Escalation;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::within;
use crate::cli::render::document::{Document, documents, of_escalations};
use crate::cli::render::escalation;
use crate::cli::vocabulary::Words;

/// So many are shown.
const COUNT: u64 = 20;
const MOST: u64 = 500;

/// List escalations, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial escalations
          perennial escalations --open
          perennial escalations --json
          perennial escalations --vocabulary gastown

TOLD lists who was told, one step above the other; the text is in the mail.")]
pub struct Args {
    /// List only those that nobody has seen
    #[arg(long)]
    open: bool,
    /// Show only escalations older than this one
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Show at most this many
    #[arg(short = 'n', long = "limit", value_name = "COUNT", default_value_t = COUNT)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, MOST>)]
    count: u64,
    #[command(flatten)]
    words: Words,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    // One more tells whether there are more.
    let count = (args.count + u64::from(!context.json)).min(MOST).to_string();
    let query = [
        ("open", args.open.then_some("true")),
        ("before", args.before.as_deref()),
        ("limit", Some(count.as_str())),
        ("vocabulary", args.words.word()),
    ];
    let answer = context.client.get(&client::path(&["escalations"], &query))?;
    let shown = usize::try_from(args.count).unwrap_or(usize::MAX);
    if let Some(vocabulary) = args.words.vocabulary() {
        context.show(&answer, |all: &Vec<Document>| {
            let listed = &all[..all.len().min(shown)];
            match listed.is_empty() {
                true => escalation::NONE.to_owned(),
                false => {
                    context.draw(|canvas| documents(listed, &of_escalations(vocabulary), canvas))
                }
            }
        })?;
        return Ok(ExitCode::Done);
    }
    context.show(&answer, |all: &Vec<Escalation>| {
        context.draw(|canvas| escalation::list(all, shown, &options(args), canvas))
    })?;
    Ok(ExitCode::Done)
}

/// What the next page is asked for with, a blank behind each word.
fn options(args: &Args) -> String {
    let open = if args.open { "--open " } else { "" };
    let count = if args.count == COUNT { String::new() } else { format!("-n {} ", args.count) };
    format!("{open}{count}")
}
