//! The tasks that are not over, with whose they are: what an agent is on is found at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fold::{begun, fold};
use super::{Task, TaskEvent};
use crate::entity::Entity;
use crate::id::{AgentId, TaskId};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tasks {
    all: BTreeMap<TaskId, Arc<Task>>,
    /// Those that each agent has, or that lie on its queue.
    of: BTreeMap<AgentId, BTreeSet<TaskId>>,
    /// The one that each agent is on (TK1).
    current: BTreeMap<AgentId, TaskId>,
    /// Who waits for a task that is not over.
    dependants: BTreeMap<TaskId, BTreeSet<TaskId>>,
}

impl Tasks {
    /// These are all tasks that are not over.
    pub fn restore(tasks: impl IntoIterator<Item = Task>) -> Tasks {
        let mut restored = Tasks::default();
        tasks.into_iter().for_each(|task| restored.keep(Arc::new(task)));
        restored
    }

    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.all.get(&id).map(|task| &**task)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.all.values().map(|task| &**task)
    }

    /// The task that an agent is on.
    pub fn current(&self, agent: AgentId) -> Option<&Task> {
        self.get(*self.current.get(&agent)?)
    }

    /// What is not over of what an agent has, and what lies on its queue, the oldest first.
    pub fn of(&self, agent: AgentId) -> impl Iterator<Item = &Task> {
        let ids = self.of.get(&agent).into_iter().flatten();
        ids.filter_map(|id| self.get(*id)).filter(|task| !task.is_over())
    }

    /// The tasks that name this one as a dependency and are not over.
    pub fn dependants(&self, id: TaskId) -> impl Iterator<Item = &Task> {
        let ids = self.dependants.get(&id).into_iter().flatten();
        ids.filter_map(|id| self.get(*id)).filter(|task| !task.is_over())
    }

    /// Takes over another fleet's copy of a task that is equal to this one's.
    pub fn share(&mut self, other: &Tasks, id: TaskId) {
        if let Some(task) = other.all.get(&id) {
            self.keep(Arc::clone(task));
        }
    }

    /// Forgets a task that is over.
    pub fn retire(&mut self, id: TaskId) {
        if let Some(task) = self.all.remove(&id) {
            self.unlist(&task);
        }
    }

    /// Folds one event; returns what to plan again.
    pub fn evolve(&mut self, id: TaskId, event: &TaskEvent, at: Time) -> Vec<Entity> {
        let task = match (self.all.remove(&id), event) {
            (None, TaskEvent::Added { by, brief }) => Some(Arc::new(begun(id, *by, brief, at))),
            (None, _) => None,
            (Some(mut task), event) => {
                self.unlist(&task);
                fold(Arc::make_mut(&mut task), event, at);
                Some(task)
            }
        };
        if let Some(task) = task {
            self.keep(task);
        }
        vec![Entity::Task(id)]
    }

    fn keep(&mut self, task: Arc<Task>) {
        if let Some(before) = self.all.remove(&task.id) {
            self.unlist(&before);
        }
        if let Some(agent) = task.assignee() {
            self.of.entry(agent).or_default().insert(task.id);
        }
        if let Some(agent) = task.on_it() {
            self.current.insert(agent, task.id);
        }
        for on in &task.brief.dependencies {
            self.dependants.entry(*on).or_default().insert(task.id);
        }
        self.all.insert(task.id, task);
    }

    fn unlist(&mut self, task: &Task) {
        let remove = |lists: &mut BTreeMap<AgentId, BTreeSet<TaskId>>, agent| {
            if let Some(list) = lists.get_mut(&agent) {
                list.remove(&task.id);
                if list.is_empty() {
                    lists.remove(&agent);
                }
            }
        };
        if let Some(agent) = task.assignee() {
            remove(&mut self.of, agent);
        }
        if let Some(agent) = task.on_it()
            && self.current.get(&agent) == Some(&task.id)
        {
            self.current.remove(&agent);
        }
        for on in &task.brief.dependencies {
            if let Some(list) = self.dependants.get_mut(on) {
                list.remove(&task.id);
                if list.is_empty() {
                    self.dependants.remove(on);
                }
            }
        }
    }
}
