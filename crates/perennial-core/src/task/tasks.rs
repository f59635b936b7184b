//! The tasks that are not over, with whose they are: what an agent is on is found at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fold::{begun, fold};
use super::{Task, TaskEvent, TaskState};
use crate::entity::Entity;
use crate::id::{AgentId, TaskId};
use crate::name::NameKey;
use crate::time::Time;

#[derive(Debug, Clone, Default)]
pub struct Tasks {
    all: BTreeMap<TaskId, Arc<Task>>,
    /// Those that each agent has, or that lie on its queue.
    of: BTreeMap<AgentId, BTreeSet<TaskId>>,
    /// The one that each agent is on (TK1).
    current: BTreeMap<AgentId, TaskId>,
    /// Those that lie on a role's queue and are open.
    of_roles: BTreeMap<NameKey, BTreeSet<TaskId>>,
    /// The open loops that each agent was told of.
    told: BTreeMap<AgentId, BTreeSet<TaskId>>,
    /// What each agent has added that is not over.
    added: BTreeMap<AgentId, BTreeSet<TaskId>>,
    /// The tasks that take up a finished one.
    successors: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// Verified parts of tasks in memory that have left memory since this daemon started. Those of earlier are looked up
    /// in the journal by whoever needs them.
    left_verified: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// Who waits for a task that is not over.
    dependants: BTreeMap<TaskId, BTreeSet<TaskId>>,
}

/// What left memory, and when, is no part of what the journal says.
impl PartialEq for Tasks {
    fn eq(&self, other: &Tasks) -> bool {
        self.all == other.all
            && self.of == other.of
            && self.current == other.current
            && self.of_roles == other.of_roles
            && self.told == other.told
            && self.added == other.added
            && self.successors == other.successors
            && self.dependants == other.dependants
    }
}

impl Eq for Tasks {}

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

    /// The same for another thread: as it is now, whatever becomes of it.
    pub fn copy(&self, id: TaskId) -> Option<Arc<Task>> {
        self.all.get(&id).map(Arc::clone)
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

    /// The open tasks on a role's queue, the oldest first.
    pub fn on_queue_of(&self, role: &NameKey) -> impl Iterator<Item = &Task> {
        let ids = self.of_roles.get(role).into_iter().flatten();
        ids.filter_map(|id| self.get(*id))
    }

    /// Whether an agent was told of an open loop that nobody has taken up.
    pub fn has_told(&self, agent: AgentId) -> bool {
        self.told.contains_key(&agent)
    }

    /// The open loops that an agent was told of and that nobody has taken up, the oldest first.
    pub fn loops_told(&self, agent: AgentId) -> impl Iterator<Item = &Task> {
        let ids = self.told.get(&agent).into_iter().flatten();
        ids.filter_map(|id| self.get(*id))
    }

    /// The agents for whom it matters what becomes of a task: whose it is, and who was told of it.
    fn concerned(task: &Task) -> impl Iterator<Item = AgentId> {
        let told = loop_told(task);
        task.assignee().into_iter().chain(told)
    }

    /// How many tasks an agent has added that are not over.
    pub fn unfinished_of(&self, agent: AgentId) -> usize {
        self.added.get(&agent).map_or(0, BTreeSet::len)
    }

    /// The tasks that name this one as a dependency and are not over.
    pub fn dependants(&self, id: TaskId) -> impl Iterator<Item = &Task> {
        let ids = self.dependants.get(&id).into_iter().flatten();
        ids.filter_map(|id| self.get(*id)).filter(|task| !task.is_over())
    }

    /// The task that takes up a finished one, while it is not over itself.
    pub fn successor(&self, id: TaskId) -> Option<TaskId> {
        let ids = self.successors.get(&id).into_iter().flatten();
        ids.copied().find(|id| self.get(*id).is_some_and(|task| !task.is_over()))
    }

    /// Takes over another fleet's copy of a task that is equal to this one's.
    pub fn share(&mut self, other: &Tasks, id: TaskId) {
        if let Some(task) = other.all.get(&id) {
            self.keep(Arc::clone(task));
        }
    }

    /// Forgets a task that is over.
    pub fn retire(&mut self, id: TaskId) {
        let Some(task) = self.all.remove(&id) else { return };
        self.unlist(&task);
        self.left_verified.remove(&id);
        let whole = task.brief.parent.filter(|whole| self.all.contains_key(whole));
        let is_verified = matches!(task.state, TaskState::Verified(_));
        if let Some(whole) = whole.filter(|_| is_verified) {
            self.left_verified.entry(whole).or_default().insert(id);
        }
    }

    /// Whether a part of a task was verified and has left memory since.
    pub fn has_left_verified(&self, whole: TaskId, part: TaskId) -> bool {
        self.left_verified.get(&whole).is_some_and(|parts| parts.contains(&part))
    }

    /// Folds one event; returns what to plan again.
    pub fn evolve(&mut self, id: TaskId, event: &TaskEvent, at: Time) -> Vec<Entity> {
        let mut agents: BTreeSet<AgentId> =
            self.get(id).into_iter().flat_map(Tasks::concerned).collect();
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
            agents.extend(Tasks::concerned(&task));
            self.keep(task);
        }
        let agents = agents.into_iter().map(Entity::Agent);
        std::iter::once(Entity::Task(id)).chain(agents).collect()
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
        if let Some(role) = role_queue(&task) {
            self.of_roles.entry(role).or_default().insert(task.id);
        }
        if let Some(agent) = loop_told(&task) {
            self.told.entry(agent).or_default().insert(task.id);
        }
        if let Some(agent) = unfinished_of(&task) {
            self.added.entry(agent).or_default().insert(task.id);
        }
        if let Some(finished) = task.brief.reopens {
            self.successors.entry(finished).or_default().insert(task.id);
        }
        for on in &task.brief.dependencies {
            self.dependants.entry(*on).or_default().insert(task.id);
        }
        self.all.insert(task.id, task);
    }

    fn unlist(&mut self, task: &Task) {
        if let Some(agent) = task.assignee() {
            remove(&mut self.of, &agent, task.id);
        }
        if let Some(agent) = task.on_it()
            && self.current.get(&agent) == Some(&task.id)
        {
            self.current.remove(&agent);
        }
        if let Some(role) = role_queue(task) {
            remove(&mut self.of_roles, &role, task.id);
        }
        if let Some(agent) = loop_told(task) {
            remove(&mut self.told, &agent, task.id);
        }
        if let Some(agent) = unfinished_of(task) {
            remove(&mut self.added, &agent, task.id);
        }
        if let Some(finished) = &task.brief.reopens {
            remove(&mut self.successors, finished, task.id);
        }
        for on in &task.brief.dependencies {
            remove(&mut self.dependants, on, task.id);
        }
    }
}

/// Takes a task out of a list; a list without tasks is none.
fn remove<K: Ord>(lists: &mut BTreeMap<K, BTreeSet<TaskId>>, key: &K, task: TaskId) {
    if let Some(list) = lists.get_mut(key) {
        list.remove(&task);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}

/// The agent that has added a task, which is not over.
pub(super) fn unfinished_of(task: &Task) -> Option<AgentId> {
    task.added_by.agent().filter(|_| !task.is_over())
}

/// The role on whose queue a task lies that somebody may take.
fn role_queue(task: &Task) -> Option<NameKey> {
    task.queue.role().filter(|_| task.state == TaskState::Open)
}

/// The agent that was told of an open loop.
fn loop_told(task: &Task) -> Option<AgentId> {
    let open_loop = task.open_loop.as_ref().filter(|_| !task.is_over())?;
    open_loop.to.agent()
}
