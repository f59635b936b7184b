//! Tasks as agents ask for them by their own tool, and as a model reads them: others' words, harmless and bounded.

use perennial_api::task::{NewTaskStep, Task, TaskAction, TaskFilter, TaskPart, TaskRequest};
use perennial_api::tool::{self, TaskToolAction};
use perennial_core::authority::Caller;
use perennial_core::id::AgentId;
use perennial_engine::harness::mail_texts;
use perennial_engine::harness::session_texts::quoted;
use serde_json::{Value, json};

use super::Surface;
use super::answer::ProblemResponse;
use super::mcp::{LONGEST_SHOWN, OTHERS_WORDS};
use crate::daemon::driving::driver::FleetView;
use crate::daemon::showing::problems;

/// At most this many parts of a task are shown.
const PARTS_SHOWN: usize = 30;
/// At most this many tasks are listed at once …
const LISTED: usize = 30;
/// … and what a title, a step and a reason may take.
const LINE_BYTES: usize = 300;

impl Surface {
    /// What an agent asks of tasks.
    pub async fn task_tool(
        &self,
        own: AgentId,
        asked: tool::Task,
    ) -> Result<Value, ProblemResponse> {
        let caller = Caller::Agent(own);
        let current = move |view: &FleetView<'_>| {
            view.supervisor.fleet().tasks().current(own).map(|task| task.id.to_string())
        };
        let current = self.driver.look(current).await?;
        let id = asked.id.clone().or_else(|| current.clone());
        let action = match asked.action {
            TaskToolAction::List => return self.listed_for(caller, own, current).await,
            TaskToolAction::Loops => return self.loops_of(caller, own).await,
            TaskToolAction::Show => {
                let missing = || ProblemResponse(problems::argument_missing("id"));
                let task = self.show_task(caller, &id.ok_or_else(missing)?).await?;
                return Ok(json!({ "note": OTHERS_WORDS, "task": whole(&task) }));
            }
            TaskToolAction::Add => TaskAction::Add,
            TaskToolAction::Take => TaskAction::Take,
            TaskToolAction::Assign => TaskAction::Assign,
            TaskToolAction::Note => TaskAction::Note,
            TaskToolAction::Step => TaskAction::Step,
            TaskToolAction::Block => TaskAction::Block,
            TaskToolAction::Done => TaskAction::Done,
            TaskToolAction::Verify => TaskAction::Verify,
            TaskToolAction::Reject => TaskAction::Reject,
            TaskToolAction::Split => TaskAction::Split,
            TaskToolAction::Reopen => TaskAction::Reopen,
            TaskToolAction::Drop => TaskAction::Drop,
        };
        let step = |text: String| NewTaskStep { text, done: false };
        let request = TaskRequest {
            action,
            id: if action == TaskAction::Add { None } else { id },
            title: asked.title,
            text: asked.text,
            steps: asked.items.into_iter().map(step).collect(),
            to: asked.to,
            check: asked.check,
            step: asked.step,
            on: asked.on,
            estimate_tokens: asked.estimate_tokens,
            estimate_steps: asked.estimate_steps,
            depends_on: asked.depends_on,
            parent: asked.parent,
            reference: asked.reference,
            scope: asked.scope,
            ..TaskRequest::default()
        };
        let tasks = self.task(caller, request).await?;
        let shown: Vec<Value> = tasks.iter().map(brief).collect();
        Ok(json!({ "note": OTHERS_WORDS, "tasks": shown }))
    }

    /// The open loops that an agent was told of last, and may take up.
    async fn loops_of(&self, caller: Caller, own: AgentId) -> Result<Value, ProblemResponse> {
        let told = move |view: &FleetView<'_>| {
            let tasks = view.supervisor.fleet().tasks();
            tasks.loops_told(own).take(LISTED + 1).cloned().collect::<Vec<_>>()
        };
        let mut told = self.driver.look(told).await?;
        let has_more = told.len() > LISTED;
        told.truncate(LISTED);
        let told = self.shown_tasks(caller, told).await?;
        let shown = |task: &Task| {
            let mut value = brief(task);
            value["left_by"] = task.open_loop.as_ref().map(|it| line(&it.from)).into();
            value
        };
        let loops: Vec<Value> = told.iter().map(shown).collect();
        Ok(json!({ "note": OTHERS_WORDS, "loops": loops, "has_more": has_more }))
    }

    /// What an agent has, and what it may take.
    async fn listed_for(
        &self,
        caller: Caller,
        own: AgentId,
        current: Option<String>,
    ) -> Result<Value, ProblemResponse> {
        let agent = self.find(caller, own.to_string()).await?;
        let filter = |filter: TaskFilter| TaskFilter { limit: Some(LISTED), ..filter };
        let of = Some(own.to_string());
        let mine = self.tasks(caller, filter(TaskFilter { agent: of, ..TaskFilter::default() }));
        let mine = mine.await?.tasks;
        let dir = Some(agent.dir.clone());
        let open = Some("open".to_owned());
        let of_project = TaskFilter { dir, state: open.clone(), ..TaskFilter::default() };
        let mut free = self.tasks(caller, filter(of_project)).await?.tasks;
        free.retain(|task| task.assignee.is_none() && task.waits_for.is_empty());
        if let Some(role) = agent.role {
            let of_role = TaskFilter { role: Some(role), state: open, ..TaskFilter::default() };
            free.extend(self.tasks(caller, filter(of_role)).await?.tasks);
        }
        let shown = |tasks: &[Task]| tasks.iter().take(LISTED).map(brief).collect::<Vec<Value>>();
        Ok(json!({
            "note": OTHERS_WORDS,
            "current": current,
            "yours": shown(&mine),
            "to_take": shown(&free),
        }))
    }
}

fn line(text: &str) -> String {
    let quoted = quoted(text, LINE_BYTES);
    quoted.trim_start_matches('“').trim_end_matches('”').to_owned()
}

fn brief(task: &Task) -> Value {
    let open = task.steps.iter().position(|step| !step.done);
    let step = open.map(|at| format!("{}: {}", at + 1, line(&task.steps[at].text)));
    json!({
        "id": task.id,
        "title": line(&task.title),
        "state": task.state,
        "reason": line(&task.reason),
        "assignee": task.assignee.as_deref().map(line),
        "open_step": step,
        "steps": format!("{} of {} done", task.steps_done, task.steps.len()),
    })
}

fn whole(task: &Task) -> Value {
    let mut value = brief(task);
    let cut =
        |text: &str, bytes: usize| mail_texts::lines(&text[..text.floor_char_boundary(bytes)]);
    let steps: Vec<Value> = task
        .steps
        .iter()
        .map(|step| json!({ "text": line(&step.text), "done": step.done }))
        .collect();
    let notes = task.last_notes.iter().rev().take(5).rev();
    let notes: Vec<Value> =
        notes.map(|note| json!({ "by": line(&note.by), "text": cut(&note.text, 1000) })).collect();
    value["steps"] = steps.into();
    value["notes"] = notes.into();
    value["text"] = task.text.as_deref().map(|text| cut(text, LONGEST_SHOWN / 2)).into();
    value["scope"] = task.scope.iter().map(|path| line(path)).collect::<Vec<_>>().into();
    value["reference"] = task.reference.as_deref().map(line).into();
    value["check"] = task.check.clone().into();
    value["rounds"] = format!("{} of {}", task.rounds, task.rounds_max).into();
    value["depends_on"] = task.waits_for.clone().into();
    let part =
        |part: &TaskPart| json!({ "id": part.id, "state": part.state, "title": line(&part.title) });
    value["parts"] = task.part_states.iter().take(PARTS_SHOWN).map(part).collect::<Vec<_>>().into();
    value["parent"] = task.parent.clone().into();
    if let Some(check) = &task.last_check {
        value["last_check"] = json!({ "end": check.end, "output": cut(&check.output, 4096) });
    }
    value
}
