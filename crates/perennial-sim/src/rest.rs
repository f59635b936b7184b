//! The properties of rest and of the line under a limit, by rules of their own: from the fields of the events alone.
//!
//! Invariants
//! - X11  Nobody rests without a task of its that was verified, in a turn, or with a task of its own that is not over. What
//!   a task wakes has one. With a limit, no more sessions have begun and not ended; and nobody waits for long beside a free
//!   place.
//!
//! Where records became unreadable, nothing is said: what follows was decided without them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::event::{AgentEvent, Event, Move, What};
use perennial_core::id::{AgentId, TaskId};
use perennial_core::state::{Cause, State};
use perennial_core::task::{TaskCommand, TaskEvent};

use crate::world::World;

/// What the record says of rest.
#[derive(Debug, Default)]
pub struct RestRecord {
    /// Whose a task that is not over is.
    owners: BTreeMap<TaskId, AgentId>,
    /// Who had a task verified since they last rested.
    verified: BTreeSet<AgentId>,
    begun: BTreeSet<AgentId>,
    /// A session was found that nobody recorded: it asked for no place.
    has_found: bool,
    pub rests: u64,
    pub woken: u64,
}

impl RestRecord {
    fn task(&mut self, id: TaskId, event: &TaskEvent) {
        let owner = match event {
            TaskEvent::Added { brief, .. } => brief.queue.agent(),
            TaskEvent::Queued { queue, .. }
            | TaskEvent::Reopened { queue, .. }
            | TaskEvent::Left { queue, .. } => queue.agent(),
            TaskEvent::Taken { agent, .. } | TaskEvent::Returned { agent, .. } => Some(*agent),
            TaskEvent::Verified { agent, .. } => {
                self.verified.extend(*agent);
                None
            }
            TaskEvent::Dropped { .. } => None,
            TaskEvent::Continued { .. }
            | TaskEvent::PartAdded { .. }
            | TaskEvent::Counted { .. }
            | TaskEvent::Noted { .. }
            | TaskEvent::Stepped { .. }
            | TaskEvent::Blocked { .. }
            | TaskEvent::Claimed { .. }
            | TaskEvent::CheckWanted { .. }
            | TaskEvent::CheckEnded { .. }
            | TaskEvent::Split { .. }
            | TaskEvent::Raised { .. } => return,
        };
        match owner {
            Some(agent) => self.owners.insert(id, agent),
            None => self.owners.remove(&id),
        };
    }

    fn has_task(&self, agent: AgentId) -> bool {
        self.owners.values().any(|owner| *owner == agent)
    }

    /// Why a move of rest may not be.
    fn moved(&mut self, id: AgentId, moved: &Move, in_turn: Option<bool>) -> Option<&'static str> {
        if matches!(moved.cause, Cause::Rested | Cause::Completed) {
            self.rests += 1;
            let is_earned = self.verified.remove(&id);
            [
                (!is_earned, "without a verified task"),
                (self.has_task(id), "with a task of its own"),
                (in_turn == Some(true), "in a turn"),
            ]
            .into_iter()
            .find_map(|(is_so, what)| is_so.then_some(what))
        } else if moved.cause == Cause::TaskQueued {
            self.woken += 1;
            (!self.has_task(id)).then_some("woken by no task")
        } else {
            None
        }
    }
}

impl World {
    /// X11: holds one event against those before it.
    pub fn check_rest_of(&mut self, event: &Event) {
        let most = self.policy.max_running;
        let mut wrong = None;
        if let What::Task(id, what) = &event.what {
            self.rest.task(*id, what);
        }
        if let Some((id, AgentEvent::Moved(moved))) = event.of_agent() {
            let in_turn = self.judge.account(id).and_then(|account| account.in_turn);
            wrong = self.rest.moved(id, moved, in_turn);
        }
        if let Some((id, AgentEvent::SessionStarting { .. })) = event.of_agent() {
            self.rest.begun.insert(id);
            let is_over = most.is_some_and(|most| self.rest.begun.len() > most);
            wrong = (is_over && !self.rest.has_found).then_some("more sessions than the limit");
        }
        if let Some((id, AgentEvent::SessionFound { .. })) = event.of_agent() {
            self.rest.begun.insert(id);
            self.rest.has_found = true;
        }
        if let Some((id, AgentEvent::SessionEnded { .. })) = event.of_agent() {
            self.rest.begun.remove(&id);
        }
        if let Some(what) = wrong.filter(|_| !self.ledger.is_forgetful) {
            self.broken("X11: rest and the line", || format!("{what}: {event:?}"));
        }
    }

    /// X11: in a world without faults, a task on its queue wakes whoever hibernates.
    pub fn check_task_wakes(&mut self) {
        let record = &self.ledger.record;
        let rests = |agent: &&Agent| agent.state == State::Hibernating && !agent.is_held();
        let resting: Vec<AgentId> = record.agents().filter(rests).map(|agent| agent.id).collect();
        for id in &resting {
            let task = self.tasks.new_task();
            let add = TaskCommand::Add(Box::new(crate::explore::draft(task, *id)));
            self.ask(Caller::Person, Command::Task(Box::new(add)));
        }
        self.run(Duration::from_secs(180));
        for id in resting {
            let record = &self.ledger.record;
            let is_on_one = record.tasks().current(id).is_some();
            let sleeps = record.agent(id).is_some_and(|agent| agent.state == State::Hibernating);
            if is_on_one && sleeps && !self.ledger.is_forgetful {
                self.broken("X11: a task wakes whoever hibernates", || id.to_string());
            }
        }
    }

    /// X11: in a world without faults, nobody waits beside a free place. The operator takes the limit away then, so that
    /// everybody can come to rest.
    pub fn check_line(&mut self) {
        let Some(most) = self.policy.max_running else { return };
        let record = &self.ledger.record;
        let waiting = record.agents().find(|agent| record.place_in_line(agent.id).is_some());
        let waiting = waiting.map(|agent| agent.id).filter(|_| record.running() < most);
        if let Some(id) = waiting.filter(|_| !self.ledger.is_forgetful) {
            let running = record.running();
            self.broken("X11: nobody waits beside a free place", || format!("{id} {running}"));
        }
        self.policy.max_running = None;
        let record = std::mem::take(&mut self.ledger.record);
        self.ledger.record = record.under(self.policy.clone());
        self.start_anew();
    }
}
