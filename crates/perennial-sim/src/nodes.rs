//! Several nodes, one journal: supervisors that decide at the same time, learn late of each other's events,
//! and die in between.
//!
//! Smaller than the world of one node: holders answer at once, there are no agent CLIs and no faults of the
//! disk. What is shown here is what only several nodes can break.
//!
//! Properties
//! - M1  Every event fits what the journal held before it: a decision that another node overtook is refused.
//! - M2  A name is held by at most one agent outside the cemetery.
//! - M3  A session is started by the node whose agent it is, and by no other.
//! - M4  Every request is answered once, unless its node died; what was granted is in the journal.
//! - M5  At rest all nodes see the same, which is what the journal tells, and nothing is left undone.
//! - M6  A vacancy is announced exactly where a burial, a transfer or a drop leaves a role without a living
//!   holder, however many nodes decide at once.

mod checks;
mod roles;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, RoleWanted, Spawn};
use perennial_core::effect::{Action, Effect, SessionEffect};
use perennial_core::event::Event;
use perennial_core::exit::Exit;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, BootId, MessageId, NodeId, SessionNumber};
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
use perennial_core::name::Name;
use perennial_core::observation::{Observation, Report, Stocktaking};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::text::Fingerprint;
use perennial_core::time::Time;
use perennial_engine::supervisor::{AppendId, Input, Output, Supervisor, Waiter};
use perennial_store::{
    AppendError, Batch, Expected, Journal, Link, MemoryJournal, Seq, load, text,
};

use crate::random::Random;

/// Few, so that they are wanted twice at once.
const NAMES: [&str; 3] = ["ada", "bob", "eve"];
/// Fewer still, so that nodes bury its last holders at once.
const ROLES: [&str; 2] = ["architect", "steward"];
const STEPS: u64 = 250;
/// A cluster that does not come to rest within this many steps never does.
const REST_STEPS: u64 = 20_000;

/// What is left out, to see that the properties notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeMutation {
    /// The journal takes an append wherever its streams are.
    VersionsIgnored,
    /// Nobody looks whether a name was taken meanwhile.
    ClaimsIgnored,
    /// Nobody looks at what was only read.
    ReadsIgnored,
    /// A node does not learn of the events of others.
    DeafToOthers,
}

/// What an exploration without a violation saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeSummary {
    pub seeds: u64,
    pub appends: u64,
    pub conflicts: u64,
    pub foreign_events: u64,
    pub names_refused: u64,
    pub vacancies: u64,
    pub sessions: u64,
    pub deaths: u64,
}

/// Explores these seeds; the first violation, with its seed, ends it.
pub fn explore_nodes(
    seeds: std::ops::Range<u64>,
    mutation: Option<NodeMutation>,
) -> Result<NodeSummary, String> {
    let mut summary = NodeSummary::default();
    for seed in seeds {
        let mut cluster = Cluster::new(seed, mutation, summary);
        cluster.run().map_err(|broken| format!("seed {seed}: {broken}"))?;
        summary = NodeSummary { seeds: summary.seeds + 1, ..cluster.summary };
    }
    Ok(summary)
}

type Broken = String;

/// One answer of the journal, in commit order.
struct Outcome {
    writer: Life,
    append: AppendId,
    taken: Result<Seq, AppendError>,
}

/// One run of a daemon; the journal knows writers by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Life(u128);

struct Node {
    id: NodeId,
    life: Life,
    supervisor: Supervisor,
    /// What the journal has told and the node has not heard yet.
    inbox: VecDeque<Input>,
    asked: BTreeMap<Waiter, Command>,
}

struct Cluster {
    random: Random,
    mutation: Option<NodeMutation>,
    now: Time,
    journal: MemoryJournal,
    outcomes: Arc<Mutex<VecDeque<Outcome>>>,
    nodes: Vec<Node>,
    /// What the journal tells, as somebody sees it who plans nothing.
    truth: Fleet,
    told: Seq,
    vacant: roles::Vacant,
    /// Which node started a session, and whether it still runs.
    sessions: BTreeMap<(AgentId, SessionNumber), (NodeId, bool)>,
    reports: Vec<(NodeId, AgentId, SessionNumber, Report)>,
    next_id: u128,
    summary: NodeSummary,
}

impl Cluster {
    fn new(seed: u64, mutation: Option<NodeMutation>, summary: NodeSummary) -> Cluster {
        let mut cluster = Cluster {
            random: Random::new(seed),
            mutation,
            now: Time(1_000_000),
            journal: MemoryJournal::held(),
            outcomes: Arc::default(),
            nodes: Vec::new(),
            truth: Fleet::of_node(NodeId(u128::MAX)),
            told: Seq(0),
            vacant: roles::Vacant::default(),
            sessions: BTreeMap::new(),
            reports: Vec::new(),
            next_id: 1,
            summary,
        };
        let count = cluster.random.within(2..4);
        for _ in 0..count {
            let id = NodeId(cluster.fresh());
            let node = cluster.begin(id);
            cluster.nodes.push(node);
        }
        cluster
    }

    fn run(&mut self) -> Result<(), Broken> {
        for position in 0..self.nodes.len() {
            self.tell_start(position)?;
        }
        for _ in 0..STEPS {
            self.something()?;
        }
        self.rest()
    }

    fn something(&mut self) -> Result<(), Broken> {
        self.now = self.now + self.random.span(&(1..200_000));
        let position = usize::try_from(self.random.below(self.nodes.len() as u64)).unwrap_or(0);
        match self.random.below(100) {
            0..30 => self.ask(position),
            30..55 => self.commit(),
            55..80 => self.hear(position),
            80..90 => self.report(),
            90..94 => {
                self.exit();
                Ok(())
            }
            94..99 => self.tick(position),
            _ => self.die(position),
        }
    }

    /// Everything is heard, and nobody asks for anything more.
    fn rest(&mut self) -> Result<(), Broken> {
        for _ in 0..REST_STEPS {
            self.now = self.now + Duration::from_millis(100);
            self.commit()?;
            for position in 0..self.nodes.len() {
                while !self.nodes[position].inbox.is_empty() {
                    self.hear(position)?;
                }
                self.tick(position)?;
            }
            while !self.reports.is_empty() {
                self.report()?;
            }
            let is_quiet = self.journal.queued() == 0
                && self.nodes.iter().all(|node| {
                    node.inbox.is_empty() && node.supervisor.is_settled() && node.asked.is_empty()
                });
            let is_resting = |agent: &Agent| agent.until.is_none_or(|until| until > self.now);
            if is_quiet && self.truth.agents().all(is_resting) {
                return self.check_rest();
            }
        }
        let asked: Vec<_> = self.nodes.iter().flat_map(|node| node.asked.values()).collect();
        Err(format!("M4: it does not come to rest; asked and not answered: {asked:?}"))
    }

    fn begin(&mut self, id: NodeId) -> Node {
        let loaded = load(&self.journal, id).expect("memory is read");
        let life = Life(self.fresh());
        Node {
            id,
            life,
            supervisor: Supervisor::new(loaded.fleet, loaded.versions, loaded.head),
            inbox: VecDeque::new(),
            asked: BTreeMap::new(),
        }
    }

    fn tell_start(&mut self, position: usize) -> Result<(), Broken> {
        let (boot, version) = (BootId("1".into()), "sim".into());
        let started = Observation::Started {
            boot,
            version,
            is_copy: false,
            stocktaking: Stocktaking::default(),
        };
        self.step(position, Input::Observed(started))
    }

    /// A node is killed and started again. What it had queued may still be taken.
    fn die(&mut self, position: usize) -> Result<(), Broken> {
        self.summary.deaths += 1;
        let id = self.nodes[position].id;
        self.nodes[position] = self.begin(id);
        self.tell_start(position)
    }

    fn ask(&mut self, position: usize) -> Result<(), Broken> {
        let command = self.command();
        let waiter = Waiter(u64::try_from(self.fresh()).unwrap_or(0));
        self.nodes[position].asked.insert(waiter, command.clone());
        let request = Request { caller: Caller::Person, command };
        self.step(position, Input::Request { waiter, request })
    }

    fn command(&mut self) -> Command {
        let target = |random: &mut Random| (*random.pick(&NAMES).unwrap_or(&"ada")).to_owned();
        match self.random.below(12) {
            0..4 => Command::Spawn(Box::new(self.spawn())),
            4 => Command::Stop(target(&mut self.random)),
            5 if self.random.per_mille(300) => Command::Restart(target(&mut self.random)),
            5 => Command::Wake(target(&mut self.random)),
            6 => {
                let name = target(&mut self.random).parse().expect("a name");
                Command::Rename { target: target(&mut self.random), name }
            }
            8 => self.role_command(),
            7 | 9 => {
                Command::Bury { target: target(&mut self.random), summary: Some("done".into()) }
            }
            _ => {
                let words = format!("text {}", self.fresh());
                let fingerprint = Fingerprint([1; 32]);
                let id = MessageId(self.fresh());
                let target = target(&mut self.random);
                Command::Send {
                    id,
                    target,
                    body: text::body(&words),
                    fingerprint,
                    after_turn: false,
                }
            }
        }
    }

    fn role(&mut self) -> Name {
        self.random.pick(&ROLES).and_then(|role| role.parse().ok()).expect("a role")
    }

    fn role_command(&mut self) -> Command {
        let somebody = |random: &mut Random| (*random.pick(&NAMES).unwrap_or(&"ada")).to_owned();
        let target = somebody(&mut self.random);
        match self.random.below(3) {
            0 => Command::Assume { target, role: self.role(), declared: None },
            1 => Command::Transfer { target, to: somebody(&mut self.random), declared: None },
            _ => Command::Drop(target),
        }
    }

    fn spawn(&mut self) -> Spawn {
        let launch = Launch {
            harness: BARE_COMMAND.to_owned(),
            host: Host::Shim,
            argv: vec!["work".to_owned()],
            dir: "/".to_owned(),
            env_names: Vec::new(),
            project: "/".to_owned(),
            options: Options::default(),
        };
        let is_led = self.random.per_mille(300);
        Spawn {
            id: AgentId(self.fresh()),
            name: self.random.pick(&NAMES).and_then(|name| name.parse().ok()),
            role: Some(RoleWanted { name: self.role(), declared: None, sets_restart: true })
                .filter(|_| self.random.per_mille(700)),
            parent: is_led
                .then(|| self.random.pick(&NAMES).map(|name| (*name).to_owned()))
                .flatten(),
            launch,
            restart: Restart::OnCrash,
            conversation: None,
            situations: Vec::new(),
        }
    }

    /// The journal takes some of what is queued, and tells everybody.
    fn commit(&mut self) -> Result<(), Broken> {
        let count = usize::try_from(self.random.within(1..4)).unwrap_or(1);
        self.journal.commit(count);
        let outcomes =
            std::mem::take(&mut *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner));
        for Outcome { writer, append, taken } in outcomes {
            match taken {
                Ok(seq) => {
                    self.summary.appends += 1;
                    let events = self.recorded(seq)?;
                    self.publish(writer, append, seq, &events);
                }
                Err(error) => self.refused(writer, append, &error),
            }
        }
        Ok(())
    }

    fn publish(&mut self, writer: Life, append: AppendId, seq: Seq, events: &[Event]) {
        for node in &mut self.nodes {
            if node.life == writer {
                node.inbox.push_back(Input::Durable(append, seq));
            } else if self.mutation != Some(NodeMutation::DeafToOthers) {
                self.summary.foreign_events += events.len() as u64;
                node.inbox.push_back(Input::Foreign { events: events.to_vec(), seq });
            }
        }
    }

    fn refused(&mut self, writer: Life, append: AppendId, error: &AppendError) {
        let is_conflict = matches!(error, AppendError::Conflict { .. });
        self.summary.conflicts += u64::from(is_conflict);
        if let Some(node) = self.nodes.iter_mut().find(|node| node.life == writer) {
            node.inbox.push_back(Input::Conflict(append));
        }
    }

    /// A node hears the next that the journal told.
    fn hear(&mut self, position: usize) -> Result<(), Broken> {
        let node = &mut self.nodes[position];
        let Some(input) = node.inbox.pop_front() else { return Ok(()) };
        self.step(position, input)
    }

    fn tick(&mut self, position: usize) -> Result<(), Broken> {
        let due = self.nodes[position].supervisor.next_due();
        match due.is_some_and(|due| due <= self.now) {
            true => self.step(position, Input::Tick),
            false => Ok(()),
        }
    }

    fn step(&mut self, position: usize, input: Input) -> Result<(), Broken> {
        let outputs = self.nodes[position].supervisor.step(input, self.now);
        for output in outputs {
            match output {
                Output::Append { append, batch } => self.append(position, append, batch),
                Output::Answer { waiter, answer } => self.answered(position, waiter, answer)?,
                Output::Carry(Effect::Session(effect)) => self.carry(position, &effect)?,
                Output::Carry(_)
                | Output::Reply { .. }
                | Output::Silent { .. }
                | Output::Committed { .. } => {}
            }
        }
        Ok(())
    }

    fn append(&mut self, position: usize, append: AppendId, mut batch: Batch) {
        match self.mutation {
            Some(NodeMutation::VersionsIgnored) => {
                batch.entries.iter_mut().for_each(|entry| entry.expected = Expected::Anything);
            }
            Some(NodeMutation::ClaimsIgnored) => {
                let claims = batch.entries.iter_mut().filter(|entry| entry.stream.is_claim());
                claims.for_each(|entry| entry.expected = Expected::Anything);
            }
            Some(NodeMutation::ReadsIgnored) => {
                batch.entries.retain(|entry| !entry.events.is_empty());
            }
            Some(NodeMutation::DeafToOthers) | None => {}
        }
        let node = &self.nodes[position];
        let (writer, outcomes) = (node.life, Arc::clone(&self.outcomes));
        // Numbers begin anew with each life.
        let batch = Batch {
            link: batch.link.map(|link| Link { writer: NodeId(writer.0), ..link }),
            ..batch
        };
        let done = move |taken| {
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.push_back(Outcome { writer, append, taken });
        };
        self.journal.append(batch, Box::new(done));
    }

    /// M3. Holders claim a session once; one that is there already is found again.
    fn carry(&mut self, position: usize, effect: &SessionEffect) -> Result<(), Broken> {
        let node = self.nodes[position].id;
        let SessionEffect { agent, number, action, recorded: _ } = effect;
        let key = (*agent, *number);
        let whose = self.truth.agent(*agent).map(|agent| agent.node);
        if whose != Some(node) {
            return Err(format!("M3: {node} carries {effect:?} out; the agent is {whose:?}'s"));
        }
        let process = Process { pid: 100 + i32::try_from(number.0).unwrap_or(0), start_ticks: 1 };
        match action {
            Action::Start(..) | Action::Hold => {
                if let std::collections::btree_map::Entry::Vacant(free) = self.sessions.entry(key) {
                    free.insert((node, true));
                    self.summary.sessions += 1;
                }
                let report = match self.sessions[&key] {
                    (starter, _) if starter != node => {
                        return Err(format!("M3: {starter} and {node} both start {key:?}"));
                    }
                    (_, true) => Report::Executed(process),
                    (_, false) => Report::Exited(Exit::Code(1)),
                };
                self.reports.push((node, *agent, *number, report));
            }
            Action::End(_) => {
                self.sessions.entry(key).or_insert((node, false)).1 = false;
                self.reports.push((node, *agent, *number, Report::Exited(Exit::KillSignal(15))));
            }
            Action::Release => {}
        }
        Ok(())
    }

    /// A program ends by itself.
    fn exit(&mut self) {
        let running: Vec<(AgentId, SessionNumber)> =
            self.sessions.iter().filter(|(_, (_, runs))| *runs).map(|(key, _)| *key).collect();
        let Some(key) = self.random.pick(&running).copied() else { return };
        let code = i32::from(self.random.per_mille(500));
        if let Some((node, runs)) = self.sessions.get_mut(&key) {
            *runs = false;
            self.reports.push((*node, key.0, key.1, Report::Exited(Exit::Code(code))));
        }
    }

    /// A holder's word reaches its node.
    fn report(&mut self) -> Result<(), Broken> {
        if self.reports.is_empty() {
            return Ok(());
        }
        let (node, agent, number, report) = self.reports.remove(0);
        let Some(position) = self.nodes.iter().position(|other| other.id == node) else {
            return Ok(());
        };
        self.step(position, Input::Observed(Observation::Session { agent, number, report }))
    }

    fn fresh(&mut self) -> u128 {
        self.next_id += 1;
        self.next_id
    }
}
