//! Whose word verifies a task (TK3): nobody's who had it, nor that of an agent below one who had it.
//!
//! Pure. Who has ever had a task is folded from its own events; those who had a task that it takes up again are in its brief.

use super::batch::Batch;
use super::{LEVELS_MAX, Queue, Task, TaskEvent, TaskRefusal, TaskState};
use crate::id::{AgentId, TaskId};
use crate::message::{Mailbox, Sender};

/// At most this many agents are known by a task as those that had it; beyond that, a person verifies it.
pub const HAD_BY_MAX: usize = 64;

impl Task {
    /// Every agent whose work it was: who was on it, and on whose queue somebody else has put it.
    pub fn had(&self) -> impl Iterator<Item = AgentId> {
        self.had_by.iter().copied().chain(self.worker).chain(self.entrusted())
    }

    /// The agent on whose queue it lies and that did not put it there itself.
    fn entrusted(&self) -> Option<AgentId> {
        match (&self.state, &self.queue) {
            (TaskState::Open, Queue::Agent(owner)) if self.by != Sender::Agent(*owner) => {
                Some(*owner)
            }
            (_, Queue::Nobody | Queue::Agent(_) | Queue::Role(_)) => None,
        }
    }

    /// Whoever has it before this event and not after it.
    pub(super) fn remember(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::Taken { agent, .. } | TaskEvent::Returned { agent, .. } => {
                self.leaves_for(Some(*agent));
            }
            TaskEvent::Queued { .. } | TaskEvent::Reopened { .. } | TaskEvent::Left { .. } => {
                self.leaves_for(None);
            }
            // Whose queue it lies on is asked for only while it is open.
            TaskEvent::Blocked { .. } | TaskEvent::Claimed { .. } | TaskEvent::Split { .. } => {
                self.had_by_now(self.entrusted());
            }
            TaskEvent::Added { .. }
            | TaskEvent::Continued { .. }
            | TaskEvent::Noted { .. }
            | TaskEvent::Stepped { .. }
            | TaskEvent::Counted { .. }
            | TaskEvent::CheckWanted { .. }
            | TaskEvent::CheckEnded { .. }
            | TaskEvent::Verified { .. }
            | TaskEvent::PartAdded { .. }
            | TaskEvent::Dropped { .. }
            | TaskEvent::Raised { .. } => {}
        }
    }

    /// It goes to `next`, or to a queue: whoever has it is remembered.
    fn leaves_for(&mut self, next: Option<AgentId>) {
        let had = [self.worker, self.entrusted()];
        self.had_by_now(had.into_iter().flatten().filter(|had| Some(*had) != next));
    }

    fn had_by_now(&mut self, agents: impl IntoIterator<Item = AgentId>) {
        for agent in agents {
            if !self.had_by.contains(&agent) && self.had_by.len() <= HAD_BY_MAX {
                self.had_by.push(agent);
            }
        }
    }
}

impl Batch<'_> {
    /// Why an agent's word does not make a task done: it had the task itself, or an agent had it that it is not above.
    pub fn may_accept(&self, agent: AgentId, task: &Task) -> Result<(), TaskRefusal> {
        for task in self.with_wholes(task) {
            if task.had().any(|had| had == agent) {
                return Err(TaskRefusal::OwnWork);
            }
            // Who is in the cemetery has nobody verify anything any more.
            let is_below = |had: AgentId| self.fleet.guardians(had).any(|above| above.id == agent);
            let other = task.had().find(|had| self.present(*had).is_some() && !is_below(*had));
            match other {
                Some(agent) => return Err(TaskRefusal::NotAbove { agent }),
                None if task.had_by.len() > HAD_BY_MAX => return Err(TaskRefusal::OwnWork),
                None => {}
            }
        }
        Ok(())
    }

    /// Whether every agent that had a task has a role whose word counts.
    pub fn is_had_by(&self, task: &Task, is_trusted: impl Fn(AgentId) -> bool) -> bool {
        let all = self.with_wholes(task).flat_map(Task::had);
        all.filter(|had| self.present(*had).is_some()).all(is_trusted)
    }

    /// A task, and those that are verified by it: what it was split from, as far up as that goes.
    fn with_wholes<'t>(&'t self, task: &'t Task) -> impl Iterator<Item = &'t Task> {
        let whole = |part: &&'t Task| {
            let id: TaskId = part.id;
            self.task(part.brief.parent?).filter(|whole| whole.parts.contains(&id))
        };
        std::iter::successors(Some(task), whole).take(LEVELS_MAX + 1)
    }

    /// Who is asked whether a claimed task is done: the nearest ancestor of its worker whose word counts, else the operator.
    pub fn verifier(&self, task: &Task) -> Mailbox {
        let mut guardians = task.worker.into_iter().flat_map(|id| self.fleet.guardians(id));
        let fits = guardians.find(|above| {
            self.present(above.id).is_some() && self.may_accept(above.id, task).is_ok()
        });
        fits.map_or(Mailbox::Operator, |above| Mailbox::Agent(above.id))
    }
}
