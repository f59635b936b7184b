//! A task that somebody wants added, as the core is asked for it. How much may be said of it is said there.

use std::path::PathBuf;
use std::time::Duration;

use perennial_api::task::{NewTaskStep, TaskRequest};
use perennial_core::authority::Caller;
use perennial_core::id::TaskId;
use perennial_core::name::Name;
use perennial_core::task::{
    Brief, CHECK_LIMIT, CheckSpec, Estimate, Queue, QueueWanted, REFERENCE_BYTES_MAX, ROUNDS_MAX,
    STEP_BYTES_MAX, Step, TITLE_BYTES_MAX, TaskCommand, TaskDraft, TaskImport,
};

use super::Surface;
use super::answer::ProblemResponse;
use super::tasks::{body, line, new_id};
use super::waiting::{on_waiting_thread, project_of_directory};
use crate::checks::{Checks, NoCheck};
use crate::config::Mistake;
use crate::daemon::showing::problems::task as problems;
use crate::daemon::surface::checks;
use crate::{project_file, roles};

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
        let project = project_of_directory(&dir).await?;
        let title = request.title.ok_or_else(|| missing("the title"))?;
        let step = |step: NewTaskStep| {
            let text = line("step", &step.text, STEP_BYTES_MAX)?;
            Ok::<_, ProblemResponse>(Step { text, is_done: step.done })
        };
        let (mut dependencies, mut finished) = (Vec::new(), Vec::new());
        for id in &request.depends_on {
            dependencies.push(self.task_id(id).await?);
        }
        let parent = match &request.parent {
            Some(id) => Some(self.task_id(id).await?),
            None => None,
        };
        for on in &dependencies {
            finished.push(self.known_task(*on).await?.id);
        }
        let (command, limit_s) = (request.check_command, request.check_limit_s);
        let check = self.check_spec(request.check, (command, limit_s), &project).await?;
        let estimate = match (request.estimate_tokens, request.estimate_steps) {
            (Some(tokens), _) => Some(Estimate::Tokens(tokens)),
            (None, steps) => steps.map(Estimate::Steps),
        };
        let text = request.text.as_deref().map(body).transpose()?;
        let reference = request.reference.as_deref();
        let brief = Brief {
            title: line("title", &title, TITLE_BYTES_MAX)?,
            text: text.as_ref().map(|body| body.text.clone()),
            steps: request.steps.into_iter().map(step).collect::<Result<_, _>>()?,
            dependencies,
            parent,
            estimate,
            reference: reference
                .map(|it| line("reference", it, REFERENCE_BYTES_MAX))
                .transpose()?,
            scope: request.scope,
            check,
            rounds_max: request.rounds_max.unwrap_or(ROUNDS_MAX),
            queue: Queue::Nobody,
            reopens: None,
            had_by: Vec::new(),
            project,
        };
        let to = match &request.to {
            Some(to) => queue(to, &brief.project).await?,
            None => QueueWanted::Nobody,
        };
        let draft = TaskDraft { id: new_id(0), brief, body: text, to, finished };
        Ok(TaskCommand::Add(Box::new(draft)))
    }

    /// What verifies the task: a name or a command.
    async fn check_spec(
        &self,
        name: Option<String>,
        (argv, limit_s): (Vec<String>, Option<u64>),
        project: &str,
    ) -> Result<Option<CheckSpec>, ProblemResponse> {
        let limit = limit_s.map_or(CHECK_LIMIT, Duration::from_secs);
        Ok(match (name, argv) {
            (Some(_), argv) if !argv.is_empty() => {
                let why = "a task has one check: a name or a command";
                return Err(ProblemResponse(problems::bad("check", why)));
            }
            (Some(name), _) => Some(CheckSpec::Named(self.known_check(&name, project).await?)),
            (None, argv) if argv.is_empty() => None,
            (None, argv) => Some(CheckSpec::Command { argv: command(argv)?, limit }),
        })
    }

    /// A list of tasks, each of which may be a part of one before it.
    pub(super) async fn import(
        &self,
        caller: Caller,
        request: TaskRequest,
    ) -> Result<TaskCommand, ProblemResponse> {
        let own = match caller {
            Caller::Agent(id) => Some(self.find(caller, id.to_string()).await?.dir),
            Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous => None,
        };
        let missing = |what: &str| ProblemResponse(problems::missing(what, "import"));
        let dir = request.dir.or(own).ok_or_else(|| missing("the project's directory"))?;
        let project = project_of_directory(&dir).await?;
        if request.tasks.is_empty() {
            return Err(missing("the list of tasks"));
        }
        let mut tasks: Vec<TaskImport> = Vec::new();
        for (place, one) in (0..).zip(request.tasks) {
            // Which of a long list is wrong is what its reader wants to know.
            let of_task = |problem: ProblemResponse| {
                ProblemResponse(problems::in_list(&one.title, problem.0))
            };
            let title = line("title", &one.title, TITLE_BYTES_MAX).map_err(of_task)?;
            let mut steps = Vec::new();
            for step in &one.steps {
                let text = line("step", &step.text, STEP_BYTES_MAX).map_err(of_task)?;
                steps.push(Step { text, is_done: step.done });
            }
            let parent = match one.part_of {
                Some(at) => {
                    let before = tasks.get(at).ok_or_else(|| missing("a task before its parts"))?;
                    Some(before.id)
                }
                None => None,
            };
            let brief = plain_brief(title, steps, parent, &project);
            tasks.push(TaskImport { id: new_id(place), brief, is_done: one.done });
        }
        let to = match &request.to {
            Some(to) => queue(to, &project).await?,
            None => QueueWanted::Nobody,
        };
        Ok(TaskCommand::Import { to, tasks })
    }

    /// The checks that the operator and a project declare, as they are trusted now.
    pub(super) async fn checks_of(
        &self,
        project: &str,
    ) -> Result<Result<Checks, Mistake>, ProblemResponse> {
        let (own, config) = (self.checks.clone(), self.home.config.clone());
        let project = PathBuf::from(project);
        on_waiting_thread(move || Checks::of(&own, &config, &project)).await
    }

    /// A check that somebody declares, trusted or not. Where the project's file has a mistake, it may be there.
    async fn known_check(&self, text: &str, project: &str) -> Result<Name, ProblemResponse> {
        let name = check_name(text)?;
        let Ok(all) = self.checks_of(project).await? else {
            return Ok(name);
        };
        match all.trusted(name.as_str()) {
            Ok(_) | Err(NoCheck::NotTrusted { .. }) => Ok(name),
            Err(NoCheck::Unknown) => {
                Err(ProblemResponse(problems::no_such_check(name.as_str(), &all.names())))
            }
        }
    }
}

/// A task of which only what it is, is known.
fn plain_brief(title: String, steps: Vec<Step>, parent: Option<TaskId>, project: &str) -> Brief {
    Brief {
        title,
        text: None,
        project: project.to_owned(),
        steps,
        dependencies: Vec::new(),
        parent,
        estimate: None,
        reference: None,
        scope: Vec::new(),
        check: None,
        rounds_max: ROUNDS_MAX,
        queue: Queue::Nobody,
        reopens: None,
        had_by: Vec::new(),
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
pub(super) async fn queue(text: &str, project: &str) -> Result<QueueWanted, ProblemResponse> {
    match (text, text.strip_prefix("role:")) {
        ("nobody", _) => Ok(QueueWanted::Nobody),
        (_, Some(role)) => {
            let role = checks::role(role)?;
            // A file with a mistake declares nothing.
            let (project, key) = (PathBuf::from(project), role.key());
            let look = move || {
                let declared = project_file::of(&project).unwrap_or_default().role;
                roles::find(&declared, &key).is_some()
            };
            let is_declared = on_waiting_thread(look).await?;
            Ok(QueueWanted::Role { role, is_declared })
        }
        (agent, None) => Ok(QueueWanted::Agent(agent.to_owned())),
    }
}
