//! The simulated daemon: the real supervisor, with its outputs carried out one by one.
//!
//! A crash may fall between any two outputs; then everything but journal and machine is lost.

use std::collections::{BTreeMap, VecDeque};

use perennial_core::conversation::ConversationId;
use perennial_core::effect::{Action, Effect, SessionEffect};
use perennial_core::event::Event;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::{LivingSession, Observation, Report, Stocktaking};
use perennial_core::time::Time;
use perennial_engine::supervisor::{AppendId, Input, Output, Reply, Supervisor};
use perennial_store::Batch;

use crate::heard::Heard;
use crate::journal::{Append, NotTaken, Outcome};
use crate::mutation::Mutation;
use crate::reader::OpenTranscript;
use crate::world::{Happening, HolderStep, World};

/// Which run of a daemon; unlike an epoch, a loser has one too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Life(pub u64);

#[derive(Debug)]
pub struct Daemon {
    pub life: Life,
    pub supervisor: Supervisor,
    /// Its start is in the journal.
    pub ready: bool,
    started: Option<AppendId>,
    stopping: Option<AppendId>,
    /// The newest order for each agent, which its holders see through.
    pub orders: BTreeMap<AgentId, SessionEffect>,
    tick_at: Option<Time>,
    /// Its appends under way, as the simulation saw them go.
    pub pending: VecDeque<(AppendId, Vec<Event>)>,
    /// What was decided and has not gone to the journal yet, as far as that can be predicted.
    queued: VecDeque<Vec<Event>>,
    /// How far it has read the transcripts.
    pub read: BTreeMap<(AgentId, ConversationId), usize>,
    /// What its reader follows.
    pub transcripts_open: BTreeMap<AgentId, OpenTranscript>,
    /// The supervisor tells itself things that the simulation does not see: no predictions.
    pub is_beyond_prediction: bool,
    /// Outcomes of appends that it has not heard of yet.
    unheard: usize,
}

impl Daemon {
    /// Every event that is decided and not known to be durable, in order.
    pub fn unrecorded(&self) -> impl Iterator<Item = &Event> {
        self.pending.iter().flat_map(|(_, events)| events).chain(self.queued.iter().flatten())
    }
}

impl World {
    /// Folds the journal and begins to run; an earlier daemon that still runs holds the lock.
    pub fn start_daemon(&mut self) {
        if !self.daemons.is_empty() {
            self.tell(|| "a second daemon finds the lock held, and ends".into());
            return;
        }
        let life = self.begin_daemon();
        self.tell_start(life);
    }

    /// Two daemons that both believe to hold the lock: the journal decides.
    pub fn race_daemons(&mut self) {
        if self.daemons.is_empty() {
            let lives = [self.begin_daemon(), self.begin_daemon()];
            lives.into_iter().for_each(|life| self.tell_start(life));
        }
    }

    /// The first that a daemon hears: that it runs, and on which boot.
    fn tell_start(&mut self, life: Life) {
        let started = Observation::Started {
            boot: self.machine.boot_id(),
            version: "sim".into(),
            is_copy: false,
            stocktaking: self.take_stock(),
        };
        self.reach(life, Input::Observed(started));
    }

    /// What a daemon finds in the holders' directories before anything else.
    fn take_stock(&self) -> Stocktaking {
        let living = self.machine.shims.iter().filter_map(|(agent, shim)| {
            let number = shim.number?;
            let process = self.machine.sessions.get(&(*agent, number)).filter(|one| one.is_alive());
            let process = process.and_then(|session| session.process);
            Some(LivingSession { agent: *agent, number, process, claim: None, has_records: true })
        });
        Stocktaking { living: living.collect(), lost: None }
    }

    fn begin_daemon(&mut self) -> Life {
        let life = Life(self.next_life);
        self.next_life += 1;
        let fleet = self.fold();
        if self.journal.damaged.is_empty() {
            self.check_replay(&fleet);
            self.check_restored(&fleet);
        } else {
            // Marks are no events: they are found again at every start.
            self.ledger.record = fleet.clone();
        }
        let (versions, hearings) = (self.journal.versions().clone(), self.kept_hearings(&fleet));
        self.tell(|| format!("daemon {} starts", life.0));
        // Every other one had snapshots: it is not told of what is over.
        let fleet = if life.0.is_multiple_of(2) { crate::checks::living(fleet) } else { fleet };
        let mut supervisor =
            Supervisor::new(fleet, versions, self.journal.head()).hearing_on(hearings);
        supervisor.wall_clock_is_behind(self.machine.behind);
        self.daemons.push(Daemon {
            life,
            supervisor,
            ready: false,
            started: None,
            stopping: None,
            orders: BTreeMap::new(),
            tick_at: None,
            pending: VecDeque::new(),
            queued: VecDeque::new(),
            read: BTreeMap::new(),
            transcripts_open: BTreeMap::new(),
            is_beyond_prediction: false,
            unheard: 0,
        });
        life
    }

    pub fn daemon(&self, life: Life) -> Option<&Daemon> {
        self.daemons.iter().find(|daemon| daemon.life == life)
    }

    pub fn daemon_mut(&mut self, life: Life) -> Option<&mut Daemon> {
        self.daemons.iter_mut().find(|daemon| daemon.life == life)
    }

    /// The daemon that runs, as far as the journal knows.
    pub fn running(&self) -> Option<&Daemon> {
        self.daemons.iter().find(|daemon| daemon.ready)
    }

    /// Gone from one moment to the next.
    pub fn crash_daemon(&mut self, life: Life) {
        self.tell(|| format!("daemon {} crashes", life.0));
        self.end_daemon(life);
    }

    /// However it ended: what it had under way is in the journal or not.
    fn end_daemon(&mut self, life: Life) {
        let written = self.random.per_mille(self.faults.written_odds);
        let committed = self.journal.crash(life, written);
        if self.mutation == Some(Mutation::TornAppend) && committed > 0 {
            self.journal.tear();
        }
        self.record_commits();
        // What it had heard and not recorded nobody says again.
        let forgets = self.daemon(life).is_some_and(|daemon| daemon.unrecorded().next().is_some());
        self.ledger.is_blurred |= forgets;
        self.ledger.is_forgetful |= forgets;
        self.daemons.retain(|daemon| daemon.life != life);
        self.judge.daemon_is_gone();
        self.operator.asked.retain(|_, asked| asked.life != life || asked.answer.is_some());
        self.daemon_is_gone(life);
    }

    /// One step of the real supervisor, if this daemon still runs.
    pub fn reach(&mut self, life: Life, input: Input) {
        let now = self.now;
        let Some(input) = self.mutated_input(life, input) else {
            return;
        };
        let input = self.with_checkpoint(life, input);
        if let Input::Observed(Observation::Session { number, report, .. }) = &input
            && !self.is_judged
            && self.daemon(life).is_some()
        {
            self.heard.push_back((*number, report.clone()));
        }
        self.before_step(life, &input);
        let begun = begun(&input);
        let expected = self.expected_events(life, &input);
        let (heard, waiter) = (Heard::of(&input), Heard::waiter(&input));
        if let Some(waiter) = waiter {
            let own = expected.as_ref().and_then(|batches| batches.first());
            self.note_what_it_rests_on(life, waiter, own.map(Vec::as_slice));
        }
        let Some(daemon) = self.daemon_mut(life) else {
            return;
        };
        let batches = expected.into_iter().flatten();
        daemon.queued.extend(batches.filter(|batch| !batch.is_empty()));
        let outputs = daemon.supervisor.step(input, now);
        self.after_step(life, heard);
        self.foretell_less(life, heard, &outputs);
        for output in self.mutated_outputs(life, waiter, outputs) {
            self.carry(life, output);
            if self.is_broken() || self.daemon(life).is_none() {
                return;
            }
            if self.random.per_mille(self.faults.crash_odds) {
                self.crash_daemon(life);
                return;
            }
        }
        // A session was found alive: what was missed meanwhile lies in files.
        if let Some((agent, number)) = begun {
            self.look(life, agent, number);
        }
        self.end_if_told_to(life, heard);
        self.hear_missed();
        self.check_daemon(life);
        self.set_tick(life);
    }

    /// The daemon's shell sees the jump before it looks at any timer.
    pub fn reach_after_jump(&mut self, life: Life, by: std::time::Duration) {
        if let Some(daemon) = self.daemon_mut(life) {
            daemon.tick_at = None;
            self.reach(life, Input::Observed(Observation::ClockJumped { by }));
        }
    }

    fn before_step(&mut self, life: Life, input: &Input) {
        if self.daemon(life).is_none() {
            return;
        }
        self.tell(|| match input {
            Input::Request { waiter, .. } => format!("  {waiter:?} reaches daemon {}", life.0),
            Input::Observed(observation) => format!("daemon {} hears {observation:?}", life.0),
            Input::Connected { agent } => {
                format!("the holder of {} connects to daemon {}", agent.0, life.0)
            }
            Input::Offer { agent, .. } | Input::Hold { agent, .. } => {
                format!("a hook of {} asks daemon {}", agent.0, life.0)
            }
            Input::Heard { agent, number, fact } => {
                format!("daemon {} hears of {}.{number}: {fact:?}", life.0, agent.0)
            }
            Input::Tick => format!("daemon {} ticks", life.0),
            Input::Durable(append, _) => format!("daemon {}: {append:?} is durable", life.0),
            Input::Conflict(append) => format!("daemon {}: {append:?} came too late", life.0),
            Input::Foreign { events, .. } => format!("daemon {} follows {events:?}", life.0),
            Input::Failed(append, why) => format!("daemon {}: {append:?} failed: {why}", life.0),
            Input::Unwritable(why) => format!("daemon {} can't write: {why}", life.0),
        });
    }

    /// Keeps the books about what this daemon has under way.
    fn after_step(&mut self, life: Life, heard: Heard) {
        match heard {
            Heard::Durable(append) | Heard::Failed(append) => {
                if let Some(daemon) = self.daemon_mut(life) {
                    daemon.pending.retain(|(pending, _)| *pending != append);
                    daemon.unheard = daemon.unheard.saturating_sub(1);
                    if heard == Heard::Failed(append) {
                        daemon.queued.clear();
                        daemon.is_beyond_prediction = true;
                    } else if daemon.supervisor.is_settled() {
                        daemon.is_beyond_prediction = false;
                    }
                    daemon.ready |=
                        heard == Heard::Durable(append) && daemon.started == Some(append);
                }
                if heard == Heard::Failed(append) {
                    // What is told again may have been overtaken by what was shown after it.
                    (self.ledger.is_blurred, self.ledger.is_forgetful) = (true, true);
                }
            }
            Heard::Tick => {
                if let Some(daemon) = self.daemon_mut(life) {
                    daemon.tick_at = None;
                    daemon.is_beyond_prediction |= !daemon.supervisor.is_settled();
                }
            }
            Heard::Else => {}
        }
    }

    /// An orderly end, once that is recorded.
    fn end_if_told_to(&mut self, life: Life, heard: Heard) {
        let stopped = |daemon: &Daemon| match heard {
            Heard::Durable(append) => daemon.stopping == Some(append),
            Heard::Failed(_) | Heard::Tick | Heard::Else => false,
        };
        if self.daemon(life).is_some_and(stopped) {
            self.tell(|| format!("daemon {} ends in order", life.0));
            self.end_daemon(life);
        }
    }

    fn carry(&mut self, life: Life, output: Output) {
        match output {
            Output::Append { append, batch } => self.append(life, append, batch),
            Output::Answer { waiter, answer } => {
                let answer = self.recalled(life, waiter, answer);
                self.answered(waiter, &answer);
            }
            Output::Reply { waiter, with: Reply::Texts(offered) } => {
                self.hook_is_answered(life, waiter, &offered);
            }
            Output::Reply { waiter, with: Reply::StartText(..) } => {
                self.hook_is_answered(life, waiter, &[]);
            }
            Output::Carry(Effect::Session(effect)) => self.order(life, effect),
            Output::Carry(Effect::Deliver(delivery)) => self.deliver(life, &delivery, 0),
            Output::Carry(Effect::Job(effect)) => self.order_job(life, &effect),
            Output::Carry(Effect::Keep(effect)) => self.order_snapshot(life, &effect),
            Output::Carry(Effect::Checkpoint(effect)) => self.order_checkpoint(life, effect),
            Output::Carry(Effect::Snapshot(effect)) => self.care_for_snapshots(life, effect),
            // A simulated holder sees for itself what keys reach, and has no environment.
            Output::Carry(Effect::Focus(_) | Effect::Continue { .. })
            | Output::Carry(Effect::PromptHeard { .. } | Effect::RemoveSecrets { .. })
            | Output::Silent { .. } => {}
            Output::Committed { events, .. } => {
                self.look_at_ended(life, &events);
                self.retire(life);
            }
        }
    }

    /// The store has everything here: what is over leaves memory at once.
    fn retire(&mut self, life: Life) {
        let Some(daemon) = self.daemon_mut(life) else { return };
        let supervisor = &mut daemon.supervisor;
        let (fleet, versions) = (supervisor.fleet(), supervisor.versions());
        let over = fleet.entities().filter(|entity| fleet.is_over(entity));
        let kept: Vec<_> =
            over.filter_map(|one| Some((one.clone(), *versions.get(&one)?))).collect();
        supervisor.retire(&kept);
    }

    pub fn order(&mut self, life: Life, effect: SessionEffect) {
        self.tell(|| {
            let action = match effect.action {
                Action::Start(..) => "Start".to_owned(),
                Action::Hold | Action::End(_) | Action::Release => format!("{:?}", effect.action),
            };
            format!("daemon {} orders {action} {:?}.{}", life.0, effect.agent.0, effect.number)
        });
        self.check_waits(&effect);
        let agent = effect.agent;
        if matches!(effect.action, Action::Start(..))
            && let Err(found) = self.judge.orders_start(agent, effect.number)
        {
            self.broken(found.property, || found.what);
        }
        if let Some(daemon) = self.daemon_mut(life) {
            daemon.orders.insert(agent, effect);
        }
        self.hop(Happening::Holder { life, agent, step: HolderStep::TakeUp });
    }

    fn append(&mut self, life: Life, append: AppendId, batch: Batch) {
        let events: Vec<Event> =
            batch.entries.iter().flat_map(|entry| entry.events.iter().cloned()).collect();
        self.tell(|| {
            let lines: Vec<String> = events.iter().map(crate::words::event).collect();
            format!("daemon {} appends {append:?}: {}", life.0, lines.join("; "))
        });
        if let Some(daemon) = self.daemon_mut(life) {
            if events.iter().any(crate::words::is_daemon_started) {
                daemon.started = Some(append);
            }
            if events.iter().any(crate::words::is_daemon_stopped) {
                daemon.stopping = Some(append);
            }
            let mut expected = daemon.queued.pop_front().unwrap_or_default();
            let predicted = !daemon.is_beyond_prediction;
            daemon.pending.push_back((append, events.clone()));
            if predicted {
                self.check_append(&mut expected, &events);
            }
        }
        self.journal.submit(Append { life, append, batch });
        self.begin_commit();
    }

    fn begin_commit(&mut self) {
        if !self.journal.may_begin() {
            return;
        }
        let small = self.random.per_mille(self.faults.small_group_odds);
        self.journal.begin(if small { 1 } else { usize::MAX });
        let micros = self.faults.commit_micros.clone();
        self.soon(&micros, Happening::CommitEnds);
    }

    pub fn end_commit(&mut self) {
        let io = !self.random.per_mille(self.faults.io_error_odds);
        for outcome in self.journal.finish(io) {
            let input = match outcome.taken {
                Ok(seq) => Input::Durable(outcome.append, seq),
                Err(NotTaken::AfterFailed) => Input::Conflict(outcome.append),
                Err(why) => Input::Failed(outcome.append, why.to_string()),
            };
            self.check_outcome(&outcome);
            if outcome.taken == Err(NotTaken::Conflict) && self.is_start(&outcome) {
                self.tell(|| format!("daemon {} lost the race, and ends", outcome.life.0));
                self.end_daemon(outcome.life);
                continue;
            }
            if let Some(daemon) = self.daemon_mut(outcome.life) {
                daemon.unheard += 1;
            }
            // One after the other, in the order of their commit.
            let hop = std::time::Duration::from_micros(self.faults.hop_micros.start);
            self.after(hop, Happening::Reaches { life: outcome.life, input });
        }
        self.record_commits();
        self.begin_commit();
    }

    fn is_start(&self, outcome: &Outcome) -> bool {
        let daemon = self.daemon(outcome.life);
        daemon.is_some_and(|daemon| !daemon.ready && daemon.started == Some(outcome.append))
    }

    /// `Tick` when the supervisor wants it.
    fn set_tick(&mut self, life: Life) {
        let now = self.now;
        let Some(daemon) = self.daemon_mut(life) else {
            return;
        };
        let Some(due) = daemon.supervisor.next_due().map(|due| due.max(now)) else {
            return;
        };
        if daemon.tick_at.is_none_or(|tick_at| due < tick_at) {
            daemon.tick_at = Some(due);
            self.after(due.since(now), Happening::Reaches { life, input: Input::Tick });
        }
    }

    /// Whether the daemon has heard of everything that it submitted.
    pub fn has_heard_all(&self, life: Life) -> bool {
        self.daemon(life).is_some_and(|daemon| daemon.unheard == 0) && self.journal.is_quiet()
    }

    /// A report on its way to a daemon: prompt, late, or twice.
    pub fn report(&mut self, life: Life, agent: AgentId, number: SessionNumber, report: Report) {
        if self.random.per_mille(self.faults.duplicate_odds) {
            let again = Observation::Session { agent, number, report: report.clone() };
            let micros = self.faults.late_micros.clone();
            self.soon(&micros, Happening::Reaches { life, input: Input::Observed(again) });
        }
        let late = self.random.per_mille(self.faults.late_odds);
        let micros = if late { &self.faults.late_micros } else { &self.faults.hop_micros };
        let micros = micros.clone();
        let told = Observation::Session { agent, number, report };
        self.soon(&micros, Happening::Reaches { life, input: Input::Observed(told) });
    }
}

fn begun(input: &Input) -> Option<(AgentId, SessionNumber)> {
    let Input::Observed(Observation::Session { agent, number, report: Report::Executed(_) }) =
        input
    else {
        return None;
    };
    Some((*agent, *number))
}
