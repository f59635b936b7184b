//! Tasks: what is asked of one is checked here and decided by the core. Those that are not over are in memory; the others
//! are found by the table of tasks, and each is folded from its own records.
//!
//! A check is resolved here, when it is to run: by its name, from configuration that is trusted as it is now.

use std::path::Path;

use axum::extract::State;
use perennial_api::task::{
    TEXT_LIMIT, TITLE_LIMIT, Task as Wire, TaskAction, TaskFilter, TaskList, TaskNote, TaskRequest,
};
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::id::{AgentId, TaskId};
use perennial_core::job::JobCommand;
use perennial_core::reason::Verb;
use perennial_core::task::{
    BlockedOn, CHECK_LIMIT, CheckSpec, REASON_BYTES_MAX, Resolution, STEP_BYTES_MAX, StepWanted,
    Task, TaskCommand, TaskEvent, TaskState,
};
use perennial_store::journal::Version;
use perennial_store::{Store, TaskQuery, recall_task, text};

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query, Segment};
use super::task_draft::queue;
use super::{Shared, Surface, project};
use crate::checks::{Checks, NoCheck};
use crate::daemon::driving::driver::FleetView;
use crate::daemon::showing::problems::task as problems;
use crate::daemon::showing::task as showing;
use crate::daemon::surface::checks;
use crate::daemon::time;
use crate::project_file;

const LISTED: usize = 50;
const LISTED_MAX: usize = 1000;
/// So many notes are shown with a task.
const NOTES: usize = 20;

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(filter): Query<TaskFilter>,
) -> Answer {
    json(&surface.tasks(caller, filter).await?)
}

pub async fn show(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(id): Segment,
) -> Answer {
    json(&surface.show_task(caller, &id).await?)
}

/// An id of a task.
pub fn task_id(text: &str) -> Result<TaskId, ProblemResponse> {
    text.parse().map_err(|_| ProblemResponse(problems::no_such_task(text)))
}

pub(super) fn line(what: &str, text: &str, most: usize) -> Result<String, ProblemResponse> {
    let text = text.trim();
    let is_line = !text.is_empty() && text.len() <= most && !text.chars().any(char::is_control);
    match is_line {
        true => Ok(text.to_owned()),
        false => {
            let why = format!("it is one line of 1 to {most} bytes, without control characters");
            Err(ProblemResponse(problems::bad(what, &why)))
        }
    }
}

fn words(what: &str, text: Option<String>) -> Result<String, ProblemResponse> {
    let text = text.unwrap_or_default();
    match text.len() <= REASON_BYTES_MAX {
        true => Ok(text),
        false => {
            let why = format!("it has at most {REASON_BYTES_MAX} bytes");
            Err(ProblemResponse(problems::bad(what, &why)))
        }
    }
}

pub(super) fn body(text: &str) -> Result<perennial_core::text::TextBody, ProblemResponse> {
    match !text.trim().is_empty() && text.len() <= TEXT_LIMIT {
        true => Ok(text::body(text)),
        false => {
            let why = format!("it has 1 to {TEXT_LIMIT} bytes");
            Err(ProblemResponse(problems::bad("text", &why)))
        }
    }
}

pub(super) fn new_id(place: u128) -> TaskId {
    TaskId(uuid::Uuid::now_v7().as_u128().wrapping_add(place))
}

impl Surface {
    /// Tasks that fit, those added last first.
    pub async fn tasks(
        &self,
        caller: Caller,
        filter: TaskFilter,
    ) -> Result<TaskList, ProblemResponse> {
        self.authorise(caller, Verb::Task, None).await?;
        let TaskFilter { dir, state, agent, role, loops, before, limit } = filter;
        let limit = limit.unwrap_or(LISTED).clamp(1, LISTED_MAX);
        let project = dir.map(|dir| project::of(Path::new(&dir)).to_string_lossy().into_owned());
        let agent = match agent {
            Some(target) => Some(self.find(caller, target).await?.id.parse::<AgentId>()),
            None => None,
        };
        let agent = agent.transpose().map_err(|_| ProblemResponse(problems::no_such_task("")))?;
        let role = role.as_deref().map(checks::role).transpose()?.map(|role| role.key());
        let before = before.as_deref().map(task_id).transpose()?;
        let known = state.as_deref();
        if let Some(word) = known.filter(|word| *word != "all" && !TaskState::WORDS.contains(word))
        {
            return Err(ProblemResponse(problems::bad_state(word, &TaskState::WORDS)));
        }
        let is_over = matches!(known, Some("all" | "verified" | "dropped"));
        let query = TaskQuery {
            project,
            state: state.clone().filter(|word| word != "all"),
            agent,
            role,
            before,
            limit: limit + 1,
        };
        let fits = {
            let query = query.clone();
            move |task: &Task| {
                let is_asked = |word: &String| *word == task.state.word();
                (is_over || !task.is_over())
                    && query.state.as_ref().is_none_or(is_asked)
                    && query.project.as_ref().is_none_or(|project| *project == task.brief.project)
                    && query.agent.is_none_or(|agent| task.assignee() == Some(agent))
                    && query.role.as_ref().is_none_or(|it| task.queue.role().as_ref() == Some(it))
                    && query.before.is_none_or(|before| task.id < before)
                    && (!loops || task.open_loop.is_some() && !task.is_over())
            }
        };
        let look = move |view: &FleetView<'_>| {
            let fleet = view.supervisor.fleet();
            let mut all: Vec<&Task> = fleet.tasks().iter().filter(|task| fits(task)).collect();
            all.sort_by_key(|task| std::cmp::Reverse(task.id));
            all.truncate(limit + 1);
            all.into_iter().cloned().collect::<Vec<Task>>()
        };
        let mut found = self.driver.look(look).await?;
        if is_over && !loops {
            let read = move |journal: &dyn Store| {
                let rows = journal.tasks(&query)?;
                let over =
                    rows.iter().filter(|row| row.state == "verified" || row.state == "dropped");
                let recalled = over.map(|row| recall_task(journal, row.task));
                recalled.filter_map(Result::transpose).collect::<Result<Vec<Task>, _>>()
            };
            let known: Vec<TaskId> = found.iter().map(|task| task.id).collect();
            let over = self.read(read).await?;
            found.extend(over.into_iter().filter(|task| !known.contains(&task.id)));
            found.sort_by_key(|task| std::cmp::Reverse(task.id));
        }
        let has_older = found.len() > limit;
        found.truncate(limit);
        Ok(TaskList { has_older, tasks: self.shown_tasks(caller, found).await? })
    }

    async fn shown_tasks(
        &self,
        caller: Caller,
        tasks: Vec<Task>,
    ) -> Result<Vec<Wire>, ProblemResponse> {
        let look = move |view: &FleetView<'_>| {
            let fleet = view.supervisor.fleet();
            tasks.iter().map(|task| showing::task(fleet, task, caller)).collect()
        };
        Ok(self.driver.look(look).await?)
    }

    /// A task, in memory or recalled.
    pub(super) async fn known_task(&self, id: TaskId) -> Result<Task, ProblemResponse> {
        let look = move |view: &FleetView<'_>| view.supervisor.fleet().tasks().get(id).cloned();
        if let Some(task) = self.driver.look(look).await? {
            return Ok(task);
        }
        let recalled = self.read(move |journal| recall_task(journal, id)).await?;
        recalled.ok_or_else(|| ProblemResponse(problems::no_such_task(&id.to_string())))
    }

    /// One task with its text and its newest notes.
    pub async fn show_task(&self, caller: Caller, id: &str) -> Result<Wire, ProblemResponse> {
        self.authorise(caller, Verb::Task, None).await?;
        let id = task_id(id)?;
        let task = self.known_task(id).await?;
        let digest = task.brief.text.as_ref().map(|text| text.digest);
        let read = move |journal: &dyn Store| {
            let text = digest.map(|digest| journal.text(digest)).transpose()?.flatten();
            let (mut notes, mut after) = (Vec::new(), Version(0));
            loop {
                let records = journal.read_stream(&Entity::Task(id), after, 1000)?;
                let Some(last) = records.last() else { break };
                after = last.version;
                for record in records {
                    if let Ok(Event { at, what: What::Task(_, TaskEvent::Noted { by, text }) }) =
                        record.event
                    {
                        notes.push((at, by, text.digest));
                    }
                }
            }
            let newest = notes.split_off(notes.len().saturating_sub(NOTES));
            let mut told = Vec::new();
            for (at, by, digest) in newest {
                told.push((at, by, journal.text(digest)?.unwrap_or_default()));
            }
            Ok((text, told))
        };
        let (text, notes) = self.read(read).await?;
        let look = move |view: &FleetView<'_>| {
            let fleet = view.supervisor.fleet();
            let last_notes = notes.into_iter().map(|(at, by, text)| TaskNote {
                by: showing::sender(fleet, by),
                at: time::rfc3339(at),
                text,
            });
            let last_notes = last_notes.collect();
            Wire { text, last_notes, ..showing::task(fleet, &task, caller) }
        };
        Ok(self.driver.look(look).await?)
    }

    /// Does something with a task; what it was about, once that is durable.
    pub async fn task(
        &self,
        caller: Caller,
        request: TaskRequest,
    ) -> Result<Vec<Wire>, ProblemResponse> {
        self.authorise(caller, Verb::Task, None).await?;
        let command = match request.action {
            TaskAction::Add => self.draft(caller, request).await?,
            TaskAction::Take
            | TaskAction::Assign
            | TaskAction::Note
            | TaskAction::Step
            | TaskAction::Block
            | TaskAction::Done
            | TaskAction::Verify
            | TaskAction::Reject
            | TaskAction::Split
            | TaskAction::Reopen
            | TaskAction::Drop => self.change(caller, request).await?,
        };
        let parts = match &command {
            TaskCommand::Split { into, .. } => into.iter().map(|(id, _)| *id).collect(),
            TaskCommand::Add(_)
            | TaskCommand::Take { .. }
            | TaskCommand::Assign { .. }
            | TaskCommand::Note { .. }
            | TaskCommand::Step { .. }
            | TaskCommand::Block { .. }
            | TaskCommand::Done { .. }
            | TaskCommand::Verify { .. }
            | TaskCommand::Reopen { .. }
            | TaskCommand::Drop { .. } => Vec::new(),
        };
        let asked = command.task();
        let about = self.command(caller, Command::Task(Box::new(command))).await;
        let about = match about {
            // One that has left memory is over; one that never was is not.
            Err(ProblemResponse(problem)) if problem.kind == "no-such-task" => {
                self.known_task(asked).await?;
                return Err(ProblemResponse(problems::over(asked)));
            }
            about => about?,
        };
        let first = about.iter().find_map(|entity| match entity {
            Entity::Task(id) => Some(*id),
            Entity::Node(_)
            | Entity::Agent(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Message(_)
            | Entity::Post(_)
            | Entity::Job(_)
            | Entity::Role(_)
            | Entity::Signal(_)
            | Entity::Escalation(_) => None,
        });
        let mut tasks = Vec::new();
        for id in first.into_iter().chain(parts) {
            tasks.push(self.known_task(id).await?);
        }
        self.shown_tasks(caller, tasks).await
    }

    async fn change(
        &self,
        caller: Caller,
        request: TaskRequest,
    ) -> Result<TaskCommand, ProblemResponse> {
        let missing = |what: &str, action| ProblemResponse(problems::missing(what, action));
        let id = request.id.as_deref().ok_or_else(|| missing("the task's id", "ACTION"))?;
        let task = task_id(id)?;
        let spent = self.spent(caller).await?;
        Ok(match request.action {
            TaskAction::Take => TaskCommand::Take { task, spent },
            TaskAction::Assign => {
                let to = request.to.ok_or_else(|| missing("to whom", "assign"))?;
                let project = self.known_task(task).await?.brief.project;
                TaskCommand::Assign { task, to: queue(&to, &project)? }
            }
            TaskAction::Note => {
                let text = request.text.ok_or_else(|| missing("the note", "note"))?;
                TaskCommand::Note { task, body: body(&text)? }
            }
            TaskAction::Step => {
                let step = step_wanted(request.text, request.step, request.undo)?;
                TaskCommand::Step { task, step }
            }
            TaskAction::Block => {
                let on = blocked_on(request.on.as_deref())?;
                let reason = request.text.filter(|text| !text.trim().is_empty());
                let reason = reason.ok_or_else(|| missing("the reason", "block"))?;
                TaskCommand::Block { task, on, reason: words("reason", Some(reason))? }
            }
            TaskAction::Done => {
                let check = self.resolved(task).await?;
                let reason = words("summary", request.text)?;
                TaskCommand::Done { task, reason, check, spent }
            }
            action @ (TaskAction::Verify | TaskAction::Reject) => {
                let is_done = action == TaskAction::Verify;
                TaskCommand::Verify { task, is_done, reason: words("reason", request.text)? }
            }
            TaskAction::Split => {
                let titles = (0..).zip(&request.steps);
                let part = |(place, step): (u128, &perennial_api::task::NewTaskStep)| {
                    Ok::<_, ProblemResponse>((
                        new_id(place),
                        line("title", &step.text, TITLE_LIMIT)?,
                    ))
                };
                let into = titles.map(part).collect::<Result<Vec<_>, _>>()?;
                TaskCommand::Split { task, into }
            }
            TaskAction::Reopen => {
                let known = self.known_task(task).await?;
                TaskCommand::Reopen {
                    task,
                    reason: words("reason", request.text)?,
                    recalled: Some(Box::new(known)),
                    successor: new_id(0),
                }
            }
            TaskAction::Drop | TaskAction::Add => {
                TaskCommand::Drop { task, reason: words("reason", request.text)? }
            }
        })
    }

    /// How the check of a task would be run now.
    async fn resolved(&self, id: TaskId) -> Result<Resolution, ProblemResponse> {
        let task = self.known_task(id).await?;
        let worker = task.worker;
        let dir = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            worker.and_then(|id| fleet.agent(id)).map(|agent| agent.launch.dir.clone())
        });
        let dir = dir.await?.unwrap_or_else(|| {
            project_file::work_tree(Path::new(&task.brief.project)).to_string_lossy().into_owned()
        });
        let (argv, limit) = match &task.brief.check {
            None => return Ok(Resolution::None),
            Some(CheckSpec::Command { argv, limit }) => (argv.clone(), *limit),
            Some(CheckSpec::Named(name)) => {
                let project = Path::new(&task.brief.project);
                let Ok(all) = Checks::of(&self.checks, &self.home.config, project) else {
                    let why = "perennial.toml of the project has a mistake".to_owned();
                    return Ok(Resolution::NotRunnable(why));
                };
                match all.trusted(name.as_str()) {
                    Ok(check) => (check.command.clone(), check.limit.unwrap_or(CHECK_LIMIT)),
                    Err(NoCheck::Unknown) => {
                        let why = format!("no check is called {name}");
                        return Ok(Resolution::NotRunnable(why));
                    }
                    Err(NoCheck::NotTrusted { .. }) => {
                        let why = "the project's checks are not trusted: `perennial config trust`";
                        return Ok(Resolution::NotRunnable(why.to_owned()));
                    }
                }
            }
        };
        Ok(Resolution::Run(JobCommand { argv, dir, limit }))
    }

    /// What the calling agent has spent in all, where somebody counted.
    async fn spent(&self, caller: Caller) -> Result<Option<u64>, ProblemResponse> {
        let Caller::Agent(id) = caller else { return Ok(None) };
        let look = move |view: &FleetView<'_>| {
            let used = view.spending.of(id)?.tokens;
            Some(used.input + used.output + used.cache_read + used.cache_write)
        };
        Ok(self.driver.look(look).await?)
    }
}

fn step_wanted(
    text: Option<String>,
    step: Option<u32>,
    undo: bool,
) -> Result<StepWanted, ProblemResponse> {
    Ok(match (text, step, undo) {
        (Some(text), _, _) => StepWanted::Add(line("step", &text, STEP_BYTES_MAX)?),
        (None, Some(step), true) => StepWanted::NotDone(step),
        (None, step, false) => StepWanted::Done(step),
        (None, None, true) => {
            return Err(ProblemResponse(problems::missing("the step", "step --undo")));
        }
    })
}

fn blocked_on(word: Option<&str>) -> Result<BlockedOn, ProblemResponse> {
    match word {
        None | Some("work") => Ok(BlockedOn::Work),
        Some("outside") => Ok(BlockedOn::Outside),
        Some(_) => {
            let why = "a task is blocked on work or on outside";
            Err(ProblemResponse(problems::bad("--on", why)))
        }
    }
}
