//! `task`: units of work, on somebody's queue.

mod lists;

use std::path::PathBuf;

use perennial_api::task::{NewTaskStep, Task, TaskAction, TaskList, TaskRequest};
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::launch::directory;
use crate::cli::number::within;
use crate::cli::render::task;
use crate::cli::render::text::plain;

/// Add, take and finish tasks
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task add 'fix the parser' --step 'test it' --check unit
          perennial task add 'review #12' --to role:reviewer
          perennial task ls
          perennial task assign tsk_01kf3v6mbnefyr5j9mmct2xk8e bob
          perennial task done tsk_01kf3v6mbnefyr5j9mmct2xk8e -m 'merged'
          perennial task verify tsk_01kf3v6mbnefyr5j9mmct2xk8e

Done is a claim: the task's check verifies it, or the parent of the agent that did it, or you.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Add(Box<AddArgs>),
    Ls(LsArgs),
    /// Show a task with its steps, text, notes and last check
    #[command(after_help = "Example: perennial task show tsk_01kf3v6mbnefyr5j9mmct2xk8e")]
    Show(OneArgs),
    /// Take a task, as an agent: from your queue, your role's or your project
    #[command(after_help = "Example: perennial task take tsk_01kf3v6mbnefyr5j9mmct2xk8e")]
    Take(OneArgs),
    Assign(AssignArgs),
    Note(NoteArgs),
    Step(StepArgs),
    Block(BlockArgs),
    /// Claim that a task is done; its check or somebody's word verifies it
    #[command(
        after_help = "Example: perennial task done tsk_01kf3v6mbnefyr5j9mmct2xk8e -m 'merged as 3f2c1a'"
    )]
    Done(ReasonArgs),
    Verify(VerifyArgs),
    Split(SplitArgs),
    /// Put a task back on its queue; a finished one gets a successor
    #[command(
        after_help = "Example: perennial task reopen tsk_01kf3v6mbnefyr5j9mmct2xk8e -m 'it broke again'"
    )]
    Reopen(ReasonArgs),
    /// Give a task up for good
    #[command(
        after_help = "Example: perennial task drop tsk_01kf3v6mbnefyr5j9mmct2xk8e -m 'not needed any more'"
    )]
    Drop(ReasonArgs),
    Import(lists::ImportArgs),
    Export(lists::ExportArgs),
}

/// Add a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task add 'fix the parser' -m 'it drops the last line' --check unit
          perennial task add 'release' --depends-on tsk_01kf3v6mbnefyr5j9mmct2xk8e --to bob
          perennial task add 'port' --scope src/parser --estimate-steps 5 --ref JIRA-7
          perennial task add 'quick' --check-command 'cargo test -p parser'

A check by name is one of [checks] in your configuration or, if you trust it, in the project's perennial.toml. The words of \
--check-command are separated by blanks; no shell reads them.")]
pub struct AddArgs {
    /// One line of at most 200 bytes
    title: String,
    /// What is to be done, at most 64 KiB
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
    #[arg(long, value_name = "COMMAND")]
    check_command: Option<String>,
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
    /// Only those in this state
    #[arg(long, value_name = "STATE", conflicts_with = "all")]
    #[arg(value_parser = ["open", "taken", "claimed", "blocked", "split", "verified", "dropped"])]
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
}

#[derive(Debug, clap::Args)]
pub struct OneArgs {
    /// The task's id
    task: String,
}

/// Put a task on somebody's queue
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task assign tsk_01kf3v6mbnefyr5j9mmct2xk8e bob
          perennial task assign tsk_01kf3v6mbnefyr5j9mmct2xk8e role:reviewer
          perennial task assign tsk_01kf3v6mbnefyr5j9mmct2xk8e nobody

An agent that is on no other task is on this one at once, and is told by mail.")]
pub struct AssignArgs {
    /// The task's id
    task: String,
    /// An agent, role:NAME or nobody
    to: String,
}

/// Write a note to a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial task note tsk_01kf3v6mbnefyr5j9mmct2xk8e -m 'see the fixture'")]
pub struct NoteArgs {
    /// The task's id
    task: String,
    /// The note, at most 64 KiB
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
}

/// Mark the next step of a task as done, or add one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial task step tsk_01kf3v6mbnefyr5j9mmct2xk8e
          perennial task step tsk_01kf3v6mbnefyr5j9mmct2xk8e 2 --undo
          perennial task step tsk_01kf3v6mbnefyr5j9mmct2xk8e --add 'test it'")]
pub struct StepArgs {
    /// The task's id
    task: String,
    /// Which step, counted from 1 [default: the first that is not done]
    step: Option<u32>,
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
Example: perennial task block tsk_01kf3v6mbnefyr5j9mmct2xk8e -m 'needs a key'")]
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
Examples: perennial task verify tsk_01kf3v6mbnefyr5j9mmct2xk8e
          perennial task verify tsk_01kf3v6mbnefyr5j9mmct2xk8e --reject -m 'no test'")]
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
Example: perennial task split tsk_01kf3v6mbnefyr5j9mmct2xk8e \\
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
    let request = match args.verb {
        Verb::Add(args) => added(*args)?,
        Verb::Ls(args) => return ls(&args, context),
        Verb::Show(args) => return show(&args, context),
        Verb::Import(args) => return lists::import(&args, context),
        Verb::Export(args) => return lists::export(&args, context),
        Verb::Take(args) => of(TaskAction::Take, args.task),
        Verb::Assign(args) => {
            TaskRequest { to: Some(args.to), ..of(TaskAction::Assign, args.task) }
        }
        Verb::Note(args) => {
            TaskRequest { text: Some(args.text), ..of(TaskAction::Note, args.task) }
        }
        Verb::Step(args) => TaskRequest {
            step: args.step,
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
    context.show(&answer, |tasks: &Vec<Task>| tasks.iter().map(task::changed).collect())?;
    Ok(ExitCode::Done)
}

fn of(action: TaskAction, task: String) -> TaskRequest {
    TaskRequest { action, id: Some(task), ..TaskRequest::default() }
}

fn steps(texts: Vec<String>) -> Vec<NewTaskStep> {
    texts.into_iter().map(|text| NewTaskStep { text, done: false }).collect()
}

fn added(args: AddArgs) -> Result<TaskRequest, Failure> {
    let words = |line: String| line.split_whitespace().map(str::to_owned).collect();
    Ok(TaskRequest {
        action: TaskAction::Add,
        title: Some(args.title),
        text: args.text,
        steps: steps(args.step),
        to: args.to,
        dir: Some(directory(args.dir.as_deref())?),
        check: args.check,
        check_command: args.check_command.map(words).unwrap_or_default(),
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

fn show(args: &OneArgs, context: &Context) -> VerbResult {
    let answer = context.client.get(&client::path(&["tasks", &args.task], &[]))?;
    context.show(&answer, |shown: &Task| context.draw(|canvas| task::card(shown, canvas)))?;
    Ok(ExitCode::Done)
}

fn ls(args: &LsArgs, context: &Context) -> VerbResult {
    let count = args.count.to_string();
    let dir = args.project.as_deref().map(|dir| directory(Some(dir))).transpose()?;
    let query = [
        ("dir", dir.as_deref()),
        ("state", if args.all { Some("all") } else { args.state.as_deref() }),
        ("agent", args.agent.as_deref()),
        ("role", args.role.as_deref()),
        ("before", args.before.as_deref()),
        ("limit", Some(count.as_str())),
    ];
    let answer = context.client.get(&client::path(&["tasks"], &query))?;
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
