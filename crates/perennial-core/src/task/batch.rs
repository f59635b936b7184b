//! The events of one decision about tasks, with what follows from each for other tasks, in the same batch: the next task of
//! an agent that is free, tasks whose dependencies are met, a task whose parts are all over.
//!
//! Changes nothing but itself: what was decided so far is folded into copies of the tasks that it is about.

use std::collections::{BTreeMap, BTreeSet};

use super::announced::announced;
use super::fold::{begun, fold};
use super::measure::counted_with;
use super::tasks::unfinished_of;
use super::{Queue, Task, TaskEvent, TaskRefusal, TaskState, Verifier, letters};
use crate::agent::Agent;
use crate::context::Threshold;
use crate::conversation::Opening;
use crate::entity::Entity;
use crate::event::{Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::{AgentId, SessionNumber, TaskId};
use crate::message::{Mailbox, Sender};
use crate::refusal::Refusal;
use crate::rest;
use crate::role;
use crate::state::Roster;
use crate::text::TextBody;
use crate::time::Time;

pub struct Batch<'f> {
    pub fleet: &'f Fleet,
    pub now: Time,
    changed: BTreeMap<TaskId, Task>,
    pub events: Vec<What>,
    pub texts: Vec<TextBody>,
    /// How many letters it has: each has another id.
    letters: u32,
    /// Agents that are in the cemetery once the batch is recorded.
    gone: BTreeSet<AgentId>,
    /// Tasks that are verified and have left memory, of those that matter.
    pub verified: Vec<TaskId>,
    /// How many unfinished tasks each agent has more, and less, than the fleet knows of.
    unfinished: BTreeMap<AgentId, (usize, usize)>,
    /// An agent that is born with the batch, and what it has spent.
    pub newborn: Option<(AgentId, u64)>,
}

impl<'f> Batch<'f> {
    pub fn new(fleet: &'f Fleet, now: Time) -> Batch<'f> {
        Batch {
            fleet,
            now,
            changed: BTreeMap::new(),
            events: Vec::new(),
            texts: Vec::new(),
            letters: 0,
            gone: BTreeSet::new(),
            verified: Vec::new(),
            unfinished: BTreeMap::new(),
            newborn: None,
        }
    }

    /// The same, with an agent that is being buried.
    pub fn without(fleet: &'f Fleet, agent: AgentId, now: Time) -> Batch<'f> {
        let mut batch = Batch::new(fleet, now);
        batch.gone.insert(agent);
        batch
    }

    pub fn decision(self, about: TaskId) -> Decision {
        let now = self.now;
        let events = self.events.into_iter().map(|what| Event { at: now, what }).collect();
        let about = vec![Entity::Task(about)];
        Decision { about, events, texts: self.texts, read: Vec::new() }
    }

    /// A task as it is after what was decided so far.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.changed.get(&id).or_else(|| self.fleet.tasks().get(id))
    }

    /// How many unfinished tasks an agent has added.
    pub fn unfinished(&self, by: AgentId) -> usize {
        let (more, less) = self.unfinished.get(&by).copied().unwrap_or_default();
        (self.fleet.tasks().unfinished_of(by) + more).saturating_sub(less)
    }

    fn count_unfinished(&mut self, before: Option<&Task>, after: Option<&Task>) {
        let (before, after) = (before.and_then(unfinished_of), after.and_then(unfinished_of));
        if before != after {
            before.into_iter().for_each(|by| self.unfinished.entry(by).or_default().1 += 1);
            after.into_iter().for_each(|by| self.unfinished.entry(by).or_default().0 += 1);
        }
    }

    /// With what its worker has spent, where that one leaves the task or goes back to it.
    pub fn record(&mut self, id: TaskId, event: TaskEvent) {
        let counted = self.task(id).and_then(|task| counted_with(self.fleet, task, &event));
        let is_after = matches!(event, TaskEvent::Returned { .. });
        let events = match counted {
            Some(counted) if is_after => [Some(event), Some(counted)],
            counted => [counted, Some(event)],
        };
        events.into_iter().flatten().for_each(|event| self.append(id, event));
    }

    fn append(&mut self, id: TaskId, event: TaskEvent) {
        let known = self.changed.remove(&id).or_else(|| self.fleet.tasks().get(id).cloned());
        let task = match (&known, &event) {
            (None, TaskEvent::Added { by, brief }) => Some(begun(id, *by, brief, self.now)),
            (None, _) => None,
            (Some(task), event) => {
                let mut task = task.clone();
                fold(&mut task, event, self.now);
                Some(task)
            }
        };
        let announced = task.as_ref().map_or_else(Vec::new, |task| {
            announced(self.fleet, known.as_ref(), task, &event, self.now)
        });
        self.count_unfinished(known.as_ref(), task.as_ref());
        let earned = self.earned(task.as_ref(), &event);
        self.events.push(What::Task(id, event));
        for what in announced {
            // ES2: a task may be moved and taken in one batch; what either settles ends once.
            let is_known = matches!(what, What::Escalation(..)) && self.events.contains(&what);
            if !is_known {
                self.events.push(what);
            }
        }
        self.events.extend(earned);
        self.changed.extend(task.map(|task| (id, task)));
    }

    pub fn note(&mut self, by: Sender, id: TaskId, body: &TextBody) {
        self.record(id, TaskEvent::Noted { by, text: body.text.clone() });
        self.texts.push(body.clone());
    }

    /// What whoever did a task earns by this event.
    fn earned(&self, task: Option<&Task>, event: &TaskEvent) -> Option<What> {
        let TaskEvent::Verified { agent: Some(agent), .. } = event else { return None };
        let task = task?;
        rest::earned(self.present(*agent)?, task.id, &task.brief.title)
    }

    /// A letter of Perennial's own about a task.
    pub fn tell(&mut self, to: Mailbox, task: TaskId, words: &letters::Words) {
        self.letters += 1;
        let (id, recorded) = letters::letter((task, self.now), self.letters, to, words);
        self.events.push(What::Message(id, recorded));
    }

    /// The id that the next letter about this task has.
    pub fn next_letter(&self, task: TaskId) -> crate::id::MessageId {
        letters::id(task, self.now, self.letters + 1)
    }

    /// The task that an agent is on.
    pub fn current(&self, agent: AgentId) -> Option<TaskId> {
        let changed = self.changed.values().find(|task| task.on_it() == Some(agent));
        let known = || {
            let known = self.fleet.tasks().current(agent)?;
            (!self.changed.contains_key(&known.id)).then_some(known.id)
        };
        changed.map(|task| task.id).or_else(known)
    }

    /// An agent outside the cemetery.
    pub fn present(&self, id: AgentId) -> Option<&'f Agent> {
        let agent = self.fleet.agent(id).filter(|_| !self.gone.contains(&id))?;
        (agent.state.roster() != Roster::Cemetery).then_some(agent)
    }

    /// TK1, TK7, TK8: why an agent can't go to work on a task.
    pub fn may_begin(&self, agent: &Agent, task: &Task) -> Result<(), TaskRefusal> {
        if let Some(other) = self.current(agent.id).filter(|other| *other != task.id) {
            return Err(TaskRefusal::OnAnother { agent: agent.id, task: other });
        }
        if agent.clock.passed >= Some(Threshold::NineTenths) {
            return Err(TaskRefusal::ClockNearlyOut { agent: agent.id });
        }
        match self.waits_for(task).next() {
            Some(on) => Err(TaskRefusal::Waits { on }),
            None => Ok(()),
        }
    }

    fn may_begin_again(&self, agent: AgentId, id: TaskId) -> bool {
        let known = self.present(agent).zip(self.task(id));
        known.is_some_and(|(agent, task)| self.may_begin(agent, task).is_ok())
    }

    fn waits_for(&self, task: &Task) -> impl Iterator<Item = TaskId> {
        let is_open = |on: &TaskId| self.task(*on).is_some_and(|on| !on.is_over());
        task.brief.dependencies.iter().copied().filter(is_open)
    }

    /// Who answers for an agent's work: its nearest ancestor outside the cemetery, else the operator.
    pub fn answers_for(&self, agent: Option<AgentId>) -> Mailbox {
        let mut guardians = agent.into_iter().flat_map(|id| self.fleet.guardians(id));
        let present = guardians.find(|above| !self.gone.contains(&above.id));
        present.map_or(Mailbox::Operator, |above| Mailbox::Agent(above.id))
    }

    /// What an agent has spent in all, where somebody counted.
    pub fn spent(&self, agent: AgentId) -> Option<u64> {
        let newborn = self.newborn.filter(|(id, _)| *id == agent);
        newborn.map(|(_, spent)| spent).or_else(|| self.fleet.spent(agent))
    }

    /// What an agent has spent in all when it goes to work. One that has only begun its first conversation, which nobody has
    /// read yet, has spent nothing.
    pub fn spent_before(&self, agent: AgentId) -> Option<u64> {
        let has_begun = |agent: &&Agent| {
            let first = agent.session.as_ref().filter(|it| it.number == SessionNumber::FIRST);
            first.is_some_and(|session| matches!(session.opening, Opening::Fresh(_)))
        };
        let begun = || self.fleet.agent(agent).filter(has_begun).map(|_| 0);
        self.spent(agent).or_else(begun)
    }

    /// The session of an agent that runs. One that has not begun to is counted when it does.
    pub fn session_of(&self, agent: AgentId) -> Option<SessionNumber> {
        running_session(self.fleet.agent(agent)?)
    }

    /// An agent is given a task by somebody else, and told.
    pub fn give(&mut self, by: Sender, agent: AgentId, id: TaskId) {
        let session = self.session_of(agent);
        self.give_in(session, by, agent, id);
    }

    fn give_in(&mut self, session: Option<SessionNumber>, by: Sender, agent: AgentId, id: TaskId) {
        let spent = self.spent_before(agent);
        self.record(id, TaskEvent::Taken { by, agent, spent, session });
        if let Some(task) = self.task(id) {
            let words = letters::given(task, by);
            self.tell(Mailbox::Agent(agent), id, &words);
        }
    }

    /// An agent that had a task, which somebody else moved, is told that it is no longer its own.
    pub fn told_of_move(&mut self, by: Sender, id: TaskId, before: Option<AgentId>) {
        let before = before.filter(|agent| by != Sender::Agent(*agent));
        let Some(agent) = before.and_then(|agent| self.present(agent)) else { return };
        if let Some(task) = self.task(id).filter(|task| task.worker != Some(agent.id)) {
            let words = letters::moved(task, by);
            self.tell(Mailbox::Agent(agent.id), id, &words);
        }
    }

    /// An agent is on no task: the oldest on its queue that it may begin is next.
    pub fn freed(&mut self, agent: Option<AgentId>) {
        let Some(agent) = agent.and_then(|id| self.present(id)) else { return };
        if let Some(next) = self.next_of(agent) {
            self.give(Sender::Perennial, agent.id, next);
        }
    }

    /// The same for an agent as it is by then.
    pub fn freed_by_window(&mut self, agent: &Agent) {
        if let Some(next) = self.next_of(agent) {
            let session = running_session(agent);
            self.give_in(session, Sender::Perennial, agent.id, next);
        }
    }

    fn next_of(&self, agent: &Agent) -> Option<TaskId> {
        let known = self.fleet.tasks().of(agent.id).map(|task| task.id);
        let all: BTreeSet<TaskId> = known.chain(self.changed.keys().copied()).collect();
        let is_next = |task: &&Task| {
            let lies = task.state == TaskState::Open && task.queue == Queue::Agent(agent.id);
            lies && self.may_begin(agent, task).is_ok()
        };
        all.into_iter().filter_map(|id| self.task(id)).find(is_next).map(|task| task.id)
    }

    /// What follows when a task is over: its worker is free, what waited for it may begin, and the task that it is a
    /// part of may be over too.
    pub fn over(&mut self, id: TaskId) {
        let Some(task) = self.task(id) else { return };
        let (worker, parent) = (task.worker, task.brief.parent);
        self.freed(worker);
        let waiting: Vec<AgentId> =
            self.fleet.tasks().dependants(id).filter_map(|task| task.queue.agent()).collect();
        waiting.into_iter().for_each(|agent| self.freed(Some(agent)));
        if let Some(parent) = parent {
            self.part_over(parent);
        }
    }

    /// A task whose parts are all over is verified by them (TK3). One that has a check of its own, or no part of which was
    /// verified, goes back to be claimed.
    fn part_over(&mut self, id: TaskId) {
        let Some(task) = self.task(id).filter(|task| task.state == TaskState::Split) else {
            return;
        };
        let is_open = |part: &TaskId| self.task(*part).is_some_and(|part| !part.is_over());
        // What anybody added to it holds nothing up: the work was split into its parts.
        if task.parts.iter().any(is_open) {
            return;
        }
        let agent = task.worker;
        let is_verified = |part: &TaskId| match self.task(*part) {
            Some(part) => matches!(part.state, TaskState::Verified(_)),
            None => self.verified.contains(part) || self.fleet.tasks().has_left_verified(id, *part),
        };
        if task.brief.check.is_none() && task.parts.iter().any(is_verified) {
            self.record(id, TaskEvent::Verified { by: Verifier::Parts, agent });
            self.over(id);
            return;
        }
        let (queue, words) = (task.queue.clone(), letters::parts_over(task));
        let present = agent.filter(|id| self.present(*id).is_some());
        let queue = present.map_or(queue, Queue::Agent);
        let by = Sender::Perennial;
        self.record(id, TaskEvent::Reopened { by, queue, reason: "its parts are over".to_owned() });
        let to = present.map_or_else(|| self.answers_for(agent), Mailbox::Agent);
        self.tell(to, id, &words);
        self.freed(agent);
    }

    /// A claim waits for somebody's word, and they are told.
    pub fn await_word(&mut self, id: TaskId, why: &str) {
        let Some(task) = self.task(id) else { return };
        let (to, words) = (self.verifier(task), letters::awaits_word(task, why));
        let worker = task.worker;
        self.tell(to, id, &words);
        self.freed(worker);
    }

    /// TK5: a task that was found not to be done goes back to its worker, or is blocked.
    pub fn give_back(&mut self, by: Sender, id: TaskId, reason: &str) {
        let Some(task) = self.task(id) else { return };
        let (worker, rounds, most) = (task.worker, task.rounds, task.brief.rounds_max);
        if rounds + 1 > most {
            let on = super::BlockedOn::Rounds;
            self.record(id, TaskEvent::Blocked { by, on, reason: reason.to_owned() });
            self.freed(worker);
            return;
        }
        let Some(agent) = worker.filter(|id| self.present(*id).is_some()) else {
            let queue = task.queue.clone();
            self.record(id, TaskEvent::Reopened { by, queue, reason: reason.to_owned() });
            if let Some(task) = self.task(id) {
                let (to, words) = (self.answers_for(worker), letters::open_again(task));
                self.tell(to, id, &words);
            }
            return;
        };
        // TK7: what its worker was on until the check ended stays its own, at the end of its window too. A claim that waited
        // for somebody's word was no longer: that is begun again.
        let was_on_it = by == Sender::Perennial && self.current(agent).is_none();
        let is_taken = was_on_it || self.may_begin_again(agent, id);
        let reason = reason.to_owned();
        self.record(id, TaskEvent::Returned { by, agent, is_taken, reason });
        if let Some(task) = self.task(id) {
            let words = letters::returned(task, by);
            self.tell(Mailbox::Agent(agent), id, &words);
        }
    }

    /// Refuses an id that is not known, or whose task is over.
    pub fn open(&self, id: TaskId) -> Result<&Task, Refusal> {
        let refused = |why| Refusal::Task { task: id, why };
        let task = self.task(id).ok_or_else(|| refused(TaskRefusal::NoSuchTask))?;
        match task.is_over() {
            true => Err(refused(TaskRefusal::Over)),
            false => Ok(task),
        }
    }

    /// Whether an agent holds the role on whose queue a task lies.
    pub fn is_of_role(agent: &Agent, task: &Task) -> bool {
        task.queue.role().is_some() && role::held(agent) == task.queue.role()
    }
}

fn running_session(agent: &Agent) -> Option<SessionNumber> {
    let session = agent.live_session().filter(|session| session.started_at.is_some())?;
    Some(session.number)
}
