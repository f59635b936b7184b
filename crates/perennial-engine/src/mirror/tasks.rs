//! `tasks.jsonl`: the tasks of a project, a line each: those that are not over in the order in which they were added, then
//! those that were over last.
//!
//! Titles and steps are others' words: they are made harmless.

use std::collections::BTreeMap;
use std::sync::Arc;

use perennial_core::id::TaskId;
use perennial_core::task::{Queue, Task};
use serde::Serialize;

use crate::harness::mail_texts::harmless;
use crate::timestamp::rfc3339_seconds;

/// This many tasks that are over are listed.
const OVER: usize = 100;
/// As much of a title, a step or a reference as is shown.
const WORDS_BYTES: usize = 500;

/// The tasks of one project. They are the fleet's own copies: their lines are made when they are written.
#[derive(Debug, Default)]
pub(super) struct TaskLines {
    open: BTreeMap<TaskId, Arc<Task>>,
    over: BTreeMap<TaskId, Arc<Task>>,
}

impl TaskLines {
    pub fn put(&mut self, task: Arc<Task>) {
        self.open.remove(&task.id);
        match task.is_over() {
            true => {
                self.over.insert(task.id, task);
                while self.over.len() > OVER {
                    self.over.pop_first();
                }
            }
            false => _ = self.open.insert(task.id, task),
        }
    }

    pub fn page(&self) -> String {
        let tasks = self.open.values().chain(self.over.values().rev());
        tasks.map(|task| line(task) + "\n").collect()
    }
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    id: String,
    title: String,
    state: &'a str,
    /// The agent that has it or had it last, or on whose queue it lies.
    agent: Option<String>,
    role: Option<String>,
    parent: Option<String>,
    parts: Vec<String>,
    reference: Option<String>,
    steps: usize,
    steps_done: usize,
    open_step: Option<String>,
    added_at: String,
    since: String,
}

fn line(task: &Task) -> String {
    let words = |text: &str| harmless(text, WORDS_BYTES);
    let line = Line {
        id: task.id.to_string(),
        title: words(&task.brief.title),
        state: task.state.word(),
        agent: task.assignee().map(|id| id.to_string()),
        role: match &task.queue {
            Queue::Role(role) => Some(role.to_string()),
            Queue::Nobody | Queue::Agent(_) => None,
        },
        parent: task.brief.parent.map(|id| id.to_string()),
        parts: task.added_parts.iter().chain(&task.parts).map(ToString::to_string).collect(),
        reference: task.brief.reference.as_deref().map(words),
        steps: task.brief.steps.len(),
        steps_done: task.steps_done(),
        open_step: task.open_step().map(|(_, step)| words(&step.text)),
        added_at: rfc3339_seconds(task.added_at),
        since: rfc3339_seconds(task.since),
    };
    serde_json::to_string(&line).unwrap_or_default()
}
