//! The properties of one running daemon and of the machine: checked at every step.

use perennial_core::event::Event;
use perennial_core::fact::Fact;
use perennial_core::fleet::Fleet;
use perennial_core::hearing::{self, Hearing, Hearings, Tell};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::message::{self, Trace};
use perennial_core::observation::Observation;
use perennial_core::session::Phase;
use perennial_engine::supervisor::{Input, Output, Waiter};

use crate::daemon::{Daemon, Life};
use crate::heard::Heard;
use crate::journal::{NotTaken, Outcome};
use crate::mutation::Mutation;
use crate::world::World;

/// In a large world.
const CLOSE_LOOK_EVERY: u64 = 256;

impl World {
    /// I9: folding the journal anew gives what the record says; and nothing acknowledged is missing.
    pub fn check_replay(&mut self, fleet: &Fleet) {
        if *fleet != self.ledger.record {
            let what = format!("{fleet:?}\n  is not\n  {:?}", self.ledger.record);
            self.broken("I9: replay equals the live state", || what);
        }
        // What was checked at an earlier start is there for good.
        let mut recent = self.operator.acknowledged.iter().rev().take(8);
        if let Some(lost) = recent.find(|event| !self.journal.has(event)).cloned() {
            self.broken("2: what was answered survives", || format!("{lost:?}"));
        }
    }

    /// A fleet restored from its entities alone is the one that folding made.
    pub fn check_restored(&mut self, fleet: &Fleet) {
        let mut restored = Fleet::restore(fleet.parts()).under(fleet.policy().clone());
        restored.set_behind(fleet.behind());
        if restored != *fleet {
            let what = format!("{restored:?}\n  is not\n  {fleet:?}");
            self.broken("a restored fleet is the folded one", || what);
        }
    }

    /// What the core says to this input on durable + all that is under way (U1). `None`: the
    /// simulation can't tell, since the supervisor tells itself something (timers, unrecorded reports).
    /// One batch for each append.
    pub fn expected_events(&self, life: Life, input: &Input) -> Option<Vec<Vec<Event>>> {
        let daemon = self.daemon(life).filter(|daemon| !daemon.is_beyond_prediction)?;
        // What an answer rests on is needed in any world.
        if self.is_large && !matches!(input, Input::Request { .. }) {
            return None;
        }
        let mut newest;
        let mut fleet = daemon.supervisor.fleet();
        if daemon.unrecorded().next().is_some() {
            newest = fleet.clone();
            for event in daemon.unrecorded() {
                newest.evolve(event);
            }
            fleet = &newest;
        }
        match input {
            Input::Request { request, .. } => {
                Some(vec![fleet.decide(request, self.now).map(|d| d.events).unwrap_or_default()])
            }
            Input::Observed(observation) => Some(vec![fleet.observe(observation, self.now)]),
            Input::Heard { agent, number, fact } => {
                self.expected_of_fact(daemon, fleet, (*agent, *number), fact)
            }
            Input::Offer { agent, number, at_turn_end: true, .. } => {
                Some(vec![fleet.offer_at_turn_end(*agent, *number, self.now)])
            }
            // That reply is the briefing's; texts go with a later one.
            Input::Offer { agent, .. } if daemon.supervisor.owes_briefing(*agent) => {
                Some(vec![Vec::new()])
            }
            Input::Offer { agent, number, .. } => {
                Some(vec![fleet.offer(*agent, *number, self.now)])
            }
            Input::Connected { .. } | Input::Hold { .. } => Some(Vec::new()),
            Input::Tick
            | Input::Durable(..)
            | Input::Conflict(_)
            | Input::Foreign { .. }
            | Input::Failed(..)
            | Input::Unwritable(_) => None,
        }
    }

    /// A reply at a turn's end has the supervisor hear that the turn goes on: the simulation can't tell in advance.
    pub fn foretell_less(&mut self, life: Life, heard: Heard, outputs: &[Output]) {
        let tells_itself = matches!(heard, Heard::Durable(_))
            && outputs.iter().any(|output| matches!(output, Output::Append { .. }));
        if let Some(daemon) = self.daemon_mut(life).filter(|_| tells_itself) {
            daemon.is_beyond_prediction = true;
        }
    }

    /// What follows from a fact: signs, traces of texts, reminders, and a line that became free.
    fn expected_of_fact(
        &self,
        daemon: &Daemon,
        fleet: &Fleet,
        (agent, number): (AgentId, SessionNumber),
        fact: &Fact,
    ) -> Option<Vec<Vec<Event>>> {
        let known = fleet.agent(agent)?;
        let mut hearings = daemon.supervisor.hearings().of(agent);
        let obstacle =
            |hearings: &Hearings, fleet: &Fleet| hearings.get(agent)?.obstacle(fleet.agent(agent)?);
        let in_the_way = obstacle(&hearings, fleet);
        let fact = message::as_recorded(fleet, agent, fact.by_core_time(fleet.behind()));
        let fact = &*fact;
        let heard = hearings.hear(known, number, fact, self.now);
        let sign = |sign| Observation::Harness { agent, number, sign };
        let traced = |trace| Observation::Traced { agent, number, trace };
        let mut reports: Vec<Observation> = heard.signs.into_iter().map(sign).collect();
        reports.extend(hearings.trace(known, number, fact, self.now).map(traced));
        for tell in heard.tell {
            if let Tell::Reminder { calls } = tell {
                let sample = hearings.get(agent).and_then(Hearing::sample);
                let sample = sample.map(|(sample, _)| sample);
                reports.push(Observation::ReminderDue { agent, number, calls, sample });
            }
        }
        let mut fleet = fleet.clone();
        let mut batches = Vec::new();
        let mut take = |report: &Observation, fleet: &mut Fleet| {
            let events = fleet.observe(report, self.now);
            events.iter().for_each(|event| drop(fleet.evolve(event)));
            batches.push(events);
        };
        reports.iter().for_each(|report| take(report, &mut fleet));
        if hearing::frees_line(in_the_way, fact, obstacle(&hearings, &fleet)) {
            take(&traced(Trace::LineFree), &mut fleet);
        }
        Some(batches)
    }

    /// Notes what a request rests on: its own events, or, if it was so already, all under way.
    pub fn note_what_it_rests_on(&mut self, life: Life, waiter: Waiter, own: Option<&[Event]>) {
        let Some(own) = own else {
            return;
        };
        let rests_on = if own.is_empty() {
            self.daemon(life).map(|daemon| daemon.unrecorded().cloned().collect())
        } else {
            Some(own.to_vec())
        };
        if let Some(asked) = self.operator.asked.get_mut(&waiter) {
            asked.rests_on = rests_on;
            asked.is_own = !own.is_empty();
        }
    }

    /// What goes to the journal is what the core decided, no more, no less.
    pub fn check_append(&mut self, expected: &mut Vec<Event>, appended: &[Event]) {
        if self.is_large {
            return;
        }
        let mut made = appended.to_vec();
        // An append has its events by stream; within one the order counts.
        made.sort_by_key(Event::entity);
        expected.sort_by_key(Event::entity);
        if made != *expected {
            self.broken("U1: decided on durable + under way", || {
                format!("{made:?}\n  is not\n  {expected:?}")
            });
        }
    }

    /// Whether whole fleets are compared at this step.
    pub fn looks_closely(&self) -> bool {
        !self.is_large || self.steps.is_multiple_of(CLOSE_LOOK_EVERY)
    }

    /// One that heard of everything knows exactly what the journal holds.
    pub fn check_daemon(&mut self, life: Life) {
        if !self.looks_closely() || !self.has_heard_all(life) {
            return;
        }
        // One that has not won its race yet may be behind.
        let Some(daemon) = self.daemon(life).filter(|daemon| daemon.ready) else {
            return;
        };
        let live = living(daemon.supervisor.fleet().clone());
        let record = living(self.ledger.record.clone());
        if live != record {
            let what = format!("{live:?}\n  is not\n  {record:?}");
            self.broken("I9: the live state equals the journal", || what);
        }
    }

    /// Nobody but a racing daemon can be in conflict, unless the journal takes what rests on
    /// nothing.
    pub fn check_outcome(&mut self, outcome: &Outcome) {
        let ready = self.daemon(outcome.life).is_some_and(|daemon| daemon.ready);
        let chained = self.mutation != Some(Mutation::UnchainedAppends);
        if outcome.taken == Err(NotTaken::Conflict) && ready && chained {
            self.broken("one daemon is never in conflict with itself", || format!("{outcome:?}"));
        }
    }

    /// U2: a session is claimed on a durable order only, and never after its end was recorded.
    pub fn check_claim(&mut self, agent: AgentId, number: SessionNumber) {
        let session = self.ledger.record.agent(agent).and_then(|agent| agent.session.as_ref());
        let ordered = session.is_some_and(|session| {
            session.number == number && !matches!(session.phase, Phase::Wanted | Phase::Ended)
        });
        // What can't be read may be the order.
        if !ordered && !self.judge.has_gap(agent) {
            let session = session.cloned();
            self.broken("U2: nothing is done before it is durable, or after it is over", || {
                format!("{}.{number} is begun, the journal has {session:?}", agent.0)
            });
        }
    }

    /// 1: at most one session of an agent has processes, ever.
    pub fn check_execution(&mut self, agent: AgentId, number: SessionNumber) {
        let other = self.machine.sessions_of(agent).find(|(_, session)| session.has_processes());
        if let Some((other, _)) = other {
            self.broken("1: at most one running session per agent", || {
                format!("{}.{number} begins while {other} has processes", agent.0)
            });
        }
        self.check_claim(agent, number);
        if let Err(found) = self.judge.executes(agent, number) {
            self.broken(found.property, || found.what);
        }
    }
}

/// The fleet without what is over, which leaves memory sooner or later.
pub fn living(mut fleet: Fleet) -> Fleet {
    loop {
        let over: Vec<_> = fleet.entities().filter(|entity| fleet.is_over(entity)).collect();
        if over.is_empty() {
            return fleet;
        }
        over.iter().for_each(|entity| _ = fleet.retire(entity));
    }
}
