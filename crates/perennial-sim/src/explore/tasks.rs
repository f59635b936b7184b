//! Acts on tasks: persons and agents add, assign, claim, verify, split and drop them.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::TaskId;
use perennial_core::job::JobCommand;
use perennial_core::task::{
    BlockedOn, Brief, Queue, QueueWanted, ROUNDS_MAX, Resolution, Task, TaskCommand, TaskDraft,
};

use super::Explorer;

impl Explorer {
    /// Somebody adds a task, or does something with one that is not over.
    pub(super) fn task(&mut self) {
        let all: Vec<Task> = self.world.ledger.record.tasks().iter().cloned().collect();
        let known = self.world.random.pick(&all).cloned();
        let command = match known.filter(|_| self.world.random.per_mille(700)) {
            None => self.new_task(),
            Some(task) => return self.change_task(&task),
        };
        self.ask(Caller::Person, Command::Task(Box::new(command)));
    }

    fn new_task(&mut self) -> TaskCommand {
        let id = self.world.tasks.new_task();
        let to = match self.somebody().filter(|_| self.world.random.per_mille(800)) {
            Some(agent) => QueueWanted::Agent(agent.to_string()),
            None => QueueWanted::Nobody,
        };
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
        };
        TaskCommand::Add(Box::new(TaskDraft { id, brief, body: None, to, finished: Vec::new() }))
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
            0 => TaskCommand::Drop { task, reason: reason() },
            1 => TaskCommand::Verify { task, is_done: true, reason: reason() },
            2 => TaskCommand::Verify { task, is_done: false, reason: reason() },
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
                TaskCommand::Done { task, reason: reason(), check, spent: None }
            }
        };
        self.ask(caller, Command::Task(Box::new(command)));
    }

    fn reopened(&mut self, task: TaskId) -> TaskCommand {
        let successor = self.world.tasks.new_task();
        TaskCommand::Reopen { task, reason: "again".to_owned(), recalled: None, successor }
    }
}

fn check() -> JobCommand {
    JobCommand {
        argv: vec!["check".to_owned()],
        dir: "/".to_owned(),
        limit: Duration::from_secs(60),
    }
}
