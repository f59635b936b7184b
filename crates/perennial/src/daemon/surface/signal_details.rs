//! What is looked up of signals that Perennial itself emitted: the task that an agent was on, and the last output of a
//! session, from its recording, if that is still kept. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::entity::Entity;
use perennial_core::event::What;
use perennial_core::id::{AgentId, SessionNumber, TaskId};
use perennial_core::signal::SignalKind;
use perennial_core::task;
use perennial_core::time::Time;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::recording::last_output;
use perennial_store::journal::{ReadError, Version};
use perennial_store::{SignalOrigin, SignalRow, Store, TaskQuery};

use super::Surface;
use super::answer::ProblemResponse;

type Outputs = BTreeMap<(AgentId, SessionNumber), String>;
/// When agents were on which task, the end open while they are.
type Assignments = BTreeMap<AgentId, Vec<(TaskId, Time, Time)>>;
/// At most this many of an agent's newest tasks are searched for the one that it was on.
const TASKS: usize = 50;
const TASK_EVENTS: usize = 1000;

/// What is looked up of signals that Perennial emitted.
pub struct Details {
    outputs: Outputs,
    assignments: Assignments,
}

impl Details {
    /// The task that an agent was on at a time.
    pub fn task_of(&self, agent: AgentId, at: Time) -> Option<TaskId> {
        let is_then = |(_, from, to): &&(TaskId, Time, Time)| *from <= at && at < *to;
        self.assignments.get(&agent)?.iter().find(is_then).map(|(task, ..)| *task)
    }

    pub fn output_of(&self, agent: AgentId, session: SessionNumber) -> Option<&String> {
        self.outputs.get(&(agent, session))
    }
}

impl Surface {
    pub async fn signal_details(&self, rows: &[&SignalRow]) -> Result<Details, ProblemResponse> {
        let (outputs, assignments) = (self.outputs(rows).await?, self.assignments(rows).await?);
        Ok(Details { outputs, assignments })
    }

    /// When the agents that were registered were on which task.
    async fn assignments(&self, rows: &[&SignalRow]) -> Result<Assignments, ProblemResponse> {
        let registered = |row: &&SignalRow| match row.origin {
            SignalOrigin::Emitted { agent, .. } => {
                (row.kind == SignalKind::AgentRegistered).then_some(agent)
            }
            SignalOrigin::Sent(_) => None,
        };
        let agents: BTreeSet<AgentId> = rows.iter().filter_map(registered).collect();
        let read = move |journal: &dyn Store| {
            let assigned = |agent| Ok((agent, assignments(journal, agent)?));
            agents.into_iter().map(assigned).collect()
        };
        self.read(read).await
    }

    /// The last output of each session that crashed, as far as it is kept.
    async fn outputs(&self, rows: &[&SignalRow]) -> Result<Outputs, ProblemResponse> {
        let crashed = |row: &&SignalRow| match row.origin {
            SignalOrigin::Emitted { agent, session: Some(number), .. } => {
                (row.kind == SignalKind::AgentCrashed).then_some((agent, number))
            }
            SignalOrigin::Emitted { session: None, .. } | SignalOrigin::Sent(_) => None,
        };
        let crashed: BTreeSet<_> = rows.iter().filter_map(crashed).collect();
        if crashed.is_empty() {
            return Ok(Outputs::new());
        }
        let holders = self.home.holders();
        let output = move |(agent, number): (AgentId, SessionNumber)| {
            let dir = HolderDirectory::new(&holders, agent).session(number);
            Some(((agent, number), last_output(&dir)?))
        };
        self.read(move |_| Ok(crashed.into_iter().filter_map(output).collect())).await
    }
}

/// When an agent was on each of its newest tasks.
fn assignments(
    journal: &dyn Store,
    agent: AgentId,
) -> Result<Vec<(TaskId, Time, Time)>, ReadError> {
    let query = TaskQuery { agent: Some(agent), limit: TASKS, ..TaskQuery::default() };
    let mut found = Vec::new();
    for row in journal.tasks(&query)? {
        let stream = Entity::Task(row.task);
        let records = journal.read_stream(&stream, Version(0), TASK_EVENTS)?;
        let events = records.iter().filter_map(|record| record.event.as_ref().ok());
        let mut since = None;
        for event in events {
            let What::Task(_, what) = &event.what else { continue };
            match (task::is_begun_by(what, agent), since) {
                (Some(true), None) => since = Some(event.at),
                (Some(false), Some(begun)) => {
                    found.push((row.task, begun, event.at));
                    since = None;
                }
                (Some(true), Some(_)) | (Some(false), None) | (None, _) => {}
            }
        }
        found.extend(since.map(|begun| (row.task, begun, Time(u64::MAX))));
    }
    Ok(found)
}
