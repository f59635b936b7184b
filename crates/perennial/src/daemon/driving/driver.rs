//! Drives the supervisor: one thread that feeds it inputs and carries its outputs out.
//!
//! Every output passes through here: appends to the journal, effects to the host, rows to the
//! projections, files to the mirror. It has no policy.

use perennial_store::Store;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use perennial_core::command::Request;
use perennial_core::effect::Effect;
use perennial_core::entity::Entity;
use perennial_core::fact::Fact;
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::Outcome;
use perennial_core::observation::Observation;
use perennial_core::owner::Owner;
use perennial_core::retention::Recordings;
use perennial_core::snapshot::SnapshotReport;
use perennial_core::time::Time;
use perennial_engine::harness::dialect::Listing;
use perennial_engine::host::{Holders, HostReport};
use perennial_engine::supervisor::{AppendId, Input, Output, Rejection, Reply, Supervisor, Waiter};
use perennial_store::journal::{AppendError, Seq};
use tokio::sync::{oneshot, watch};

pub use crate::error_chain::chain;

use crate::daemon::driving::awaited::{Awaited, Milestone};
use crate::daemon::driving::deliver::Deliveries;
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::driving::jobs;
use crate::daemon::driving::keeping::{KeptWork, ReadSteps};
use crate::daemon::driving::presence::Presence;
use crate::daemon::driving::projections::Projections;
use crate::daemon::hearing::commit_watcher::CommitWatcher;
use crate::daemon::hearing::reader::{Reader, Sighting};
use crate::daemon::hearing::session_list_watcher::SessionListWatcher;
use crate::daemon::hearing::spending::Spending;
use crate::daemon::hearing::terminal_reader::TerminalReader;
use crate::daemon::housekeeper::Housekeeper;
use crate::daemon::snapshot_keeper::SnapshotKeeper;
use crate::daemon::surface::identity::Registry;
use crate::daemon::time::CoreClock;

/// What reaches the driver's thread.
pub enum Incoming {
    Request {
        request: Request,
        reply: oneshot::Sender<Result<Vec<Entity>, Rejection>>,
    },
    Host(HostReport),
    /// The surface listens.
    Listening,
    Appended(AppendId, Result<Seq, AppendError>),
    /// The journal's files are not where they were.
    Unwritable(String),
    Look(Box<dyn FnOnce(&FleetView<'_>) + Send>),
    Await {
        agent: AgentId,
        point: Milestone,
        reply: oneshot::Sender<()>,
    },
    /// A text was typed, or was not.
    Delivered {
        message: MessageId,
        attempt: u32,
        outcome: Outcome,
    },
    /// The reply comes when nothing more will happen to the message.
    AwaitEnd {
        id: MessageId,
        reply: oneshot::Sender<()>,
    },
    /// A harness called a hook; the reply is what its session is to be told.
    Called {
        agent: AgentId,
        number: Option<SessionNumber>,
        fact: Option<Fact>,
        reply: oneshot::Sender<Option<String>>,
    },
    /// A harness's status line was drawn; the reply is a line of ours.
    Drawn {
        agent: AgentId,
        number: Option<SessionNumber>,
        fact: Fact,
        reply: oneshot::Sender<String>,
    },
    /// Conversations were read.
    Sighted(Sighting),
    /// A vendor's list of live sessions has changed.
    Listed(Listing),
    /// An agent says how much of its window is used.
    Reported {
        agent: AgentId,
        percent: u64,
    },
    /// What lies on this machine of what sessions printed.
    Recordings(Vec<Recordings>),
    /// What an order to take a snapshot of a work tree came to.
    WorkKept(Box<KeptWork>),
    /// A checkpoint without a snapshot can be composed.
    StepsRead(Box<ReadSteps>),
    /// What was done for the snapshots of an agent.
    Snapshots {
        agent: AgentId,
        report: SnapshotReport,
    },
    /// Whether the last set of snapshots was kept.
    Kept(bool),
    /// Record the orderly end, and leave.
    Stop,
}

/// Everything that can be shown, at one moment.
#[derive(Debug, Clone, Copy)]
pub struct FleetView<'a> {
    pub supervisor: &'a Supervisor,
    pub presence: &'a Presence,
    pub spending: &'a Spending,
    pub now: Time,
}

/// The way to the driver, for everyone else.
#[derive(Debug, Clone)]
pub struct DriverHandle {
    sender: Sender<Incoming>,
}

/// The driver is gone: the daemon is ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the daemon is ending")]
pub struct Closing;

impl DriverHandle {
    pub async fn request(
        &self,
        request: Request,
    ) -> Result<Result<Vec<Entity>, Rejection>, Closing> {
        let (reply, answer) = oneshot::channel();
        self.send(Incoming::Request { request, reply })?;
        answer.await.map_err(|_| Closing)
    }

    /// Reads what is shown now.
    pub async fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&FleetView<'_>) -> T + Send + 'static,
    ) -> Result<T, Closing> {
        let (reply, answer) = oneshot::channel();
        self.send(Incoming::Look(Box::new(move |view| {
            let _ = reply.send(read(view));
        })))?;
        answer.await.map_err(|_| Closing)
    }

    /// Waits until the agent's session has reached this milestone.
    pub async fn reached(&self, agent: AgentId, point: Milestone) -> Result<(), Closing> {
        let (reply, answer) = oneshot::channel();
        self.send(Incoming::Await { agent, point, reply })?;
        answer.await.map_err(|_| Closing)
    }

    /// Waits until nothing more will happen to a message.
    pub async fn message_over(&self, id: MessageId) -> Result<(), Closing> {
        let (reply, answer) = oneshot::channel();
        self.send(Incoming::AwaitEnd { id, reply })?;
        answer.await.map_err(|_| Closing)
    }

    pub fn send(&self, message: Incoming) -> Result<(), Closing> {
        self.sender.send(message).map_err(|_| Closing)
    }
}

/// What the driver needs from the world.
pub struct World {
    pub journal: Arc<dyn Store>,
    pub holders: Holders,
    pub registry: Arc<Registry>,
    pub harnesses: Harnesses,
    pub reader: Reader,
    pub session_lists: SessionListWatcher,
    pub terminals: TerminalReader,
    pub commits: CommitWatcher,
    pub projections: Projections,
    pub deliveries: Deliveries,
    pub house: Housekeeper,
    pub snapshots: SnapshotKeeper,
    pub clock: CoreClock,
    /// The last record that what is shown takes in.
    pub shown: watch::Sender<Seq>,
    /// Set to true when the daemon must end.
    pub ending: watch::Sender<bool>,
}

/// Somebody else writes to this home's journal: the newer one goes on, this one must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another daemon has written to this home's journal")]
pub struct Superseded;

pub fn channel_pair() -> (DriverHandle, Receiver<Incoming>) {
    let (sender, receiver) = channel();
    (DriverHandle { sender }, receiver)
}

/// Starts the thread; it ends after `Incoming::Stop`.
pub fn start(
    supervisor: Supervisor,
    presence: Presence,
    spending: Spending,
    world: World,
    driver: DriverHandle,
    inbox: Receiver<Incoming>,
    first: Observation,
) -> std::io::Result<JoinHandle<Result<(), Superseded>>> {
    std::thread::Builder::new().name("driver".to_owned()).spawn(move || {
        let mut driver = Driver {
            supervisor,
            presence,
            spending,
            world,
            driver,
            replies: HashMap::new(),
            hooks: HashMap::new(),
            awaited: Awaited::default(),
            next_waiter: 0,
            stopping: false,
            superseded: false,
        };
        // Without this thread nothing is answered: however it ends, the daemon ends with it.
        let _ends_all = EndsAll(driver.world.ending.clone());
        driver.mirror_what_was_missed();
        driver.remove_unrecorded(&first);
        driver.observe(first);
        driver.look_after_all();
        driver.run(&inbox)
    })
}

struct EndsAll(watch::Sender<bool>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

pub struct Driver {
    pub supervisor: Supervisor,
    pub presence: Presence,
    pub spending: Spending,
    pub world: World,
    pub driver: DriverHandle,
    /// Hooks that wait for what they are answered with.
    pub hooks: HashMap<Waiter, oneshot::Sender<Option<String>>>,
    replies: HashMap<Waiter, oneshot::Sender<Result<Vec<Entity>, Rejection>>>,
    awaited: Awaited,
    next_waiter: u64,
    stopping: bool,
    superseded: bool,
}

impl Driver {
    fn run(&mut self, inbox: &Receiver<Incoming>) -> Result<(), Superseded> {
        loop {
            if self.superseded {
                self.world.ending.send_replace(true);
                return Err(Superseded);
            }
            let is_done = self.supervisor.is_settled() || self.supervisor.read_only().is_some();
            if self.stopping && is_done {
                break;
            }
            let message = match self.until_due() {
                Some(wait) => inbox.recv_timeout(wait),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => self.input(Input::Tick),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let now = self.now();
        let Driver { supervisor, presence, spending, world, .. } = self;
        world.projections.close(supervisor, presence, spending, &*world.journal, now);
        Ok(())
    }

    fn until_due(&mut self) -> Option<Duration> {
        let due = self.supervisor.next_due()?;
        let now = self.now();
        Some(due.since(now))
    }

    /// The time; a jump of the clock is told before anything else is.
    pub fn now(&mut self) -> Time {
        let reading = self.world.clock.read();
        self.supervisor.wall_clock_is_behind(reading.behind);
        if let Some(by) = reading.jump {
            tracing::warn!(seconds = by.as_secs(), "the clock jumped ahead");
            let jumped = Input::Observed(Observation::ClockJumped { by });
            let outputs = self.supervisor.step(jumped, reading.now);
            self.carry(outputs, reading.now);
        }
        reading.now
    }

    pub fn observe(&mut self, observation: Observation) {
        self.input(Input::Observed(observation));
    }

    pub fn input(&mut self, input: Input) {
        let now = self.now();
        let outputs = self.supervisor.step(input, now);
        self.carry(outputs, now);
    }

    fn take(&mut self, message: Incoming) {
        match message {
            Incoming::Request { request, reply } => {
                let waiter = self.waiter();
                self.replies.insert(waiter, reply);
                self.input(Input::Request { waiter, request });
            }
            Incoming::Host(report) => self.host(report),
            Incoming::Listening => self.hear_all_unheard(),
            Incoming::Appended(append, Ok(seq)) => {
                self.input(Input::Durable(append, seq));
                self.world.projections.mirror.put_up_to(seq.0);
                self.world.shown.send_replace(seq);
            }
            // A stream is further than we brought it. (One behind follows from a failed append.)
            Incoming::Appended(_, Err(AppendError::Conflict { expected, actual, .. }))
                if expected.is_passed_by(actual) =>
            {
                tracing::error!("{Superseded}; this one ends");
                self.superseded = true;
            }
            Incoming::Appended(append, Err(AppendError::AfterFailed)) => {
                self.input(Input::Conflict(append));
            }
            Incoming::Appended(append, Err(error)) => {
                let why = chain(&error);
                tracing::error!(%why, "an append failed");
                self.input(Input::Failed(append, why));
            }
            Incoming::Unwritable(why) => self.input(Input::Unwritable(why)),
            Incoming::Look(read) => {
                let now = self.now();
                let Driver { supervisor, presence, spending, .. } = self;
                read(&FleetView { supervisor, presence, spending, now });
            }
            Incoming::Await { agent, point, reply } => {
                self.awaited.add_point(agent, point, reply);
                self.awaited.tell(self.supervisor.fleet(), &[agent]);
            }
            Incoming::Delivered { message, attempt, outcome } => {
                tracing::debug!(%message, attempt, ?outcome, "delivery");
                self.observe(Observation::Delivered { message, attempt, outcome });
                self.look_after(message);
            }
            Incoming::AwaitEnd { id, reply } => {
                self.awaited.add_end(id, reply);
                self.awaited.tell(self.supervisor.fleet(), &[]);
            }
            Incoming::Called { agent, number, fact, reply } => {
                self.called(agent, number, fact, reply);
            }
            Incoming::Drawn { agent, number, fact, reply } => {
                let _ = reply.send(self.drawn(agent, number, fact));
            }
            Incoming::Sighted(sighting) => self.sighted(sighting),
            Incoming::Listed(listing) => self.listed(listing),
            Incoming::Reported { agent, percent } => self.reported(agent, percent),
            Incoming::Recordings(found) => self.observe(Observation::RecordingsFound(found)),
            Incoming::WorkKept(kept) => self.work_kept(*kept),
            Incoming::StepsRead(read) => self.steps_read(*read),
            Incoming::Snapshots { agent, report } => {
                self.observe(Observation::Snapshots { agent, report });
            }
            Incoming::Kept(is_kept) => self.kept(is_kept),
            Incoming::Stop => {
                self.stopping = true;
                self.observe(Observation::Stopping);
            }
        }
    }

    fn host(&mut self, report: HostReport) {
        match report {
            HostReport::Session { agent, number, report } => {
                tracing::debug!(%agent, %number, ?report, "report");
                let report = match self.supervisor.fleet().agent(agent) {
                    Some(known) => self.world.harnesses.as_it_ends(known, report),
                    None => report,
                };
                self.observe(Observation::Session { agent, number, report });
            }
            HostReport::Began { .. } => {} // The registry has it already.
            HostReport::Job { job, number, report } => {
                if let Some(report) = jobs::report(report) {
                    self.observe(Observation::Job { job, number, report });
                }
            }
            HostReport::Line { agent, number, line } => self.line(agent, number, line),
            HostReport::Announced { agent, number, state } => self.announced(agent, number, state),
            HostReport::Outranked { by } => self.outranked(by),
            HostReport::Connected { agent, number, shim, cgroup } => {
                self.world.registry.add(Owner::Agent(agent), shim, cgroup);
                self.presence.connected(agent, number);
                self.input(Input::Connected { agent });
                self.look_around(agent);
            }
            HostReport::Disconnected { agent, number, why } => {
                tracing::info!(%agent, %number, %why, "holder not connected");
                let now = self.now();
                self.presence.disconnected(agent, why, now);
            }
        }
    }

    fn carry(&mut self, outputs: Vec<Output>, now: Time) {
        let mut first_starts = Vec::new();
        for output in outputs {
            match output {
                // What it was committed with is laid out first, so that its program finds it in the mirror.
                Output::Carry(Effect::Session(effect)) if effect.is_first_start() => {
                    first_starts.push(effect);
                }
                Output::Append { append, batch } => {
                    let driver = self.driver.clone();
                    let done = move |result| {
                        // A driver that is gone needs no answer.
                        let _ = driver.send(Incoming::Appended(append, result));
                    };
                    self.world.journal.append(batch, Box::new(done));
                }
                Output::Answer { waiter, answer } => {
                    if let Some(reply) = self.replies.remove(&waiter) {
                        let _ = reply.send(answer);
                    }
                }
                Output::Reply { waiter, with } => {
                    if let Some(reply) = self.hooks.remove(&waiter) {
                        let _ = reply.send(match with {
                            Reply::StartText(agent, how) => self.session_start(agent, how),
                            Reply::Texts(offered) => self.texts(&offered),
                        });
                    }
                }
                Output::Carry(effect) => self.carry_out(effect),
                Output::Silent { agent, number, lasted } => {
                    let seconds = lasted.as_secs();
                    tracing::warn!(%agent, %number, seconds, "the turn has been silent");
                }
                Output::Committed { events, touched } => {
                    let touched: Vec<AgentId> = touched.iter().filter_map(Entity::agent).collect();
                    self.lay_out(&events, &touched, now);
                    self.tell_holders(&events);
                    self.look_at_changed(&events);
                    self.presence.note_ended(self.supervisor.fleet(), &touched, now);
                    self.awaited.tell(self.supervisor.fleet(), &touched);
                }
            }
        }
        for effect in first_starts {
            self.world.projections.mirror.settle(effect.agent);
            self.order(effect);
        }
    }

    pub fn waiter(&mut self) -> Waiter {
        self.next_waiter += 1;
        Waiter(self.next_waiter)
    }
}
