//! Tasks in a list: those that are not over from memory, the others by the table of tasks.

use axum::extract::State;
use perennial_api::task::{Task as Wire, TaskFilter, TaskList};
use perennial_core::authority::Caller;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::reason::Verb;
use perennial_core::task::Task;
use perennial_core::vocabulary::TaskCondition;
use perennial_store::{Store, TaskQuery, recall_task};

use super::answer::{Answer, ProblemResponse};
use super::extract::{CallerIdentity, Query};
use super::form::Form;
use super::waiting::project_of;
use super::{Shared, Surface};
use crate::daemon::driving::driver::FleetView;
use crate::daemon::showing::problems::task as problems;
use crate::daemon::showing::task as showing;
use crate::daemon::surface::checks;

const LISTED: usize = 50;
const LISTED_MAX: usize = 1000;
/// The states that tasks leave memory in.
const OVER: [&str; 2] = ["verified", "dropped"];

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(filter): Query<TaskFilter>,
) -> Answer {
    let form = Form::of(filter.vocabulary.as_deref())?;
    form.tasks(&surface.tasks(caller, filter).await?)
}

/// Whether a task in memory is of those that are asked for, whatever its state.
fn is_of(task: &Task, query: &TaskQuery) -> bool {
    query.project.as_ref().is_none_or(|project| *project == task.brief.project)
        && query.agent.is_none_or(|agent| task.assignee() == Some(agent))
        && query.role.as_ref().is_none_or(|role| task.queue.role().as_ref() == Some(role))
        && query.before.is_none_or(|before| task.id < before)
}

impl Surface {
    /// Tasks that fit, those added last first.
    pub async fn tasks(
        &self,
        caller: Caller,
        filter: TaskFilter,
    ) -> Result<TaskList, ProblemResponse> {
        self.authorise(caller, Verb::Task, None).await?;
        let TaskFilter { dir, state, agent, role, loops, before, limit, vocabulary } = filter;
        let form = Form::of(vocabulary.as_deref())?;
        let limit = limit.unwrap_or(LISTED).clamp(1, LISTED_MAX);
        let project = match dir {
            Some(dir) => Some(project_of(dir).await?),
            None => None,
        };
        let agent = match agent {
            Some(target) => Some(self.find(caller, target).await?.id.parse::<AgentId>()),
            None => None,
        };
        let agent = agent.transpose().map_err(|_| ProblemResponse(problems::no_such_task("")))?;
        let role = role.map(|role| form.our_role(role));
        let role = role.as_deref().map(checks::role).transpose()?.map(|role| role.key());
        let before = match before {
            Some(id) => Some(self.task_id(&id).await?),
            None => None,
        };
        let all = state.as_deref() == Some("all");
        let wanted = form.task_conditions(state.filter(|_| !all).as_deref())?;
        let query = TaskQuery { project, state: None, agent, role, before, limit: limit + 1 };
        let fits = {
            let (query, wanted) = (query.clone(), wanted.clone());
            move |task: &Task| {
                let is_asked = match &wanted {
                    Some(wanted) => wanted.contains(&TaskCondition::of(&task.state)),
                    None => all || !task.is_over(),
                };
                let is_loop = task.open_loop.is_some() && !task.is_over();
                is_asked && is_of(task, &query) && (!loops || is_loop)
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
        let is_wanted = |state: &&str| match &wanted {
            Some(wanted) => wanted.iter().any(|one| one.our_word() == *state),
            None => all,
        };
        let over: Vec<&'static str> =
            OVER.into_iter().filter(|state| !loops && is_wanted(state)).collect();
        if !over.is_empty() {
            let known: Vec<TaskId> = found.iter().map(|task| task.id).collect();
            let read = move |journal: &dyn Store| over_ones(journal, &query, &over);
            let is_asked = |task: &Task| {
                let condition = TaskCondition::of(&task.state);
                wanted.as_ref().is_none_or(|wanted| wanted.contains(&condition))
            };
            let mut over = self.read(read).await?;
            over.retain(|task| is_asked(task) && !known.contains(&task.id));
            found.extend(over);
            found.sort_by_key(|task| std::cmp::Reverse(task.id));
        }
        let has_older = found.len() > limit;
        found.truncate(limit);
        Ok(TaskList { has_older, tasks: self.shown_tasks(caller, found).await? })
    }

    pub(super) async fn shown_tasks(
        &self,
        caller: Caller,
        tasks: Vec<Task>,
    ) -> Result<Vec<Wire>, ProblemResponse> {
        let look = move |view: &FleetView<'_>| {
            let fleet = view.supervisor.fleet();
            tasks.iter().map(|task| showing::task(fleet, task, caller)).collect::<Vec<Wire>>()
        };
        let mut shown = self.driver.look(look).await?;
        self.name_in_tasks(&mut shown).await?;
        Ok(shown)
    }
}

/// Those in these states, each folded from its own records.
fn over_ones(
    journal: &dyn Store,
    query: &TaskQuery,
    states: &[&str],
) -> Result<Vec<Task>, perennial_store::ReadError> {
    let mut found = Vec::new();
    for state in states {
        let query = TaskQuery { state: Some((*state).to_owned()), ..query.clone() };
        for row in journal.tasks(&query)? {
            found.extend(recall_task(journal, row.task)?);
        }
    }
    Ok(found)
}
