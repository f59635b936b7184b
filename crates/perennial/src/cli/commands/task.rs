//! `task`: units of work, on somebody's queue.

mod lists;

use std::path::PathBuf;

use perennial_api::task::{NewTaskStep, TEXT_LIMIT, Task, TaskAction, TaskList, TaskRequest};
use perennial_api::{ExitCode, client};

use crate::cli::command_line::{CommandLine, command_line};
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::launch::{directory, existing_directory};
use crate::cli::number::within;
use crate::cli::render::document::{Document, TaskDocuments, document, documents, of_tasks};
use crate::cli::render::task;
use crate::cli::render::text::plain;
use crate::cli::vocabulary::Words;
use crate::cli::{problems, text_source};

/// Add, take and finish tasks
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task add 'fix the parser' --step 'test it' --check unit
          perennial task add 'review #12' --to role:reviewer
          perennial task ls
          perennial task assign mmct2xk8e0 bob
          perennial task done mmct2xk8e0 -m 'merged'
          perennial task verify mmct2xk8e0

An id may be shortened to its end, at least 8 characters. Done is a claim: the task's check verifies it, or the parent of the agent that did it, or you.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Add(Box<AddArgs>),
    Ls(LsArgs),
    Show(ShowArgs),
    /// Take a task, as an agent: from your queue, your role's or your project
    #[command(after_help = "Example: perennial task take mmct2xk8e0")]
    Take(OneArgs),
    Assign(AssignArgs),
    Note(NoteArgs),
    Step(StepArgs),
    Block(BlockArgs),
    /// Claim that a task is done; its check or somebody's word verifies it
    #[command(after_help = "Example: perennial task done mmct2xk8e0 -m 'merged as 3f2c1a'")]
    Done(ReasonArgs),
    Verify(VerifyArgs),
    Split(SplitArgs),
    /// Put a task back on its queue; a finished one gets a successor
    #[command(after_help = "Example: perennial task reopen mmct2xk8e0 -m 'it broke again'")]
    Reopen(ReasonArgs),
    /// Give a task up for good
    #[command(after_help = "Example: perennial task drop mmct2xk8e0 -m 'not needed any more'")]
    Drop(ReasonArgs),
    Import(lists::ImportArgs),
    Export(lists::ExportArgs),
}

/// Add a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task add 'fix it' -m 'it drops the last line' --check unit
          perennial task add 'release' --depends-on mmct2xk8e0 --to bob
          perennial task add 'port' --scope src --estimate-steps 5 --ref JIRA-7
          perennial task add 'quick' --check-command 'cargo test -p parser'

A check by name is one of [checks] in your configuration or, if you trust it, in the project's perennial.toml. No \
shell reads --check-command: quotation marks hold words together; for pipes and lists use sh -c '…'.")]
pub struct AddArgs {
    /// One line of at most 200 bytes
    title: String,
    /// What is to be done, at most 64 KiB, or - to read it from standard input
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// A step, in order; may be repeated
    #[arg(long, value_name = "TEXT")]
    step: Vec<String>,
    /// An agent, role:NAME or nobody [default: nobody]
    #[arg(long, value_name = "WHO")]
    to: Option<String>,
    /// A directory of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The check that verifies it, by name
    #[arg(long, value_name = "NAME", conflicts_with = "check_command")]
    check: Option<String>,
    /// A command that verifies it
    #[arg(long, value_name = "COMMAND", value_parser = command_line)]
    check_command: Option<CommandLine>,
    /// How long that command may run, in seconds [default: 600]
    #[arg(long, value_name = "SECONDS", requires = "check_command")]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 86_400>)]
    check_limit: Option<u64>,
    /// How often a failed check gives it back [default: 3]
    #[arg(long, value_name = "COUNT")]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 100>)]
    rounds: Option<u64>,
    /// A task that has to be verified first; may be repeated
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// The task that it is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// How many tokens it should take
    #[arg(long, value_name = "COUNT", conflicts_with = "estimate_steps")]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 1_000_000_000>)]
    estimate_tokens: Option<u64>,
    /// How many steps it should take
    #[arg(long, value_name = "COUNT")]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 1_000>)]
    estimate_steps: Option<u64>,
    /// What it is called elsewhere: a ticket or a link
    #[arg(long = "ref", value_name = "REFERENCE")]
    reference: Option<String>,
    /// A path that it is about, relative to the project; may be repeated
    #[arg(long, value_name = "PATH")]
    scope: Vec<String>,
    #[command(flatten)]
    words: Words,
}

/// List tasks, those added last first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task ls
          perennial task ls --project . --state blocked
          perennial task ls --agent bob
          perennial task ls --role reviewer --all --json

Without --all or --state: the tasks that are not finished.")]
pub struct LsArgs {
    /// Only those of the project that this directory belongs to
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Only those in this state: open, taken, claimed, blocked, split, verified or dropped
    #[arg(long, value_name = "STATE", conflicts_with = "all")]
    state: Option<String>,
    /// Only those that an agent has, or that lie on its queue
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only those on the queue of a role
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Finished ones, too
    #[arg(long)]
    all: bool,
    /// Only tasks that were added before this one
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Show at most this many
    #[arg(short = 'n', long = "limit", value_name = "COUNT", default_value_t = 50)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 1_000>)]
    count: u64,
    #[command(flatten)]
    words: Words,
}

#[derive(Debug, clap::Args)]
pub struct OneArgs {
    /// The task's id
    task: String,
}

/// Show a task with its steps, text, notes and last check
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task show mmct2xk8e0
          perennial task show mmct2xk8e0 --json --vocabulary gastown")]
pub struct ShowArgs {
    /// The task's id
    task: String,
    #[command(flatten)]
    words: Words,
}

/// Put a task on somebody's queue
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task assign mmct2xk8e0 bob
          perennial task assign mmct2xk8e0 role:reviewer
          perennial task assign mmct2xk8e0 nobody

An agent that is on no other task is on this one at once, and is told by mail.")]
pub struct AssignArgs {
    /// The task's id
    task: String,
    /// An agent, role:NAME or nobody
    to: String,
    #[command(flatten)]
    words: Words,
}

/// Write a note to a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial task note mmct2xk8e0 -m 'see the fixture'")]
pub struct NoteArgs {
    /// The task's id
    task: String,
    /// The note, at most 64 KiB, or - to read it from standard input
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
}

/// Mark the next step of a task as done, or add one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task step mmct2xk8e0
          perennial task step mmct2xk8e0 2 --undo
          perennial task step mmct2xk8e0 --add 'test it'")]
pub struct StepArgs {
    /// The task's id
    task: String,
    /// Which step, counted from 1 [default: the first that is not done]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 1_000>)]
    step: Option<u64>,
    /// It is not done after all
    #[arg(long, requires = "step")]
    undo: bool,
    /// Add a step
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["step", "undo"])]
    add: Option<String>,
}

/// Say that a task can't go on, and why
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial task block mmct2xk8e0 -m 'needs a key'

`task take`, `task assign` and `task reopen` go on with a blocked task.")]
pub struct BlockArgs {
    /// The task's id
    task: String,
    /// work: something within the fleet; outside: input that only somebody outside can give
    #[arg(long, default_value = "work", value_parser = ["work", "outside"])]
    on: String,
    /// Why
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
}

#[derive(Debug, clap::Args)]
pub struct ReasonArgs {
    /// The task's id
    task: String,
    /// What there is to say of it
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

/// Accept a task as done, or give it back
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task verify mmct2xk8e0
          perennial task verify mmct2xk8e0 --reject -m 'no test'")]
pub struct VerifyArgs {
    /// The task's id
    task: String,
    /// It is not done: it goes back to whoever did it
    #[arg(long, requires = "text")]
    reject: bool,
    /// Why
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

/// Split a task into parts; its agent goes on with the first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial task split mmct2xk8e0 \\
             --into 'the lexer' --into 'the parser'

The task is verified when all its parts are over. One with a check goes back to its agent then, to be claimed.")]
pub struct SplitArgs {
    /// The task's id
    task: String,
    /// The title of a part; at least two
    #[arg(long, value_name = "TITLE", required = true)]
    into: Vec<String>,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let words = match &args.verb {
        Verb::Add(args) => args.words.clone(),
        Verb::Assign(args) => args.words.clone(),
        Verb::Ls(_)
        | Verb::Show(_)
        | Verb::Import(_)
        | Verb::Export(_)
        | Verb::Take(_)
        | Verb::Note(_)
        | Verb::Step(_)
        | Verb::Block(_)
        | Verb::Done(_)
        | Verb::Verify(_)
        | Verb::Split(_)
        | Verb::Reopen(_)
        | Verb::Drop(_) => Words::default(),
    };
    let request = match args.verb {
        Verb::Add(args) => added(*args)?,
        Verb::Ls(args) => return ls(&args, context),
        Verb::Show(args) => return show(&args, context),
        Verb::Import(args) => return lists::import(&args, context),
        Verb::Export(args) => return lists::export(&args, context),
        Verb::Take(args) => of(TaskAction::Take, args.task),
        Verb::Assign(args) => {
            let to = Some(args.words.our_queue(args.to));
            TaskRequest { to, ..of(TaskAction::Assign, args.task) }
        }
        Verb::Note(args) => TaskRequest {
            text: Some(text_source::read(Some(args.text), None, &WORDS)?),
            ..of(TaskAction::Note, args.task)
        },
        Verb::Step(args) => TaskRequest {
            step: args.step.and_then(|step| u32::try_from(step).ok()),
            undo: args.undo,
            text: args.add,
            ..of(TaskAction::Step, args.task)
        },
        Verb::Block(args) => TaskRequest {
            on: Some(args.on),
            text: Some(args.text),
            ..of(TaskAction::Block, args.task)
        },
        Verb::Done(args) => TaskRequest { text: args.text, ..of(TaskAction::Done, args.task) },
        Verb::Verify(args) => {
            let action = if args.reject { TaskAction::Reject } else { TaskAction::Verify };
            TaskRequest { text: args.text, ..of(action, args.task) }
        }
        Verb::Split(args) => {
            TaskRequest { steps: steps(args.into), ..of(TaskAction::Split, args.task) }
        }
        Verb::Reopen(args) => TaskRequest { text: args.text, ..of(TaskAction::Reopen, args.task) },
        Verb::Drop(args) => TaskRequest { text: args.text, ..of(TaskAction::Drop, args.task) },
    };
    let answer = context.client.post(&client::path(&["tasks"], &[]), &request)?;
    let claims = matches!(request.action, TaskAction::Done | TaskAction::Verify);
    let gives = matches!(request.action, TaskAction::Assign | TaskAction::Add);
    context.show(&answer, |tasks: &Vec<Task>| {
        let told = tasks.iter().map(|one| task::changed(one, &words));
        let claimed = || tasks.iter().filter(|_| claims);
        let open = claimed().filter_map(task::open_steps);
        let unchecked = claimed().filter_map(task::check_not_passed);
        let asleep = tasks.iter().filter(|_| gives).filter_map(task::asleep);
        let parts = claimed().filter_map(task::open_parts);
        told.chain(open).chain(parts).chain(unchecked).chain(asleep).collect()
    })?;
    Ok(ExitCode::Done)
}

/// The text of a task, or a note.
const WORDS: text_source::Kind = text_source::Kind {
    limit: TEXT_LIMIT,
    missing: problems::task::no_text,
    too_long: problems::task::text_too_long,
    not_text: problems::task::text_not_text,
};

fn of(action: TaskAction, task: String) -> TaskRequest {
    TaskRequest { action, id: Some(task), ..TaskRequest::default() }
}

fn steps(texts: Vec<String>) -> Vec<NewTaskStep> {
    texts.into_iter().map(|text| NewTaskStep { text, done: false }).collect()
}

fn added(args: AddArgs) -> Result<TaskRequest, Failure> {
    Ok(TaskRequest {
        action: TaskAction::Add,
        title: Some(args.title),
        text: args.text.map(|text| text_source::read(Some(text), None, &WORDS)).transpose()?,
        steps: steps(args.step),
        to: args.to.map(|to| args.words.our_queue(to)),
        dir: Some(directory(args.dir.as_deref())?),
        check: args.check,
        check_command: args.check_command.unwrap_or_default().0,
        check_limit_s: args.check_limit,
        depends_on: args.depends_on,
        parent: args.parent,
        estimate_tokens: args.estimate_tokens,
        estimate_steps: args.estimate_steps,
        reference: args.reference,
        scope: args.scope,
        rounds_max: args.rounds.and_then(|rounds| u32::try_from(rounds).ok()),
        ..TaskRequest::default()
    })
}

fn show(args: &ShowArgs, context: &Context) -> VerbResult {
    let vocabulary = ("vocabulary", args.words.word());
    // An empty word would be no part of a path.
    if args.task.is_empty() {
        return Err(problems::task::no_such_task().into());
    }
    let answer = context.client.get(&client::path(&["tasks", &args.task], &[vocabulary]))?;
    if let Some(vocabulary) = args.words.vocabulary() {
        context.show(&answer, |shown: &Document| {
            context.draw(|canvas| document(shown, &of_tasks(vocabulary), canvas))
        })?;
        return Ok(ExitCode::Done);
    }
    context.show(&answer, |shown: &Task| context.draw(|canvas| task::card(shown, canvas)))?;
    Ok(ExitCode::Done)
}

fn ls(args: &LsArgs, context: &Context) -> VerbResult {
    let count = args.count.to_string();
    let dir = args.project.as_deref().map(|dir| existing_directory(Some(dir))).transpose()?;
    let query = [
        ("dir", dir.as_deref()),
        ("state", if args.all { Some("all") } else { args.state.as_deref() }),
        ("agent", args.agent.as_deref()),
        ("role", args.role.as_deref()),
        ("before", args.before.as_deref()),
        ("limit", Some(count.as_str())),
        ("vocabulary", args.words.word()),
    ];
    let answer = context.client.get(&client::path(&["tasks"], &query))?;
    if let Some(vocabulary) = args.words.vocabulary().filter(|_| !context.json) {
        let list: TaskDocuments = answer.read()?;
        let drawn = match list.tasks.is_empty() {
            true => "no tasks\n".to_owned(),
            false => context.draw(|canvas| documents(&list.tasks, &of_tasks(vocabulary), canvas)),
        };
        context.print_long(&drawn)?;
        return Ok(ExitCode::Done);
    }
    context.show(&answer, |list: &TaskList| {
        context.draw(|canvas| task::table(list, &options(args), canvas))
    })?;
    Ok(ExitCode::Done)
}

/// What the next page is asked for with, a blank behind each word.
fn options(args: &LsArgs) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(args.all.then(|| "--all".to_owned()));
    let named = [("--state", &args.state), ("--agent", &args.agent), ("--role", &args.role)];
    for (option, value) in named {
        words.extend(value.iter().map(|value| format!("{option} {}", plain(value))));
    }
    let project =
        args.project.iter().map(|dir| format!("--project {}", plain(&dir.to_string_lossy())));
    words.extend(project);
    words.into_iter().map(|word| word + " ").collect()
}
