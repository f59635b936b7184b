//! What a home has been through before it is measured: written into its journal by the supervisor's own steps,
//! without processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context, Result, ensure};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::fleet;
use perennial_core::id::{AgentId, BootId, SessionNumber};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::observation::{Observation, Report, Stocktaking};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::time::Time;
use perennial_engine::supervisor::{Input, Output, Supervisor, Waiter};
use perennial_store::journal::AppendError;
use perennial_store::{Journal, Seq, SqliteJournal};

/// Appends that nobody has waited for yet.
const UNDER_WAY: usize = 512;

/// A supervisor that takes each append for durable at once: nothing of it is carried out.
pub struct Past {
    supervisor: Supervisor,
    journal: SqliteJournal,
    pub events: u64,
    now: Time,
    done: Sender<Result<(), AppendError>>,
    is_done: Receiver<Result<(), AppendError>>,
    under_way: usize,
}

impl Past {
    /// The past of a new home, in which a daemon has started.
    pub fn begin_in(home: &Path) -> Result<Past> {
        std::fs::create_dir(home.join("data"))?;
        let mut past = Past::open(&home.join("data/journal.db"))?;
        let boot = BootId("00000000-0000-4000-8000-000000000001".into());
        past.tell(Observation::Started {
            boot,
            version: "past".into(),
            is_copy: false,
            stocktaking: Stocktaking::default(),
        })?;
        Ok(past)
    }

    fn open(path: &Path) -> Result<Past> {
        let (done, is_done) = channel();
        Ok(Past {
            supervisor: Supervisor::new(fleet::Fleet::default(), BTreeMap::new(), Seq(0)),
            journal: SqliteJournal::open(path)?,
            events: 0,
            now: Time(1_700_000_000_000_000),
            done,
            is_done,
            under_way: 0,
        })
    }

    /// A new agent whose first session runs.
    pub fn begin(&mut self, id: AgentId, name: &str, harness: &str) -> Result<()> {
        let launch = Launch {
            harness: harness.into(),
            host: Host::Shim,
            argv: vec!["program".into()],
            dir: "/tmp".into(),
            env_names: Vec::new(),
            project: "/tmp".into(),
            options: Options::default(),
        };
        let name = Some(name.parse()?);
        let restart = Restart::OnCrash;
        let conversation = None;
        let situations = Vec::new();
        let spawn =
            Spawn { id, name, role: None, parent: None, launch, restart, conversation, situations };
        self.ask(Command::Spawn(Box::new(spawn)))?;
        self.report(id, Report::Executed(Process { pid: 1, start_ticks: 1 }))
    }

    pub fn ask(&mut self, command: Command) -> Result<()> {
        self.ask_as(Caller::Person, command)
    }

    pub fn ask_as(&mut self, caller: Caller, command: Command) -> Result<()> {
        let request = Request { caller, command };
        self.step(Input::Request { waiter: Waiter(1), request })
    }

    pub fn report(&mut self, agent: AgentId, report: Report) -> Result<()> {
        self.tell(Observation::Session { agent, number: SessionNumber::FIRST, report })
    }

    pub fn tell(&mut self, observation: Observation) -> Result<()> {
        self.step(Input::Observed(observation))
    }

    fn step(&mut self, input: Input) -> Result<()> {
        self.now = Time(self.now.0 + 1_000);
        for output in self.supervisor.step(input, self.now) {
            match output {
                Output::Append { append, batch } => {
                    let events: usize = batch.entries.iter().map(|entry| entry.events.len()).sum();
                    let head = Seq(self.events + events as u64);
                    let done = self.done.clone();
                    let tell = move |result: Result<_, AppendError>| {
                        // Received by `settle`, or of no interest any more.
                        let _ = done.send(result.map(drop));
                    };
                    self.journal.append(batch, Box::new(tell));
                    self.under_way += 1;
                    self.settle(UNDER_WAY)?;
                    self.step(Input::Durable(append, head))?;
                }
                Output::Answer { answer, .. } => {
                    ensure!(answer.is_ok(), "the past was refused: {answer:?}");
                }
                Output::Committed { events, .. } => self.events += events.len() as u64,
                Output::Carry(_) | Output::Reply { .. } | Output::Silent { .. } => {}
            }
        }
        Ok(())
    }

    /// Waits until at most this many appends are under way.
    pub fn settle(&mut self, most: usize) -> Result<()> {
        while self.under_way > most {
            self.is_done.recv().context("the journal closed")??;
            self.under_way -= 1;
        }
        Ok(())
    }
}
