//! Why something can't be done with a task.

use perennial_api::Problem;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::task::TaskRefusal;
use perennial_core::vocabulary::Vocabulary;

pub(super) fn refused(
    task: TaskId,
    why: &TaskRefusal,
    name: impl Fn(AgentId) -> String,
) -> Problem {
    match why {
        TaskRefusal::NoSuchTask => no_such_task(&task.to_string()),
        TaskRefusal::Exists => Problem::new(409, "task-exists", format!("{task} exists already"))
            .because("an id is used once")
            .next("try again"),
        TaskRefusal::Over => Problem::new(409, "task-over", format!("{task} is finished"))
            .because("it is verified or dropped, and stays as it is")
            .next(format!("`perennial task reopen {task}` adds a task that takes it up again")),
        TaskRefusal::WrongState(state) => {
            Problem::new(409, "task-state", format!("{task} is {state}"))
                .because(stands(state))
                .next(format!("`perennial task show {task}` shows more; {}", moves(task, state)))
        }
        TaskRefusal::NotYours => Problem::new(403, "not-your-task", format!("{task} is not yours"))
            .because("an agent takes tasks from its own queue, its role's queue or its project")
            .next("the tool `task` (action list) lists what you may take"),
        TaskRefusal::OnAnother { agent, task: other } => {
            Problem::new(409, "on-another-task", format!("{} is on {other}", name(*agent)))
                .because("an agent works on one task at a time")
                .next(format!("finish {other}, or block it with a reason"))
        }
        TaskRefusal::ClockNearlyOut { agent } => {
            let title = format!("{} gets no more tasks in this session", name(*agent));
            Problem::new(409, "clock-nearly-out", title)
                .because("its context window is 90 % full")
                .next("give the task to another agent, or wait until its next window has begun")
        }
        TaskRefusal::Waits { on } => {
            Problem::new(409, "task-waits", format!("{task} waits for {on}"))
                .because("a task is begun, and done, when every task that it depends on is verified")
                .next(format!(
                    "`perennial task show {on}` shows how far that one is; the operator may accept this one as it \
                     is: `perennial task verify {task}`"
                ))
        }
        TaskRefusal::NoSuchDependency { on } => no_such_task(&on.to_string()),
        TaskRefusal::NoSuchParent { parent } => {
            Problem::new(409, "no-such-task", format!("{parent} takes no parts"))
                .because("there is no such task, or it is finished")
                .next("`perennial task ls` lists the tasks that are not finished")
        }
        TaskRefusal::CommandOfAgent => {
            Problem::new(403, "not-allowed", "an agent may not add a task with a command")
                .because("a command as a check is a person's word; an agent names a check")
                .next("name a check of the configuration; `perennial config show` lists them")
        }
        TaskRefusal::CheckedItems => checked_items(),
        TaskRefusal::NoSuchStep { step, steps } => no_such_step(task, *step, *steps),
        TaskRefusal::TooFew { what, least } => too_few(what, *least),
        TaskRefusal::TooMany { what, most } => too_many(what, *most),
        TaskRefusal::NoLine { what, most } => no_line(what, *most),
        TaskRefusal::TooLong { what, most } => bad(what, &format!("it has at most {most} bytes")),
        TaskRefusal::OutOfRange { what, least, most } => out_of_range(what, *least, *most),
        TaskRefusal::BadScope { path } => {
            let path: String = path.chars().filter(|c| !c.is_control()).take(100).collect();
            Problem::new(400, "bad-scope", format!("invalid path '{path}'"))
                .because("a scope has relative paths that stay within the project")
                .next("write paths such as src/parser")
        }
        TaskRefusal::OwnWork => Problem::new(403, "own-work", format!("{task} is your own work"))
            .because("you had it, or what it is a part of: a check, an agent above you or the operator verifies it")
            .next("claim it with `done` and go on; you are told if it comes back"),
        TaskRefusal::NotAbove { agent } => not_above(task, &name(*agent)),
    }
}

fn checked_items() -> Problem {
    Problem::new(403, "not-allowed", "the list has checked items; nothing was imported")
        .because("a checked item counts as verified, and only a person verifies so")
        .next("leave the checked items out, or uncheck them: [ ]")
}

/// What a task in a state waits for.
fn stands(state: &str) -> &'static str {
    match state {
        "open" => "nobody has begun it",
        "taken" => "it is being worked on",
        "claimed" => "it is said to be done, and waits to be verified",
        "blocked" => "it waits until it is taken up again",
        "split" => "it is done when its parts are",
        _ => "it is finished",
    }
}

/// How a task in a state goes on.
fn moves(task: TaskId, state: &str) -> String {
    match state {
        "open" | "taken" | "blocked" => format!("`perennial task assign {task} WHO` moves it"),
        "claimed" => {
            format!("`perennial task verify {task}` accepts it, with --reject it goes back")
        }
        _ => format!("`perennial task reopen {task}` takes it up again"),
    }
}

/// A person has no session that could have a task.
pub fn take_by_person(task: TaskId) -> Problem {
    Problem::new(403, "not-a-session", "only an agent's own session may take a task")
        .because("the calling process does not belong to a session")
        .next(format!("`perennial task assign {task}` moves it"))
}

/// The same problem, with who has the task.
pub fn held_by(problem: Problem, holder: Option<&str>) -> Problem {
    let why = problem.detail.clone();
    problem.because(match holder {
        Some(holder) => format!("{why}; {holder} has it"),
        None => format!("{why}; nobody has it"),
    })
}

fn not_above(task: TaskId, other: &str) -> Problem {
    Problem::new(403, "not-above", format!("{task} was also the work of {other}"))
        .because("only an agent above everybody who had it verifies it")
        .next("an agent above both of you or the operator does; with --reject it goes back")
}

fn no_such_step(task: TaskId, step: u32, steps: u32) -> Problem {
    let problem = Problem::new(400, "no-such-step", format!("{task} has no step {step} to mark"));
    match steps {
        0 => problem
            .because("it has no steps")
            .next(format!("`perennial task step {task} --add 'test it'` adds one")),
        _ => problem
            .because(format!("it has {steps} steps, counted from 1"))
            .next(format!("`perennial task show {task}` lists them")),
    }
}

pub fn no_such_task(id: &str) -> Problem {
    let id: String = id.chars().filter(|c| !c.is_control()).take(64).collect();
    Problem::new(404, "no-such-task", format!("no task '{id}'"))
        .because("a task is named by its id, or by at least the last 8 characters of it")
        .next("`perennial task ls --all` lists them")
}

pub fn no_such_check(name: &str, known: &[&str]) -> Problem {
    let problem = Problem::new(400, "no-such-check", format!("no check '{name}'"));
    match known {
        [] => problem
            .because("neither your configuration nor the project's perennial.toml declares a check")
            .next(
                "declare it under [checks] (`perennial config edit`) and restart the daemon, or use --check-command",
            ),
        known => problem
            .because(format!("known checks: {}", known.join(", ")))
            .next("use one of these, or declare it under [checks] and restart the daemon"),
    }
}

/// The same problem, of one task of a list of which nothing was added.
pub fn in_list(title: &str, problem: Problem) -> Problem {
    let shown: String = title.chars().filter(|c| !c.is_control()).take(60).collect();
    let why = problem.detail.clone();
    Problem { title: format!("{} of '{shown}'", problem.title), ..problem }
        .because(format!("{why}; nothing was added"))
}

/// The end of an id that several have.
pub fn ambiguous_id(text: &str, ids: &[String]) -> Problem {
    let text: String = text.chars().filter(|c| !c.is_control()).take(64).collect();
    Problem::new(409, "ambiguous-id", format!("'{text}' is the end of {} ids", ids.len()))
        .because(ids.join(", "))
        .next("name one of them, or more of its last characters")
}

pub fn missing(what: &str, action: &str) -> Problem {
    Problem::new(400, "bad-task", format!("{what} is missing"))
        .because(format!("`task {action}` needs it"))
        .next("`perennial task --help` shows how")
}

pub fn bad(what: &str, why: &str) -> Problem {
    Problem::new(400, "bad-task", format!("invalid {what}"))
        .because(why)
        .next("`perennial task --help` shows how")
}

fn out_of_range(what: &str, least: u64, most: u64) -> Problem {
    bad(what, &format!("it is a number from {least} to {most}"))
}

pub fn no_line(what: &str, most: usize) -> Problem {
    bad(what, &format!("it is one line of 1 to {most} bytes, without control characters"))
}

pub fn bad_state(word: &str, known: &[&str]) -> Problem {
    let word: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
    Problem::new(400, "bad-task", format!("no state '{word}'"))
        .because(format!("tasks are {} or all", known.join(", ")))
        .next("leave it out to list the tasks that are not finished")
}

pub fn not_a_state_of(vocabulary: Vocabulary, word: &str) -> Problem {
    let word: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
    let (title, known) = (vocabulary.title(), vocabulary.task_state_words().join(", "));
    Problem::new(400, "bad-task", format!("{title} has no state '{word}' of tasks"))
        .next(format!("use one of {known}"))
}

pub fn over(task: TaskId) -> Problem {
    refused(task, &TaskRefusal::Over, |id| id.to_string())
}

fn too_few(what: &str, least: usize) -> Problem {
    Problem::new(400, "too-few", format!("too few {what}"))
        .because(format!("at least {least} are needed"))
        .next(format!("name at least {least}"))
}

fn too_many(what: &str, most: usize) -> Problem {
    Problem::new(400, "too-many", format!("too many {what}"))
        .because(format!("at most {most} are taken"))
        .next("name fewer")
}
