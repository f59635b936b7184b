//! `task import`, `task export`: tasks from Markdown check lists, and as such.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use perennial_api::task::{
    NewTask, NewTaskStep, Task, TaskAction, TaskList, TaskRequest, TaskStep,
};
use perennial_api::{ExitCode, client};

use crate::cli::checklist::{self, Item};
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::launch::existing_directory;
use crate::cli::problems;
use crate::cli::render::task;
use crate::cli::render::text::counted;
use crate::cli::text_source;
use crate::cli::vocabulary::Words;

/// A list of more than this is no check list.
const LIST_BYTES_MAX: usize = 1 << 20;
const PAGE: &str = "1000";

/// Add the tasks of a Markdown check list
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task import TODO
          perennial task import - --to role:crew < TODO

Each top-level item is a task. Nested items are its steps; a nested item with items of its own is a task that is a part of \
it. What is checked counts as verified by you. All of them are added, or none; at most 1,000 at once. \
Every item is a new task: a list that was exported, or imported before, is added a second time.")]
pub struct ImportArgs {
    /// The file, or - for standard input
    file: PathBuf,
    /// An agent, role:NAME or nobody [default: nobody]
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

Dropped tasks are left out; so are texts and notes. Reading it with `task import` adds the same tasks again, beside those that are there.")]
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
    let passed_over = checklist::without_box(&text);
    let dir = existing_directory(args.dir.as_deref())?;
    let mut tasks = Vec::new();
    items.iter().for_each(|item| listed(item, None, &mut tasks));
    let (action, to, dir) = (TaskAction::Import, args.to.clone(), Some(dir));
    let request = TaskRequest { action, to, dir, tasks, ..TaskRequest::default() };
    let answer = context.client.post(&client::path(&["tasks"], &[]), &request)?;
    context.show(&answer, |tasks: &Vec<Task>| {
        tasks.iter().map(|one| task::changed(one, &Words::default())).collect()
    })?;
    if passed_over > 0 && !context.json {
        let items = counted(passed_over as u64, "list item");
        eprintln!("note: {items} without a box ([ ]) not imported");
    }
    Ok(ExitCode::Done)
}

/// A task, then its parts: each names the one that it is a part of.
fn listed(item: &Item, part_of: Option<usize>, tasks: &mut Vec<NewTask>) {
    let step = |(text, done): &(String, bool)| NewTaskStep { text: text.clone(), done: *done };
    let place = tasks.len();
    tasks.push(NewTask {
        title: item.title.clone(),
        steps: item.steps.iter().map(step).collect(),
        done: item.done,
        part_of,
    });
    item.parts.iter().for_each(|part| listed(part, Some(place), tasks));
}

pub fn export(args: &ExportArgs, context: &Context) -> VerbResult {
    let dir = existing_directory(args.dir.as_deref())?;
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
    let ids: HashSet<&str> = all.iter().map(|task| task.id.as_str()).collect();
    let is_known = |id: &String| ids.contains(id.as_str());
    let is_top = |task: &&Task| !task.parent.as_ref().is_some_and(is_known);
    let top: Vec<(String, Item)> = all.iter().filter(is_top).map(item).collect();
    let mut below: HashMap<&str, Vec<&Task>> = HashMap::new();
    for task in &all {
        below.entry(task.parent.as_deref().unwrap_or_default()).or_default().push(task);
    }
    let parts =
        |id: &str| below.get(id).into_iter().flatten().map(|task| item(task)).collect::<Vec<_>>();
    context.print(&checklist::written(&top, &parts))?;
    Ok(ExitCode::Done)
}
