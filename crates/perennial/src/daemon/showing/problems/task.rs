//! Why something can't be done with a task.

use perennial_api::Problem;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::task::TaskRefusal;

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
                .because("this can't be done with a task in that state")
                .next(format!("`perennial task show {task}` says what it waits for"))
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
                .because("a task is begun when every task that it depends on is verified")
                .next(format!("`perennial task show {on}` shows how far that one is"))
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
        TaskRefusal::NoSuchStep { step, steps } => {
            Problem::new(400, "no-such-step", format!("{task} has no open step {step}"))
                .because(format!("it has {steps} steps, counted from 1"))
                .next(format!("`perennial task show {task}` lists them"))
        }
        TaskRefusal::TooFew { what, least } => too_few(what, *least),
        TaskRefusal::TooMany { what, most } => too_many(what, *most),
        TaskRefusal::BadScope { path } => {
            let path: String = path.chars().filter(|c| !c.is_control()).take(100).collect();
            Problem::new(400, "bad-scope", format!("invalid path '{path}'"))
                .because("a scope has relative paths that stay within the project")
                .next("write paths such as src/parser")
        }
        TaskRefusal::OwnWork => Problem::new(403, "own-work", format!("{task} is your own work"))
            .because("a check, an agent above you or the operator verifies it")
            .next("claim it with `done` and go on; you are told if it comes back"),
    }
}

pub fn no_such_task(id: &str) -> Problem {
    let id: String = id.chars().filter(|c| !c.is_control()).take(64).collect();
    Problem::new(404, "no-such-task", format!("no task '{id}'"))
        .because("tasks are named by their ids, which begin with tsk_")
        .next("`perennial task ls --all` lists them")
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

pub fn bad_state(word: &str, known: &[&str]) -> Problem {
    let word: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
    Problem::new(400, "bad-task", format!("no state '{word}'"))
        .because(format!("tasks are {} or all", known.join(", ")))
        .next("leave it out to list the tasks that are not finished")
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
