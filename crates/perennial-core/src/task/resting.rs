//! Tasks and rest: the next task of a role's queue, and what is told when an agent rests. Changes nothing.

use super::batch::Batch;
use super::letters::{self, NAMED_MAX, TITLE_BYTES, Words, quoted};
use super::{Task, TaskState};
use crate::agent::Agent;
use crate::context::Threshold;
use crate::event::What;
use crate::fleet::Fleet;
use crate::id::{AgentId, TaskId};
use crate::message::Sender;
use crate::rest::Earned;
use crate::role::{self, Span};
use crate::state::Roster;
use crate::text;
use crate::time::Time;

/// The oldest task on its role's queue that an agent may begin. Roles are the fleet's; work is of a project.
pub fn next_of_role(fleet: &Fleet, agent: &Agent) -> Option<TaskId> {
    let role = role::held(agent)?;
    let batch = Batch::new(fleet, agent.since);
    let is_next = |task: &&Task| {
        let is_own = task.state == TaskState::Open && task.brief.project == agent.launch.project;
        is_own && batch.may_begin(agent, task).is_ok()
    };
    fleet.tasks().on_queue_of(&role).find(is_next).map(|task| task.id)
}

/// An agent that has nothing else to do is given a task.
pub fn given_next(fleet: &Fleet, agent: AgentId, task: TaskId, now: Time) -> Vec<What> {
    let mut batch = Batch::new(fleet, now);
    batch.give(Sender::Perennial, agent, task);
    batch.events
}

/// TK7: a window begins for an agent that was given nothing at the end of the last one, and what lies on its queue is next.
/// The fleet does not know of the new window yet; `agent` does.
pub fn window_began(fleet: &Fleet, before: Option<&Agent>, agent: &Agent, now: Time) -> Vec<What> {
    let was_full = before.is_some_and(|it| it.clock.passed >= Some(Threshold::NineTenths));
    if !was_full || agent.state.roster() == Roster::Cemetery {
        return Vec::new();
    }
    let mut batch = Batch::new(fleet, now);
    batch.freed_by_window(agent);
    batch.events
}

/// The letter to whoever answers for an agent that rests.
pub fn told_of_rest(
    fleet: &Fleet,
    agent: &Agent,
    (earned, span): (&Earned, Span),
    now: Time,
) -> What {
    let to = Batch::new(fleet, now).answers_for(Some(agent.id));
    let left: Vec<&Task> = fleet.tasks().iter().filter(|task| is_left(task, agent.id)).collect();
    let words = words(agent, (earned, span), &left);
    let (id, recorded) = letters::letter((earned.task, now), 1, to, &words);
    What::Message(id, recorded)
}

/// What an agent that rests had others do.
fn is_left(task: &Task, agent: AgentId) -> bool {
    task.added_by == Sender::Agent(agent) && !task.is_over()
}

fn words(agent: &Agent, (earned, span): (&Earned, Span), left: &[&Task]) -> Words {
    let who = agent.name.as_ref().map_or_else(|| agent.id.to_string(), ToString::to_string);
    let (subject, becomes) = match span {
        Span::Mortal => ("completed", "its role is mortal, so it is now dead (completed)"),
        Span::Persistent => ("hibernates", "it hibernates until a task lies on its queue"),
    };
    let mut words = format!(
        "{} {} is verified, and nothing is left on the queue of {who}: {becomes}.",
        earned.task,
        quoted(&earned.title)
    );
    match left.len() {
        0 => words.push_str(" No task that it gave to others is open."),
        count => words.push_str(&format!(
            "\nTasks that it gave to others and that are still open ({count}):"
        )),
    }
    for task in left.iter().take(NAMED_MAX) {
        let title = text::quoted(&task.brief.title, TITLE_BYTES);
        words.push_str(&format!("\n{} {title}", task.id));
    }
    Words { subject: format!("{subject}: {who}"), text: words }
}
