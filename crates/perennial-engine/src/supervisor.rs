//! The loop's one step: an input comes in, outputs go out. Synchronous; the daemon and the
//! simulation run the very same one.
//!
//! It owns no journal, no process and no clock: what it wants done leaves as an `Output`.
//!
//! Invariants
//! - U1  `newest` = `durable` + the events of all appends under way, in order.
//! - U2  Nothing is answered or carried out before the append that it rests on is durable.
//! - U3  An effect is planned from durable state only, and given out once per run of the daemon.
//! - U4  A report whose append failed is told again until it is recorded, before anything that came
//!   after it; a command is not.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use perennial_core::command::Request;
use perennial_core::effect::Effect;
use perennial_core::event::{Event, Stream};
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::observation::Observation;
use perennial_core::refusal::Refusal;
use perennial_core::time::Time;
use perennial_store::journal::{Batch, Version};

use crate::interpret::Interpreter;
use crate::timers::Timers;

/// After a failed append, reports are told again after this.
pub const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Names an append under way; they become durable in the order of their tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Names somebody who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiter(pub u64);

#[derive(Debug)]
pub enum Input {
    Request {
        waiter: Waiter,
        request: Request,
    },
    Observed(Observation),
    /// Time has passed.
    Tick,
    /// The append is in the journal for good.
    Durable(Ticket),
    /// The append is not in the journal, and will not be.
    Failed(Ticket, String),
}

#[derive(Debug)]
pub enum Output {
    /// Queue this to the journal, all or nothing.
    Append {
        ticket: Ticket,
        batch: Batch,
    },
    Answer {
        waiter: Waiter,
        answer: Result<Vec<AgentId>, Rejection>,
    },
    /// Do this in the world.
    Carry(Effect),
    /// These happened, for good: for those who show them.
    Committed {
        events: Vec<Event>,
        touched: Vec<AgentId>,
    },
}

/// Why a command did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    Refused(Refusal),
    /// The journal could not take it; nothing happened.
    NotRecorded(String),
}

/// An append under way, and who waits for it.
#[derive(Debug)]
struct Pending {
    ticket: Ticket,
    events: Vec<Event>,
    report: Option<Observation>,
    waiters: Vec<(Waiter, Vec<AgentId>)>,
}

#[derive(Debug)]
pub struct Supervisor {
    /// What decisions are made against.
    newest: Fleet,
    /// What is planned, and shown.
    durable: Fleet,
    /// Of the durable streams.
    versions: BTreeMap<Stream, Version>,
    pending: VecDeque<Pending>,
    interpreter: Interpreter,
    timers: Timers,
    /// Reports whose append failed, oldest first, and when to tell them again.
    untold: VecDeque<Observation>,
    tell_again_at: Option<Time>,
    /// Why the journal took nothing the last time, until it takes something again.
    read_only: Option<String>,
    next_ticket: u64,
}

impl Supervisor {
    pub fn new(fleet: Fleet, versions: BTreeMap<Stream, Version>) -> Supervisor {
        Supervisor {
            newest: fleet.clone(),
            durable: fleet,
            versions,
            pending: VecDeque::new(),
            interpreter: Interpreter::default(),
            timers: Timers::default(),
            untold: VecDeque::new(),
            tell_again_at: None,
            read_only: None,
            next_ticket: 1,
        }
    }

    /// What is recorded for good.
    pub fn fleet(&self) -> &Fleet {
        &self.durable
    }

    /// How many events each durable stream has.
    pub fn versions(&self) -> &BTreeMap<Stream, Version> {
        &self.versions
    }

    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// Whether an append is under way.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.untold.is_empty()
    }

    /// When `Tick` is next of use.
    pub fn next_due(&self) -> Option<Time> {
        [self.timers.first(), self.tell_again_at].into_iter().flatten().min()
    }

    pub fn step(&mut self, input: Input, now: Time) -> Vec<Output> {
        match input {
            Input::Request { waiter, request } => self.request(waiter, &request, now),
            Input::Observed(observation) => self.observed(observation, now),
            Input::Tick => self.tick(now),
            Input::Durable(ticket) => self.recorded(ticket, now),
            Input::Failed(ticket, why) => self.failed(ticket, why, now),
        }
    }

    fn request(&mut self, waiter: Waiter, request: &Request, now: Time) -> Vec<Output> {
        let is_start = |report: &Observation| matches!(report, Observation::Started { .. });
        // Nothing goes to the journal before the daemon's own start: the boot may be another one.
        let mut outputs = match self.untold.iter().any(is_start) {
            true => self.tell_again(now),
            false => Vec::new(),
        };
        match self.newest.decide(request, now) {
            Err(refusal) => {
                outputs.push(Output::Answer { waiter, answer: Err(Rejection::Refused(refusal)) });
            }
            Ok(decision) if decision.events.is_empty() => match self.pending.back_mut() {
                // "It is so already" may rest on what is not durable yet.
                Some(pending) => pending.waiters.push((waiter, decision.agents)),
                None => outputs.push(Output::Answer { waiter, answer: Ok(decision.agents) }),
            },
            Ok(decision) => {
                let waiters = vec![(waiter, decision.agents)];
                outputs.push(self.append(decision.events, None, waiters));
            }
        }
        outputs
    }

    fn observed(&mut self, observation: Observation, now: Time) -> Vec<Output> {
        if !self.untold.is_empty() {
            self.untold.push_back(observation);
            return Vec::new();
        }
        let events = self.newest.observe(&observation, now);
        if events.is_empty() {
            return Vec::new();
        }
        vec![self.append(events, Some(observation), Vec::new())]
    }

    fn append(
        &mut self,
        events: Vec<Event>,
        report: Option<Observation>,
        waiters: Vec<(Waiter, Vec<AgentId>)>,
    ) -> Output {
        let batch = Batch::of(events.clone(), |stream| self.expected(stream));
        for event in &events {
            self.newest.evolve(event);
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.pending.push_back(Pending { ticket, events, report, waiters });
        Output::Append { ticket, batch }
    }

    /// The version that everything under way brings a stream to.
    fn expected(&self, stream: Stream) -> Version {
        let durable = self.versions.get(&stream).copied().unwrap_or_default();
        let under_way = self.pending.iter().flat_map(|pending| &pending.events);
        let events = under_way.filter(|event| event.stream() == stream).count() as u64;
        Version(durable.0 + events)
    }

    fn recorded(&mut self, ticket: Ticket, now: Time) -> Vec<Output> {
        let Some(pending) = self.position(ticket).and_then(|at| self.pending.remove(at)) else {
            return Vec::new();
        };
        self.read_only = None;
        let mut touched: Vec<AgentId> = Vec::new();
        let mut outputs = Vec::new();
        for event in &pending.events {
            touched.extend(self.durable.evolve(event));
            self.versions.entry(event.stream()).or_default().0 += 1;
        }
        touched.sort_unstable();
        touched.dedup();
        // At its start the daemon plans everybody: recovering is the ordinary path.
        if matches!(pending.report, Some(Observation::Started { .. })) {
            touched = self.durable.agents().map(|agent| agent.id).collect();
        }
        for id in &touched {
            outputs.extend(self.plan(*id, now));
        }
        outputs.push(Output::Committed { events: pending.events, touched });
        outputs.extend(
            pending
                .waiters
                .into_iter()
                .map(|(waiter, agents)| Output::Answer { waiter, answer: Ok(agents) }),
        );
        outputs
    }

    fn plan(&mut self, id: AgentId, now: Time) -> Vec<Output> {
        let plan = self.durable.plan(id, now);
        self.timers.set(id, plan.wake_at);
        let fresh = plan.effects.into_iter().filter(|effect| self.interpreter.admit(effect));
        fresh.map(Output::Carry).collect()
    }

    /// Back to what is durable. What was appended after the failed one is refused by the journal,
    /// since it may rest on it: it has failed too.
    fn failed(&mut self, ticket: Ticket, why: String, now: Time) -> Vec<Output> {
        let Some(position) = self.position(ticket) else {
            return Vec::new();
        };
        let mut outputs = Vec::new();
        for pending in self.pending.split_off(position) {
            self.untold.extend(pending.report);
            outputs.extend(pending.waiters.into_iter().map(|(waiter, _)| Output::Answer {
                waiter,
                answer: Err(Rejection::NotRecorded(why.clone())),
            }));
        }
        self.newest = self.durable.clone();
        for event in self.pending.iter().flat_map(|pending| &pending.events) {
            self.newest.evolve(event);
        }
        self.tell_again_at = Some(now + TELL_AGAIN_AFTER);
        self.read_only = Some(why);
        outputs
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.pending.iter().position(|pending| pending.ticket == ticket)
    }

    fn tick(&mut self, now: Time) -> Vec<Output> {
        let mut outputs = Vec::new();
        if self.tell_again_at.is_some_and(|at| at <= now) {
            outputs.extend(self.tell_again(now));
        }
        for agent in self.timers.take_due(now) {
            outputs.extend(self.observed(Observation::Due { agent }, now));
        }
        outputs
    }

    /// Tells what could not be recorded, in its order.
    fn tell_again(&mut self, now: Time) -> Vec<Output> {
        if self.tell_again_at.take().is_none() {
            return Vec::new();
        }
        let mut outputs = Vec::new();
        for report in std::mem::take(&mut self.untold) {
            outputs.extend(self.observed(report, now));
        }
        // A time may have come while an append stood in its way that then failed: it comes again.
        for agent in self.durable.agents() {
            self.timers.set(agent.id, self.durable.plan(agent.id, now).wake_at);
        }
        outputs
    }
}
