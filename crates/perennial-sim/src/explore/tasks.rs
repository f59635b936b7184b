//! Acts on tasks: persons and agents add, assign, claim, verify, split and drop them.

use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::job::JobCommand;
use perennial_core::state::State;
use perennial_core::task::{
    BlockedOn, Brief, Queue, QueueWanted, ROUNDS_MAX, Resolution, Task, TaskCommand, TaskDraft,
};

use super::Explorer;

impl Explorer {
    /// Somebody adds a task, or does something with one that is not over.
    pub(super) fn task(&mut self) {
        if !self.world.policy.roles.is_empty() && self.world.random.per_mille(400) {
            return self.finish_all();
        }
        let all: Vec<Task> = self.world.ledger.record.tasks().iter().cloned().collect();
        let known = self.world.random.pick(&all).cloned();
        let command = match known.filter(|_| self.world.random.per_mille(700)) {
            None => self.new_task(),
            Some(task) => return self.change_task(&task),
        };
        self.ask(Caller::Person, Command::Task(Box::new(command)));
    }

    /// A person says that everything is done that somebody has: nothing keeps that agent from its rest.
    fn finish_all(&mut self) {
        let workers = self.world.ledger.record.tasks().iter().filter_map(Task::on_it);
        let workers: Vec<AgentId> = workers.collect();
        let Some(agent) = self.world.random.pick(&workers).copied() else { return };
        let tasks = self.world.ledger.record.tasks().of(agent).map(|task| task.id);
        for task in tasks.collect::<Vec<TaskId>>() {
            let verify =
                TaskCommand::Verify { task, is_done: true, reason: String::new(), note: None };
            self.ask(Caller::Person, Command::Task(Box::new(verify)));
        }
    }

    fn new_task(&mut self) -> TaskCommand {
        let id = self.world.tasks.new_task();
        let rests = |agent: &&Agent| agent.state == State::Hibernating;
        let resting = self.world.ledger.record.agents().find(rests).map(|agent| agent.id);
        let to = match resting
            .or_else(|| self.somebody())
            .filter(|_| self.world.random.per_mille(800))
        {
            Some(agent) => QueueWanted::Agent(agent.to_string()),
            None => self.role_queue().unwrap_or(QueueWanted::Nobody),
        };
        TaskCommand::Add(Box::new(TaskDraft { to, ..drafted(id) }))
    }

    /// The queue of somebody's role, in worlds that have roles.
    fn role_queue(&mut self) -> Option<QueueWanted> {
        let holder = self.somebody()?;
        let role = self.world.ledger.record.agent(holder)?.role.clone()?.parse().ok()?;
        Some(QueueWanted::Role { role, is_declared: true })
    }

    fn change_task(&mut self, known: &Task) {
        let task = known.id;
        let reason = || "because".to_owned();
        let is_person = self.world.random.per_mille(300);
        let caller = match known.worker.filter(|_| !is_person) {
            Some(worker) => Caller::Agent(worker),
            None => Caller::Person,
        };
        let command = match self.world.random.below(10) {
            0 => TaskCommand::Drop { task, reason: reason(), verified: Vec::new() },
            1 => TaskCommand::Verify { task, is_done: true, reason: reason(), note: None },
            2 => TaskCommand::Verify { task, is_done: false, reason: reason(), note: None },
            3 => {
                let into = [(); 2].map(|()| (self.world.tasks.new_task(), "part".to_owned()));
                TaskCommand::Split { task, into: into.to_vec() }
            }
            4 => TaskCommand::Block { task, on: BlockedOn::Work, reason: reason() },
            5 => match self.somebody() {
                Some(agent) => {
                    TaskCommand::Assign { task, to: QueueWanted::Agent(agent.to_string()) }
                }
                None => return,
            },
            6 => self.reopened(task),
            _ => {
                let has_check = self.world.random.per_mille(700);
                let check = if has_check { Resolution::Run(check()) } else { Resolution::None };
                TaskCommand::Done { task, reason: reason(), check }
            }
        };
        self.ask(caller, Command::Task(Box::new(command)));
    }

    fn reopened(&mut self, task: TaskId) -> TaskCommand {
        let successor = self.world.tasks.new_task();
        TaskCommand::Reopen {
            task,
            reason: "again".to_owned(),
            recalled: None,
            successor,
            note: None,
        }
    }
}

fn check() -> JobCommand {
    JobCommand {
        argv: vec!["check".to_owned()],
        dir: "/".to_owned(),
        limit: Duration::from_secs(60),
    }
}

/// A task for an agent.
pub fn draft(id: TaskId, to: AgentId) -> TaskDraft {
    TaskDraft { to: QueueWanted::Agent(to.to_string()), ..drafted(id) }
}

/// A task for nobody.
fn drafted(id: TaskId) -> TaskDraft {
    let brief = Brief {
        title: id.to_string(),
        text: None,
        project: "/".to_owned(),
        steps: Vec::new(),
        dependencies: Vec::new(),
        parent: None,
        estimate: None,
        reference: None,
        scope: Vec::new(),
        check: None,
        rounds_max: ROUNDS_MAX,
        queue: Queue::Nobody,
        reopens: None,
        had_by: Vec::new(),
    };
    TaskDraft { id, brief, body: None, to: QueueWanted::Nobody, finished: Vec::new() }
}
