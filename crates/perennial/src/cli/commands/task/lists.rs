//! `task import`, `task export`: tasks from Markdown check lists, and as such.

use std::path::PathBuf;

use perennial_api::task::{NewTaskStep, Task, TaskAction, TaskList, TaskRequest, TaskStep};
use perennial_api::{ExitCode, client};

use crate::cli::checklist::{self, Item};
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::launch::directory;
use crate::cli::problems;
use crate::cli::render::task;
use crate::cli::text_source;

/// A list of more than this is no check list.
const LIST_BYTES_MAX: usize = 1 << 20;
const PAGE: &str = "1000";

/// Add the tasks of a Markdown check list
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task import TODO
          perennial task import - --to role:crew < TODO

Each top-level item is a task. Nested items are its steps; a nested item with items of its own is a task that is a part of \
it. What is checked counts as verified by you.")]
pub struct ImportArgs {
    /// The file, or - for standard input
    file: PathBuf,
    /// An agent, role:NAME or nobody
    #[arg(long, value_name = "WHO")]
    to: Option<String>,
    /// A directory of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Print the tasks of a project as a Markdown check list
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial task export --all > TODO

Dropped tasks are left out; so are texts and notes. Reading it with `task import` makes the same tasks again.")]
pub struct ExportArgs {
    /// A directory of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Verified ones, too
    #[arg(long)]
    all: bool,
}

const LIST: text_source::Kind = text_source::Kind {
    limit: LIST_BYTES_MAX,
    missing: problems::task::nothing_to_import,
    too_long: problems::task::list_too_long,
    not_text: problems::task::list_not_text,
};

pub fn import(args: &ImportArgs, context: &Context) -> VerbResult {
    let text = match args.file.to_str() {
        Some("-") => text_source::read(Some("-".to_owned()), None, &LIST)?,
        Some(_) | None => text_source::read(None, Some(args.file.clone()), &LIST)?,
    };
    let items = checklist::read(&text);
    if items.is_empty() {
        return Err(Failure::from(problems::task::nothing_to_import()));
    }
    let dir = directory(args.dir.as_deref())?;
    let mut added = Vec::new();
    for item in &items {
        add(item, None, (args.to.as_deref(), &dir), &mut added, context)?;
    }
    match context.json {
        true => context.print_json(&serde_json::to_vec(&added).unwrap_or_default())?,
        false => context.print(&added.iter().map(task::changed).collect::<String>())?,
    }
    Ok(ExitCode::Done)
}

/// Adds a task with its parts; what is checked is verified after them.
fn add(
    item: &Item,
    parent: Option<&str>,
    (to, dir): (Option<&str>, &str),
    added: &mut Vec<Task>,
    context: &Context,
) -> Result<(), Failure> {
    let step = |(text, done): &(String, bool)| NewTaskStep { text: text.clone(), done: *done };
    let request = TaskRequest {
        action: TaskAction::Add,
        title: Some(item.title.clone()),
        steps: item.steps.iter().map(step).collect(),
        to: to.filter(|_| !item.done).map(str::to_owned),
        dir: Some(dir.to_owned()),
        parent: parent.map(str::to_owned),
        ..TaskRequest::default()
    };
    let path = client::path(&["tasks"], &[]);
    let tasks: Vec<Task> = context.client.post(&path, &request)?.read()?;
    let Some(task) = tasks.into_iter().next() else { return Ok(()) };
    let (place, id) = (added.len(), task.id.clone());
    added.push(task);
    for part in &item.parts {
        add(part, Some(&id), (to, dir), added, context)?;
    }
    if item.done {
        let action = TaskAction::Verify;
        let request = TaskRequest { action, id: Some(id), ..TaskRequest::default() };
        let tasks: Vec<Task> = context.client.post(&path, &request)?.read()?;
        tasks.into_iter().take(1).for_each(|task| added[place] = task);
    }
    Ok(())
}

pub fn export(args: &ExportArgs, context: &Context) -> VerbResult {
    let dir = directory(args.dir.as_deref())?;
    let mut all: Vec<Task> = Vec::new();
    loop {
        let before = all.last().map(|task| task.id.clone());
        let query = [
            ("dir", Some(dir.as_str())),
            ("state", args.all.then_some("all")),
            ("before", before.as_deref()),
            ("limit", Some(PAGE)),
        ];
        let list: TaskList = context.client.get(&client::path(&["tasks"], &query))?.read()?;
        all.extend(list.tasks);
        if !list.has_older {
            break;
        }
    }
    all.reverse();
    all.retain(|task| task.state != "dropped");
    if context.json {
        context.print_json(&serde_json::to_vec(&all).unwrap_or_default())?;
        return Ok(ExitCode::Done);
    }
    let item = |task: &Task| {
        let step = |step: &TaskStep| (step.text.clone(), step.done);
        let (title, done) = (task.title.clone(), task.state == "verified");
        let steps = task.steps.iter().map(step).collect();
        (task.id.clone(), Item { title, done, steps, parts: Vec::new() })
    };
    let is_known = |id: &String| all.iter().any(|task| task.id == *id);
    let is_top = |task: &&Task| !task.parent.as_ref().is_some_and(is_known);
    let top: Vec<(String, Item)> = all.iter().filter(is_top).map(item).collect();
    let parts =
        |id: &str| all.iter().filter(|task| task.parent.as_deref() == Some(id)).map(item).collect();
    context.print(&checklist::written(&top, &parts))?;
    Ok(ExitCode::Done)
}
