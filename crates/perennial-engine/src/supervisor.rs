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
//!   after it, and so is one that came to nothing beside such an append; a command is not. A jump of
//!   the clock is told before them all: they are told as of now.
//! - U5  What is over is let go only when its last effects were given out, nothing is under way for it
//!   and its state is in the store: memory follows the living.
//! - U6  A hook is answered within `REPLY_WITHIN`: with the texts whose offer is durable by then and
//!   still stands, or without any.
//! - U7  An append that failed may still be found in the journal if this daemon dies. So while the journal
//!   fails, "it is so already" is not answered before the journal has taken something.
//! - U8  What other nodes recorded is folded in commit order, and this node plans its own only. What it
//!   decided without knowing that is refused by the journal, and decided again.
//! - U9  Hooks of an agent that has used up its allowance are heard once it has some again: the newest of
//!   them, in place of all.
//! - U10 A hook that announces a compaction is answered when a checkpoint since is durable, or after `KEEP_WITHIN`.

mod afford;
mod failing;
mod foreign;
mod hear;
mod hold;
mod offer;
mod retire;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::allowance::Allowances;
use perennial_core::command::Request;
use perennial_core::conversation::Followed;
use perennial_core::effect::Effect;
use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::fact::Fact;
use perennial_core::fleet::{Decision, Fleet};
use perennial_core::hearing::{Hearing, Hearings, Limits};
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::observation::Observation;
use perennial_core::refusal::Refusal;
use perennial_core::text::TextBody;
use perennial_core::time::Time;
use perennial_store::journal::{Batch, Expected, Link, Seq, Version};

use crate::interpret::Interpreter;
use crate::timers::Timers;
use hold::Held;
use offer::Hook;
pub use retire::Retired;

/// After a failed append, reports are told again after this. It bounds how often a failing journal is tried, no more.
pub const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Names an append under way; they become durable in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppendId(pub u64);

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
    /// A hook of this session, which was heard, is to be answered: with a briefing, or with the texts that wait
    /// for one. A reply without any is given at once, one with some when their offer is durable (U6).
    Offer {
        waiter: Waiter,
        agent: AgentId,
        number: SessionNumber,
        /// It reported the end of a turn: only what is worth it that the turn goes on is given.
        at_turn_end: bool,
    },
    /// A hook that announces a compaction, and was heard, is to be answered (U10).
    Hold {
        waiter: Waiter,
        agent: AgentId,
    },
    /// The holder of this agent's session has connected: it knows nothing of what was told before.
    Connected {
        agent: AgentId,
    },
    /// Something was seen of an agent CLI.
    Heard {
        agent: AgentId,
        number: SessionNumber,
        fact: Fact,
    },
    /// Time has passed.
    Tick,
    /// The append is in the journal for good, up to this record. In commit order, also with what other
    /// nodes record.
    Durable(AppendId, Seq),
    /// The append is not in the journal: what it rests on is no longer so, and that was told before this.
    /// Another node has changed it, or an append before this one failed.
    Conflict(AppendId),
    /// What another node has recorded, up to this record.
    Foreign {
        events: Vec<Event>,
        seq: Seq,
    },
    /// The append is not in the journal, and will not be.
    Failed(AppendId, String),
    /// The journal takes nothing, though nothing was appended: what would be asked is refused.
    Unwritable(String),
}

#[derive(Debug)]
pub enum Output {
    /// Queue this to the journal, all or nothing.
    Append {
        append: AppendId,
        batch: Batch,
    },
    Answer {
        waiter: Waiter,
        answer: Result<Vec<Entity>, Rejection>,
    },
    /// Answer a hook.
    Reply {
        waiter: Waiter,
        with: Reply,
    },
    /// Do this in the world.
    Carry(Effect),
    /// A session's turn has been silent long enough that a person may want to know.
    Silent {
        agent: AgentId,
        number: SessionNumber,
        lasted: Duration,
    },
    /// These happened, for good: for those who show them.
    Committed {
        events: Vec<Event>,
        touched: Vec<Entity>,
    },
}

/// What a hook is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Who the agent is, who else is there, and where its work stood; how its window began.
    StartText(AgentId, Option<Followed>),
    /// The texts of these messages, in their order; there may be none.
    Texts(Vec<MessageId>),
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
    append: AppendId,
    /// What it rests on besides what its events are about.
    read: Vec<Entity>,
    events: Vec<Event>,
    /// What it records, and what came to nothing beside it: that may rest on it.
    reports: Vec<Observation>,
    asked: Vec<PendingAnswer>,
    /// Another node has changed what it rests on: it will be refused.
    is_doomed: bool,
    /// A hook that is to be answered with the texts that these events offer.
    hook: Option<Hook>,
}

/// A request, and what it is answered once that may be said.
#[derive(Debug)]
struct PendingAnswer {
    waiter: Waiter,
    request: Request,
    answer: Result<Vec<Entity>, Rejection>,
}

#[derive(Debug)]
pub struct Supervisor {
    /// What decisions are made against.
    newest: Fleet,
    /// What is planned, and shown.
    durable: Fleet,
    /// Of the durable streams.
    versions: BTreeMap<Entity, Version>,
    /// The last record that `durable` has.
    folded: Seq,
    pending: VecDeque<Pending>,
    /// How many events of each entity are under way.
    under_way: BTreeMap<Entity, u64>,
    /// What is known of the sessions of agent CLIs beside the record.
    hearings: Hearings,
    /// What agents may still have recorded.
    allowances: Allowances,
    /// Whose next reply is its start text, and how the window began.
    unbriefed: BTreeMap<AgentId, Option<Followed>>,
    /// Until when the hooks under way are answered, the first one first.
    replies: VecDeque<(Time, Waiter)>,
    held: Vec<Held>,
    interpreter: Interpreter,
    timers: Timers,
    /// Reports whose append failed, oldest first, and when to tell them again.
    unrecorded: VecDeque<Observation>,
    tell_again_at: Option<Time>,
    /// Since when the journal takes nothing, and why; until it takes something again.
    read_only: Option<(Time, String)>,
    next_append: u64,
    /// Agents that were let go in this run.
    retired: u64,
}

impl Supervisor {
    /// Of what was folded up to this record.
    pub fn new(fleet: Fleet, versions: BTreeMap<Entity, Version>, folded: Seq) -> Supervisor {
        Supervisor {
            hearings: Hearings::resume(&fleet, &BTreeMap::new(), Limits::default()),
            newest: fleet.clone(),
            durable: fleet,
            versions,
            folded,
            pending: VecDeque::new(),
            under_way: BTreeMap::new(),
            allowances: Allowances::default(),
            unbriefed: BTreeMap::new(),
            replies: VecDeque::new(),
            held: Vec::new(),
            interpreter: Interpreter::default(),
            timers: Timers::default(),
            unrecorded: VecDeque::new(),
            tell_again_at: None,
            read_only: None,
            next_append: 1,
            retired: 0,
        }
    }

    /// With what an earlier run kept of its sessions, and the operator's limits.
    pub fn hearing_on(self, hearings: Hearings) -> Supervisor {
        Supervisor { hearings, ..self }
    }

    pub fn hearings(&self) -> &Hearings {
        &self.hearings
    }

    /// What is known of an agent's newest session.
    pub fn hearing(&self, agent: AgentId) -> Option<&Hearing> {
        self.hearings.get(agent)
    }

    /// The wall clock is so far behind the time that steps are given.
    pub fn wall_clock_is_behind(&mut self, by: Duration) {
        self.newest.set_behind(by);
        self.durable.set_behind(by);
    }

    /// What is recorded for good.
    pub fn fleet(&self) -> &Fleet {
        &self.durable
    }

    /// How many events each durable stream has.
    pub fn versions(&self) -> &BTreeMap<Entity, Version> {
        &self.versions
    }

    /// Whether everything is recorded: no append is under way, and no report waits to be told again.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.unrecorded.is_empty()
    }

    /// When `Tick` is next of use.
    pub fn next_due(&self) -> Option<Time> {
        let reply = self.replies.front().map(|(until, _)| *until);
        let times = [self.timers.first(), self.tell_again_at, reply, self.allowances.next_due()];
        let held = self.held.iter().map(|held| held.until);
        times.into_iter().flatten().chain(held).min()
    }

    pub fn step(&mut self, input: Input, now: Time) -> Vec<Output> {
        match input {
            Input::Request { waiter, request } => self.request(waiter, request, now),
            Input::Observed(observation) => self.observed(observation, now),
            Input::Offer { waiter, agent, number, at_turn_end: ends } => {
                vec![self.offer(waiter, (agent, number), ends, now)]
            }
            Input::Hold { waiter, agent } => self.hold(waiter, agent, now),
            Input::Connected { agent } => self.connected(agent),
            Input::Heard { agent, number, fact } => self.heard_if_due(agent, number, fact, now),
            Input::Tick => self.tick(now),
            Input::Durable(append, seq) => self.recorded(append, seq, now),
            Input::Conflict(append) => self.decided_again(append, now),
            Input::Foreign { events, seq } => self.foreign(events, seq, now),
            Input::Failed(append, why) => self.failed(append, why, now),
            Input::Unwritable(why) => self.turn_read_only(why, now),
        }
    }

    fn request(&mut self, waiter: Waiter, request: Request, now: Time) -> Vec<Output> {
        let is_start = |report: &Observation| matches!(report, Observation::Started { .. });
        // Nothing goes to the journal before the daemon's own start: the boot may be another one.
        let mut outputs = match self.unrecorded.iter().any(is_start) {
            true => self.tell_again(now),
            false => Vec::new(),
        };
        let (answer, decision) = match self.decide(&request, now) {
            Err(refusal) => (Err(Rejection::Refused(refusal)), Decision::default()),
            Ok(decision) => (Ok(decision.about.clone()), decision),
        };
        let asked = PendingAnswer { waiter, request, answer };
        match self.pending.back_mut() {
            _ if !decision.events.is_empty() => {
                outputs.push(self.append(decision, None, vec![asked]));
            }
            // "No" and "it is so already" may rest on what is not durable yet.
            Some(pending) => pending.asked.push(asked),
            None => match &self.read_only {
                Some((since, _)) if asked.answer.is_ok() => {
                    let events =
                        self.newest.observe(&Observation::JournalFailed { since: *since }, now);
                    outputs.push(self.append(of(events, Vec::new()), None, vec![asked]));
                }
                Some(_) | None => outputs.push(asked.answered()),
            },
        }
        outputs
    }

    fn observed(&mut self, observation: Observation, now: Time) -> Vec<Output> {
        if !self.unrecorded.is_empty() {
            self.unrecorded.push_back(observation);
            return Vec::new();
        }
        let events = self.newest.observe(&observation, now);
        if events.is_empty() {
            if let Some(pending) = self.pending.back_mut() {
                pending.reports.push(observation);
            }
            return Vec::new();
        }
        vec![self.append(of(events, observation.texts()), Some(observation), Vec::new())]
    }

    fn forget_if_over(&mut self, entity: &Entity) {
        // A message leaves as it ends.
        if !self.durable.has(entity) && !self.under_way.contains_key(entity) {
            self.forget(entity);
        }
        let Some(id) = entity.agent() else { return };
        if self.durable.agent(id).is_none_or(Agent::is_over) {
            self.hearings.forget(id);
            self.allowances.forget(id);
            self.interpreter.untell(id);
        }
    }

    fn append(
        &mut self,
        decision: Decision,
        report: Option<Observation>,
        asked: Vec<PendingAnswer>,
    ) -> Output {
        let Decision { read, events, texts, .. } = decision;
        let batch = Batch::of(events.clone(), |entity| self.expected(entity))
            .resting_on(&read, |entity| self.expected(entity))
            .with_texts(texts)
            .linked(Link {
                writer: self.newest.node(),
                number: self.next_append,
                after: self.pending.back().map(|before| before.append.0),
            });
        for event in &events {
            self.newest.evolve(event);
            *self.under_way.entry(event.entity()).or_default() += 1;
        }
        let append = AppendId(self.next_append);
        self.next_append += 1;
        let reports = report.into_iter().collect();
        let (is_doomed, hook) = (false, None);
        self.pending.push_back(Pending { append, read, events, reports, asked, is_doomed, hook });
        Output::Append { append, batch }
    }

    /// Where everything under way brings a stream to. The versions of names and conversations are not kept
    /// in memory: nobody else has taken them since the last record that was folded.
    fn expected(&self, entity: &Entity) -> Expected {
        let under_way = self.under_way.get(entity).copied().unwrap_or_default();
        if entity.is_claim() {
            return Expected::Since { seq: self.folded, own: under_way };
        }
        let durable = self.versions.get(entity).map_or(0, |version| version.0);
        Expected::Version(Version(durable + under_way))
    }

    fn recorded(&mut self, append: AppendId, seq: Seq, now: Time) -> Vec<Output> {
        let Some(pending) = self.position(append).and_then(|at| self.pending.remove(at)) else {
            return Vec::new();
        };
        self.read_only = None;
        self.folded = seq;
        let mut touched: Vec<Entity> = Vec::new();
        for event in &pending.events {
            touched.extend(self.durable.evolve(event));
            let entity = event.entity();
            self.landed(&entity);
            if entity.is_counted() {
                self.versions.entry(entity).or_default().0 += 1;
            }
        }
        if pending.is_doomed {
            self.rebuild();
        }
        touched.sort_unstable();
        touched.dedup();
        // What nothing more is under way for is the same in both fleets, and kept once.
        for entity in touched.iter().filter(|entity| !self.under_way.contains_key(*entity)) {
            self.durable.share(&self.newest, entity);
        }
        // At its start the daemon plans everything: recovering is the ordinary path.
        let is_start = |report: &Observation| matches!(report, Observation::Started { .. });
        if pending.reports.iter().any(is_start) {
            touched = self.durable.entities().collect();
        }
        let mut outputs = self.plan_touched(&touched, now);
        outputs.push(Output::Committed { events: pending.events, touched });
        outputs.extend(pending.asked.into_iter().map(PendingAnswer::answered));
        outputs.extend(pending.hook.into_iter().flat_map(|hook| self.reply(hook, now)));
        outputs.extend(self.let_go(now));
        outputs
    }

    fn plan_touched(&mut self, touched: &[Entity], now: Time) -> Vec<Output> {
        let mut outputs = Vec::new();
        for entity in touched {
            outputs.extend(self.plan(entity, now));
            if let Some(agent) = entity.agent() {
                outputs.extend(self.tell_holder(agent));
            }
            self.forget_if_over(entity);
        }
        outputs
    }

    /// An event of this entity is no longer under way.
    fn landed(&mut self, entity: &Entity) {
        if let Some(count) = self.under_way.get_mut(entity) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(entity);
            }
        }
    }

    fn plan(&mut self, entity: &Entity, now: Time) -> Vec<Output> {
        let plan = self.durable.plan(entity, now);
        self.timers.set(entity, plan.timers);
        let fresh = plan.effects.into_iter().filter(|effect| self.interpreter.admit(effect));
        fresh.map(Output::Carry).collect()
    }

    /// U1, after what is durable or under way has changed otherwise than at its end.
    fn rebuild(&mut self) {
        self.newest = self.durable.clone();
        let stands = self.pending.iter().take_while(|pending| !pending.is_doomed);
        for event in stands.flat_map(|pending| &pending.events) {
            self.newest.evolve(event);
        }
    }

    fn position(&self, append: AppendId) -> Option<usize> {
        self.pending.iter().position(|pending| pending.append == append)
    }
}

/// Events that nobody asked for, and the texts that they name.
fn of(events: Vec<Event>, texts: Vec<TextBody>) -> Decision {
    Decision { events, texts, ..Decision::default() }
}

#[cfg(test)]
mod tests;
