//! Tasks: what is asked of one is checked here and decided by the core. Those that are not over are in memory; the others
//! are found by the table of tasks, and each is folded from its own records.
//!
//! A check is resolved here, when it is to run: by its name, from configuration that is trusted as it is now.

use std::path::Path;

use axum::extract::State;
use perennial_api::query;
use perennial_api::task::{
    NewTaskStep, TEXT_LIMIT, Task as Wire, TaskAction, TaskNote, TaskPart, TaskRequest, TaskWords,
};
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::id::TaskId;
use perennial_core::job::JobCommand;
use perennial_core::message::Sender;
use perennial_core::reason::Verb;
use perennial_core::task::{
    self, BlockedOn, CHECK_LIMIT, CheckSpec, Resolution, STEP_BYTES_MAX, StepWanted,
    TITLE_BYTES_MAX, Task, TaskCommand, TaskEvent, TaskState,
};
use perennial_core::text::Digest;
use perennial_core::time::Time;
use perennial_store::journal::{ReadError, Version};
use perennial_store::{Store, recall_task, text};

use super::answer::{Answer, ProblemResponse};
use super::extract::{CallerIdentity, Query, Segment};
use super::form::Form;
use super::task_draft::queue;
use super::{Shared, Surface};
use crate::checks::NoCheck;
use crate::daemon::driving::driver::FleetView;
use crate::daemon::showing::problems::task as problems;
use crate::daemon::showing::task as showing;
use crate::daemon::time;
use crate::project_file;

/// At most this many notes are shown with a task.
const NOTES: usize = 20;

pub async fn show(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(id): Segment,
    Query(asked): Query<query::Task>,
) -> Answer {
    let form = Form::of(asked.vocabulary.as_deref())?;
    form.task(&surface.show_task(caller, &id).await?)
}

pub(super) fn line(what: &str, text: &str, most: usize) -> Result<String, ProblemResponse> {
    let text = text.trim();
    match task::is_line(text, most) {
        true => Ok(text.to_owned()),
        false => Err(ProblemResponse(problems::no_line(what, most))),
    }
}

pub(super) fn body(text: &str) -> Result<perennial_core::text::TextBody, ProblemResponse> {
    let why = match text.len() {
        bytes if bytes > TEXT_LIMIT => {
            format!("it has {bytes} bytes, and at most {TEXT_LIMIT} are allowed")
        }
        _ if text.trim().is_empty() => "it is empty".to_owned(),
        _ => return Ok(text::body(text)),
    };
    Err(ProblemResponse(problems::bad("text", &why)))
}

pub(super) fn new_id(place: u128) -> TaskId {
    TaskId(uuid::Uuid::now_v7().as_u128().wrapping_add(place))
}

impl Surface {
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
        let id = self.task_id(id).await?;
        let task = self.known_task(id).await?;
        let digest = task.brief.text.as_ref().map(|text| text.digest);
        let parts = showing::parts(&task).collect();
        let (text, told) = self.read(move |journal| told(journal, id, digest)).await?;
        let look = move |view: &FleetView<'_>| {
            let fleet = view.supervisor.fleet();
            let Told { notes, words } = told;
            let last_notes = notes.into_iter().map(|(at, by, text)| TaskNote {
                by: showing::sender(fleet, by),
                at: time::rfc3339(at),
                text,
            });
            let last_words = words.into_iter().map(|(at, by, change, text)| TaskWords {
                by: showing::sender(fleet, by),
                at: time::rfc3339(at),
                change: change.to_owned(),
                text,
            });
            let (last_notes, last_words) = (last_notes.collect(), last_words.collect());
            Wire { text, last_notes, last_words, ..showing::task(fleet, &task, caller) }
        };
        let mut shown = self.driver.look(look).await?;
        self.name_in_tasks(std::slice::from_mut(&mut shown)).await?;
        self.say_why_unchecked(&mut shown, id).await?;
        shown.part_states = self.part_states(parts).await?;
        Ok(shown)
    }

    /// Where each part of a task stands, those included that have left memory.
    async fn part_states(&self, parts: Vec<TaskId>) -> Result<Vec<TaskPart>, ProblemResponse> {
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let stands = |task: &Task| TaskPart {
            id: task.id.to_string(),
            title: task.brief.title.clone(),
            state: task.state.word().to_owned(),
        };
        let look = move |view: &FleetView<'_>| {
            let tasks = view.supervisor.fleet().tasks();
            let known = |id: TaskId| (id, tasks.get(id).map(stands));
            parts.into_iter().map(known).collect::<Vec<_>>()
        };
        let known = self.driver.look(look).await?;
        let recalled = move |journal: &dyn Store| {
            let part = |(id, known): (TaskId, Option<TaskPart>)| match known {
                Some(known) => Ok(Some(known)),
                None => Ok(recall_task(journal, id)?.as_ref().map(stands)),
            };
            known.into_iter().map(part).collect::<Result<Vec<_>, ReadError>>()
        };
        Ok(self.read(recalled).await?.into_iter().flatten().collect())
    }

    /// Adds to the reason of a task that is not over why its check would not be run, if it would not.
    async fn say_why_unchecked(&self, shown: &mut Wire, id: TaskId) -> Result<(), ProblemResponse> {
        let is_over = matches!(shown.state.as_str(), "verified" | "dropped" | "split");
        if !is_over
            && shown.check.is_some()
            && let Resolution::NotRunnable(why) = self.resolved(id).await?
        {
            shown.reason.push_str(&format!("; its check can't be run ({why})"));
        }
        Ok(())
    }

    /// Does something with a task; what it was about, once that is durable.
    pub async fn task(
        &self,
        caller: Caller,
        request: TaskRequest,
    ) -> Result<Vec<Wire>, ProblemResponse> {
        self.authorise(caller, Verb::Task, None).await?;
        let action = request.action;
        let is_claim = matches!(action, TaskAction::Done | TaskAction::Verify);
        let command = match action {
            TaskAction::Add => self.draft(caller, request).await?,
            TaskAction::Import => self.import(caller, request).await?,
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
            | TaskAction::Drop => self.change(request).await?,
        };
        let parts = match &command {
            TaskCommand::Split { into, .. } => into.iter().map(|(id, _)| *id).collect(),
            TaskCommand::Import { tasks, .. } => tasks.iter().skip(1).map(|one| one.id).collect(),
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
        let id = command.task();
        let about = match self.command(caller, Command::Task(Box::new(command))).await {
            Ok(about) => about,
            Err(problem) => return Err(self.with_holder((caller, action, id), problem).await),
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
        let of_one = tasks.first().filter(|_| is_claim).map(|task| showing::parts(task).collect());
        let mut shown = self.shown_tasks(caller, tasks).await?;
        if let (Some(id), [one]) = (first, &mut shown[..]) {
            self.say_why_unchecked(one, id).await?;
            one.part_states = self.part_states(of_one.unwrap_or_default()).await?;
        }
        Ok(shown)
    }

    async fn change(&self, request: TaskRequest) -> Result<TaskCommand, ProblemResponse> {
        let missing = |what: &str, action| ProblemResponse(problems::missing(what, action));
        let id = request.id.as_deref().ok_or_else(|| missing("the task's id", "ACTION"))?;
        let task = self.task_id(id).await?;
        Ok(match request.action {
            TaskAction::Take => TaskCommand::Take { task },
            TaskAction::Assign => {
                let to = request.to.ok_or_else(|| missing("to whom", "assign"))?;
                let project = self.known_task(task).await?.brief.project;
                TaskCommand::Assign { task, to: queue(&to, &project).await? }
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
                TaskCommand::Block { task, on, reason }
            }
            TaskAction::Done => {
                let check = self.resolved(task).await?;
                let reason = request.text.unwrap_or_default();
                TaskCommand::Done { task, reason, check }
            }
            action @ (TaskAction::Verify | TaskAction::Reject) => {
                let is_done = action == TaskAction::Verify;
                let note =
                    request.text.as_deref().filter(|text| is_done && !text.trim().is_empty());
                let note = note.map(body).transpose()?;
                let reason = request.text.unwrap_or_default();
                TaskCommand::Verify { task, is_done, reason, note }
            }
            TaskAction::Split => {
                let into = parts(&request.steps)?;
                TaskCommand::Split { task, into }
            }
            TaskAction::Reopen => {
                let known = self.known_task(task).await?;
                let note = request.text.as_deref().filter(|text| !text.trim().is_empty());
                TaskCommand::Reopen {
                    task,
                    note: note.map(body).transpose()?,
                    reason: request.text.unwrap_or_default(),
                    recalled: Some(Box::new(known)),
                    successor: new_id(0),
                }
            }
            TaskAction::Drop => {
                let verified = self.verified_beside(task).await?;
                TaskCommand::Drop { task, reason: request.text.unwrap_or_default(), verified }
            }
            TaskAction::Add | TaskAction::Import => panic!("{:?} changes no task", request.action),
        })
    }

    /// Which parts of the whole that a task is a part of are verified and have left memory. Of those that leave it between
    /// this and the decision the core itself knows.
    async fn verified_beside(&self, id: TaskId) -> Result<Vec<TaskId>, ProblemResponse> {
        let left = self.driver.look(move |view| {
            let tasks = view.supervisor.fleet().tasks();
            let whole = tasks.get(id).and_then(|task| tasks.get(task.brief.parent?));
            let parts = whole.into_iter().flat_map(|whole| whole.parts.iter().copied());
            parts.filter(|part| tasks.get(*part).is_none()).collect::<Vec<TaskId>>()
        });
        let left = left.await?;
        let recalled = move |journal: &dyn Store| {
            let parts = left.into_iter().map(|part| recall_task(journal, part));
            parts.collect::<Result<Vec<Option<Task>>, _>>()
        };
        let is_verified = |part: &Task| matches!(part.state, TaskState::Verified(_));
        let parts = self.read(recalled).await?.into_iter().flatten();
        Ok(parts.filter(is_verified).map(|part| part.id).collect())
    }

    /// How the check of a task would be run now.
    async fn resolved(&self, id: TaskId) -> Result<Resolution, ProblemResponse> {
        let task = self.known_task(id).await?;
        let worker = task.assignee();
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
                let Ok(all) = self.checks_of(&task.brief.project).await? else {
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
}

/// The parts that a task is split into, each with an id of its own.
fn parts(titles: &[NewTaskStep]) -> Result<Vec<(TaskId, String)>, ProblemResponse> {
    let part = |(place, step): (u128, &NewTaskStep)| {
        Ok((new_id(place), line("title", &step.text, TITLE_BYTES_MAX)?))
    };
    (0..).zip(titles).map(part).collect()
}

/// What was written to a task, and said of it when its state changed; the newest of each.
#[derive(Default)]
struct Told {
    notes: Vec<(Time, Sender, String)>,
    words: Vec<(Time, Sender, &'static str, String)>,
}

/// The text of a task, and what is told of it by its own records.
fn told(
    journal: &dyn Store,
    id: TaskId,
    digest: Option<Digest>,
) -> Result<(Option<String>, Told), ReadError> {
    let text = digest.map(|digest| journal.text(digest)).transpose()?.flatten();
    let (mut notes, mut words, mut after) = (Vec::new(), Vec::new(), Version(0));
    loop {
        let records = journal.read_stream(&Entity::Task(id), after, 1000)?;
        let Some(last) = records.last() else { break };
        after = last.version;
        for record in records {
            let Ok(Event { at, what: What::Task(_, event) }) = record.event else { continue };
            if let TaskEvent::Noted { by, text } = &event {
                notes.push((at, *by, text.digest));
            }
            let said = showing::said(&event).filter(|(_, _, text)| !text.trim().is_empty());
            words.extend(said.map(|(by, change, text)| (at, by, change, text.to_owned())));
        }
    }
    let newest = notes.split_off(notes.len().saturating_sub(NOTES));
    let words = words.split_off(words.len().saturating_sub(NOTES));
    let mut told = Told { notes: Vec::new(), words };
    for (at, by, digest) in newest {
        told.notes.push((at, by, journal.text(digest)?.unwrap_or_default()));
    }
    Ok((text, told))
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
