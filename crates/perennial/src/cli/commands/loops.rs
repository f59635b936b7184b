//! `loops`: the unfinished tasks of agents that were buried.

use perennial_api::task::TaskList;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::within;
use crate::cli::render::document::{TaskDocuments, documents, of_tasks};
use crate::cli::render::task;
use crate::cli::vocabulary::Words;

/// List open loops: tasks that buried agents left unfinished
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial loops
          perennial loops --json
          perennial loops --vocabulary gastown

The parent of the buried agent, or else the operator, is told by mail of each, and told again until it is taken, \
assigned, verified or dropped: after an hour, then after twice as long, at least once a day.")]
pub struct Args {
    /// Show at most this many
    #[arg(short = 'n', long = "limit", value_name = "COUNT", default_value_t = 100)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 1_000>)]
    count: u64,
    #[command(flatten)]
    words: Words,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let count = args.count.to_string();
    let query = [
        ("loops", Some("true")),
        ("limit", Some(count.as_str())),
        ("vocabulary", args.words.word()),
    ];
    let answer = context.client.get(&client::path(&["tasks"], &query))?;
    if let Some(vocabulary) = args.words.vocabulary().filter(|_| !context.json) {
        let list: TaskDocuments = answer.read()?;
        let drawn = match list.tasks.is_empty() {
            true => "no open loops\n".to_owned(),
            false => context.draw(|canvas| documents(&list.tasks, &of_tasks(vocabulary), canvas)),
        };
        context.print_long(&drawn)?;
        return Ok(ExitCode::Done);
    }
    context.show(&answer, |list: &TaskList| context.draw(|canvas| task::loops(list, canvas)))?;
    Ok(ExitCode::Done)
}
