//! The simulated host and journal by themselves, for the contract that the real ones keep too
//! (`tests/contract`).
//!
//! No properties are checked here: whoever gives the orders is no daemon, and no journal has them.

use std::time::Duration;

use perennial_core::effect::{Action, SessionEffect};
use perennial_core::event::Event;
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::Report;
use perennial_engine::supervisor::AppendId;
use perennial_store::Batch;

use crate::daemon::Life;
use crate::faults::Faults;
use crate::journal::{Append, Journal, NotTaken, Outcome};
use crate::program::Program;
use crate::world::World;

/// Longer than any holder takes to answer.
const PATIENCE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(10);

/// One agent's holders on a machine of their own.
#[derive(Debug)]
pub struct SimulatedHost {
    world: World,
    agent: AgentId,
}

impl SimulatedHost {
    pub fn new() -> SimulatedHost {
        let mut world = World::new(0, Faults::none(), None, false);
        world.is_judged = false;
        let agent = world.new_agent();
        let mut host = SimulatedHost { world, agent };
        host.start_daemon();
        host
    }

    /// What its sessions run from now on, in the words of the scripts.
    pub fn program(&mut self, words: &str) {
        let program: Program = words.parse().expect("a program");
        self.world.machine.programs.insert(self.agent, program);
    }

    pub fn order(&mut self, number: SessionNumber, action: Action) {
        let life = self.world.daemons.first().expect("a daemon runs").life;
        self.world.order(life, SessionEffect { agent: self.agent, number, recorded: None, action });
    }

    /// The next report, in the time that one takes.
    pub fn report(&mut self) -> Option<(SessionNumber, Report)> {
        self.world.run_until(PATIENCE, |world| !world.heard.is_empty());
        self.world.heard.pop_front()
    }

    pub fn kill_holder(&mut self) {
        self.world.kill_shim(self.agent);
    }

    pub fn kill_program(&mut self, number: SessionNumber) {
        self.world.program_ends(self.agent, number, Exit::KillSignal(9));
    }

    pub fn stop_daemon(&mut self) {
        let lives: Vec<Life> = self.world.daemons.iter().map(|daemon| daemon.life).collect();
        lives.into_iter().for_each(|life| self.world.crash_daemon(life));
        self.world.heard.clear();
    }

    pub fn start_daemon(&mut self) {
        self.world.start_daemon();
        self.world.run(MOMENT);
    }

    /// Whether a holder is left, once it had the time to go.
    pub fn has_holder(&mut self) -> bool {
        self.world.run(MOMENT);
        self.world.machine.shims.contains_key(&self.agent)
    }
}

impl Default for SimulatedHost {
    fn default() -> SimulatedHost {
        SimulatedHost::new()
    }
}

/// The simulated journal of one daemon.
#[derive(Debug, Default)]
pub struct SimulatedJournal {
    journal: Journal,
    appends: u64,
}

impl SimulatedJournal {
    /// Appends them in one group; an answer for each.
    pub fn append(&mut self, batches: Vec<Batch>) -> Vec<Result<(), NotTaken>> {
        for batch in batches {
            self.appends += 1;
            let (life, append) = (Life(1), AppendId(self.appends));
            self.journal.submit(Append { life, append, batch });
        }
        self.journal.begin(usize::MAX);
        let answer = |outcome: Outcome| outcome.taken.map(drop);
        self.journal.finish(true).into_iter().map(answer).collect()
    }

    pub fn events(&self) -> Vec<Event> {
        self.journal.events().cloned().collect()
    }
}
