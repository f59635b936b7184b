//! A task that somebody wants added: what a request says of it is checked here, and bounded.

use std::path::Path;
use std::time::Duration;

use perennial_api::task::{NewTaskStep, TITLE_LIMIT, TaskRequest};
use perennial_core::authority::Caller;
use perennial_core::name::Name;
use perennial_core::task::{
    Brief, CHECK_LIMIT, CheckSpec, Estimate, Queue, QueueWanted, REFERENCE_BYTES_MAX, ROUNDS_MAX,
    STEP_BYTES_MAX, Step, TaskCommand, TaskDraft,
};

use super::answer::ProblemResponse;
use super::tasks::{body, line, new_id, task_id};
use super::{Surface, project};
use crate::daemon::showing::problems::task as problems;
use crate::daemon::surface::checks;
use crate::{project_file, roles};

const ROUNDS_MOST: u32 = 100;
const LIMIT_MOST_S: u64 = 86_400;
const WORDS_MAX: usize = 64;

impl Surface {
    pub(super) async fn draft(
        &self,
        caller: Caller,
        request: TaskRequest,
    ) -> Result<TaskCommand, ProblemResponse> {
        let own = match caller {
            Caller::Agent(id) => Some(self.find(caller, id.to_string()).await?.dir),
            Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous => None,
        };
        let missing = |what: &str| ProblemResponse(problems::missing(what, "add"));
        let dir = request.dir.or(own).ok_or_else(|| missing("the project's directory"))?;
        let dir = checks::directory(&dir)?;
        let project = project::of(&dir).to_string_lossy().into_owned();
        let title = request.title.ok_or_else(|| missing("the title"))?;
        let step = |step: NewTaskStep| {
            let text = line("step", &step.text, STEP_BYTES_MAX)?;
            Ok::<_, ProblemResponse>(Step { text, is_done: step.done })
        };
        let dependencies = request.depends_on.iter().map(|id| task_id(id));
        let dependencies = dependencies.collect::<Result<Vec<_>, _>>()?;
        let mut finished = Vec::new();
        for on in &dependencies {
            finished.push(self.known_task(*on).await?.id);
        }
        let limit_s = request.check_limit_s.unwrap_or(CHECK_LIMIT.as_secs());
        let limit = Duration::from_secs(limit_s.clamp(1, LIMIT_MOST_S));
        let check = match (request.check, request.check_command) {
            (Some(_), argv) if !argv.is_empty() => {
                let why = "a task has one check: a name or a command";
                return Err(ProblemResponse(problems::bad("check", why)));
            }
            (Some(name), _) => Some(CheckSpec::Named(check_name(&name)?)),
            (None, argv) if argv.is_empty() => None,
            (None, argv) => Some(CheckSpec::Command { argv: command(argv)?, limit }),
        };
        let estimate = match (request.estimate_tokens, request.estimate_steps) {
            (Some(tokens), _) => Some(Estimate::Tokens(tokens)),
            (None, steps) => steps.map(Estimate::Steps),
        };
        let text = request.text.as_deref().map(body).transpose()?;
        let reference = request.reference.as_deref();
        let brief = Brief {
            title: line("title", &title, TITLE_LIMIT)?,
            text: text.as_ref().map(|body| body.text.clone()),
            steps: request.steps.into_iter().map(step).collect::<Result<_, _>>()?,
            dependencies,
            parent: request.parent.as_deref().map(task_id).transpose()?,
            estimate,
            reference: reference
                .map(|it| line("reference", it, REFERENCE_BYTES_MAX))
                .transpose()?,
            scope: request.scope,
            check,
            rounds_max: request.rounds_max.unwrap_or(ROUNDS_MAX).clamp(1, ROUNDS_MOST),
            queue: Queue::Nobody,
            reopens: None,
            project,
        };
        let to = match &request.to {
            Some(to) => queue(to, &brief.project)?,
            None => QueueWanted::Nobody,
        };
        let draft = TaskDraft { id: new_id(0), brief, body: text, to, finished };
        Ok(TaskCommand::Add(Box::new(draft)))
    }
}

fn check_name(text: &str) -> Result<Name, ProblemResponse> {
    text.parse()
        .map_err(|_| ProblemResponse(problems::bad("check", "names have letters, digits, - and _")))
}

fn command(argv: Vec<String>) -> Result<Vec<String>, ProblemResponse> {
    let is_good = |word: &String| word.len() <= 4096 && !word.contains('\0');
    match !argv[0].is_empty() && argv.len() <= WORDS_MAX && argv.iter().all(is_good) {
        true => Ok(argv),
        false => {
            let why = format!("a command has a program and at most {WORDS_MAX} words");
            Err(ProblemResponse(problems::bad("command", &why)))
        }
    }
}

/// A queue as people write it: an agent, `role:NAME` or `nobody`.
pub(super) fn queue(text: &str, project: &str) -> Result<QueueWanted, ProblemResponse> {
    match (text, text.strip_prefix("role:")) {
        ("nobody", _) => Ok(QueueWanted::Nobody),
        (_, Some(role)) => {
            let role = checks::role(role)?;
            // A file with a mistake declares nothing.
            let declared = project_file::of(Path::new(project)).unwrap_or_default().role;
            let is_declared = roles::find(&declared, &role.key()).is_some();
            Ok(QueueWanted::Role { role, is_declared })
        }
        (agent, None) => Ok(QueueWanted::Agent(agent.to_owned())),
    }
}
